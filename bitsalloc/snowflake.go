package bitsalloc

import "time"

// The epochs of the snowflake family, in milliseconds since 1970.
const (
	twitterEpoch   = 1288834974657 // 2010-11-04T01:42:54.657Z
	shardGeneEpoch = 1489111610226 // 2017-03-10T02:06:50.226Z
)

// Snowflake returns the snowflake layout with an epoch of one's own: 41 bits of milliseconds (69.7 years), 10 of worker
// and 12 of sequence (4,096 ids a millisecond). The zero time means DefaultEpoch. A 41-bit layout counted from 1970
// ends in 2039.
func Snowflake(epoch time.Time) Layout {
	return Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: epoch}
}

// Twitter returns the layout of Twitter's snowflake: 41-10-12, milliseconds since 2010-11-04T01:42:54.657Z, the worker
// field divided into 5 bits of data centre and 5 of worker (see Sites). It expires at 2080-07-10T17:30:30.209Z; the
// original does not check that and goes on with negative ids.
func Twitter() Layout { return Snowflake(time.UnixMilli(twitterEpoch)) }

// Hutool returns the layout of hutool's Snowflake: Twitter's, with Twitter's epoch. For an instance that was given a
// date of its own as the epoch use Snowflake.
func Hutool() Layout { return Twitter() }

// Leaf returns the layout of Leaf's snowflake mode: Twitter's, with an undivided worker field of 0..1023. For an
// instance that was given an epoch of its own use Snowflake.
func Leaf() Layout { return Twitter() }

// ShardGene returns the layout of the snowflake with a shard gene: Twitter's widths, with the low 2 of the 12 sequence
// bits left to the gene of 4 shards, and milliseconds since 2017-03-10T02:06:50.226Z. It expires at
// 2086-11-14T17:54:25.778Z. For 2^n shards use ShardGene().WithGene(n).
func ShardGene() Layout { return Snowflake(time.UnixMilli(shardGeneEpoch)).WithGene(2) }
