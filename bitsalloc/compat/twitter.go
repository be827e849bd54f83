package compat

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// twitterEpoch is 2010-11-04T01:42:54.657Z in milliseconds since 1970.
const twitterEpoch = 1288834974657

// Snowflake returns the snowflake layout with an epoch of its own: 41 bits of milliseconds (69.7
// years), 10 of worker and 12 of sequence (4,096 ids a millisecond). The zero time means the epoch
// of bitsalloc's default. A 41-bit layout counted from 1970 ends in 2039.
func Snowflake(epoch time.Time) bitsalloc.Layout {
	return bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond,
		Epoch: epoch}
}

// Twitter returns the layout of Twitter's snowflake: 41-10-12, milliseconds since
// 2010-11-04T01:42:54.657Z. hutool and Leaf have it too, unless an instance has an epoch of its
// own, and KeyWorker's original meant it. The worker field is 5 bits of data centre and 5 of
// worker, as Worker joins them; Leaf's is undivided, and KeyWorker's is process over machine. The
// layout expires at 2080-07-10T17:30:30.209Z. The originals do not check that and go on with
// negative ids.
func Twitter() bitsalloc.Layout { return Snowflake(time.UnixMilli(twitterEpoch)) }
