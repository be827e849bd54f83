package compat

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// ShardGene returns the layout of the snowflake with a shard gene: Twitter's widths, with the low 2
// of the 12 sequence bits left to the gene of 4 shards, and milliseconds since
// 2017-03-10T02:06:50.226Z. It expires at 2086-11-14T17:54:25.778Z. For 2^n shards use
// ShardGene().WithGene(n). A new service uses WithGene on a layout of its own.
func ShardGene() bitsalloc.Layout {
	return Snowflake(time.UnixMilli(1489111610226)).WithGene(2)
}
