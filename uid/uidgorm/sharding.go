package uidgorm

import (
	"context"
	"time"

	"github.com/uidring/uidring/uid"
)

// shardingTimeout bounds the wait for an id where there is no ctx.
const shardingTimeout = 5 * time.Second

// ShardingKey returns a PrimaryKeyGeneratorFn for gorm.io/sharding, which makes the ids of INSERTs
// that come without one. The plug-in's own default derives them from the table's index alone, so
// two processes make the same.
//
// With GeneBits in the layout an id ends in the table's index, and ShardingAlgorithmByPrimaryKey
// can find the table by bitsalloc.GeneOf.
//
// The function has no ctx and no error: it waits for up to five seconds, and then returns 0, which
// leaves the id out of the INSERT. Give the column neither a default nor AUTO_INCREMENT, so that
// the database refuses such a row. A model whose key this package fills before needs no function
// but one that returns 0.
func ShardingKey(gen uid.Generator) func(tableIndex int64) int64 {
	genes := gen.Stats().Layout.GeneBits > 0
	return func(tableIndex int64) int64 {
		ctx, cancel := context.WithTimeout(context.Background(), shardingTimeout)
		defer cancel()
		var id uid.ID
		var err error
		if genes {
			id, err = gen.NextGene(ctx, tableIndex)
		} else {
			id, err = gen.Next(ctx)
		}
		if err != nil {
			return 0
		}
		return int64(id)
	}
}
