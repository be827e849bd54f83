package e2e

import (
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// shardedOrder is stored in one of four tables, by its user.
type shardedOrder struct {
	ID     uid.ID `gorm:"autoIncrement:false" uid:"gene=UserID"`
	UserID int64
}

// TestGormSharding stores models and rows without keys through gorm.io/sharding, and finds each by
// its key alone. uidgorm sets the keys of both.
func TestGormSharding(t *testing.T) {
	t.Parallel()
	d := dialects[0]
	db := openApplication(t, d)
	for i := range 4 {
		must(t, db.Exec(fmt.Sprintf("CREATE TABLE sharded_orders_%d (id BIGINT PRIMARY KEY, user_id BIGINT)", i)))
	}
	gen := newCounter()
	if err := db.Use(uidgorm.New(gen, nil)); err != nil {
		t.Fatal(err)
	}
	table := func(id int64) string {
		return fmt.Sprintf("_%d", bitsalloc.GeneOf(id, geneLayout.GeneBits).Shard())
	}
	if err := db.Use(sharding.Register(sharding.Config{
		ShardingKey: "user_id", NumberOfShards: 4,
		ShardingAlgorithm: func(key any) (string, error) {
			n, ok := key.(int64)
			if !ok {
				return "", fmt.Errorf("the key is a %T", key)
			}
			return table(n), nil
		},
		ShardingAlgorithmByPrimaryKey: table,
		PrimaryKeyGenerator:           sharding.PKCustom,
		PrimaryKeyGeneratorFn:         uidgorm.ShardingKey(gen),
	}, &shardedOrder{})); err != nil {
		t.Fatal(err)
	}
	var ids []uid.ID
	for user := int64(100); user < 108; user++ {
		order := shardedOrder{UserID: user}
		must(t, db.Create(&order))
		ids = append(ids, order.ID)
		must(t, db.Exec("INSERT INTO sharded_orders (user_id) VALUES (?)", user))
	}
	for i, id := range ids {
		var found shardedOrder
		must(t, db.Where("id = ?", int64(id)).First(&found))
		if found.ID != id || found.UserID != int64(100+i) {
			t.Errorf("found %+v by the key %d, want it with user %d", found, id, 100+i)
		}
	}
	var all []uid.ID
	for i := range 4 {
		var rows []shardedOrder
		query := fmt.Sprintf("SELECT id, user_id FROM sharded_orders_%d", i)
		must(t, db.Session(&gorm.Session{}).Raw(query).Scan(&rows))
		for _, r := range rows {
			if int64(r.ID&3) != int64(i) || r.UserID&3 != int64(i) {
				t.Errorf("table %d has %+v, which belongs to another table", i, r)
			}
			all = append(all, r.ID)
		}
	}
	wantUnique(t, all, 16)
}
