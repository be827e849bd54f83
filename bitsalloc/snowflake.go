package bitsalloc

import "time"

// twitterEpoch is 2010-11-04T01:42:54.657Z in milliseconds since 1970.
const twitterEpoch = 1288834974657

// Snowflake returns the snowflake layout with an epoch of its own: 41 bits of milliseconds (69.7
// years), 10 of worker and 12 of sequence (4,096 ids a millisecond). The zero time means
// DefaultEpoch. A 41-bit layout counted from 1970 ends in 2039.
func Snowflake(epoch time.Time) Layout {
	return Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: epoch}
}

// Twitter returns the layout of Twitter's snowflake: 41-10-12, milliseconds since
// 2010-11-04T01:42:54.657Z. The original divides the worker field into 5 bits of data centre and 5
// of worker, as compat.Sites does. The layout expires at 2080-07-10T17:30:30.209Z. The original
// does not check that and goes on with negative ids.
func Twitter() Layout { return Snowflake(time.UnixMilli(twitterEpoch)) }

// Hutool returns the layout of hutool's Snowflake: Twitter's, with Twitter's epoch. For an instance
// with an epoch of its own use Snowflake.
func Hutool() Layout { return Twitter() }

// Leaf returns the layout of Leaf's snowflake mode: Twitter's, with an undivided worker field of
// 0..1023. For an instance with an epoch of its own use Snowflake.
func Leaf() Layout { return Twitter() }
