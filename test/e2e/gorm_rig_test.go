package e2e

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// The models of the tests of uidgorm.
type (
	gormUser struct {
		ID     uid.ID
		Name   string      `gorm:"size:64;uniqueIndex"`
		Code   string      `gorm:"size:13" uid:"base32"`
		Orders []gormOrder `gorm:"foreignKey:UserID"`
		Roles  []gormRole  `gorm:"many2many:gorm_user_roles"`
	}
	gormOrder struct {
		ID     uid.ID `uid:"gene=UserID"`
		UserID uid.ID
		User   *gormUser  `gorm:"foreignKey:UserID"`
		Number int64      `uid:"numbers"`
		Items  []gormItem `gorm:"foreignKey:OrderID"`
	}
	gormItem struct { // a composite key: the order's id, and the line's
		OrderID uid.ID     `gorm:"primaryKey"`
		Order   *gormOrder `gorm:"foreignKey:OrderID"`
		Line    uid.ID     `gorm:"primaryKey"`
		Text    string
	}
	gormRole struct {
		ID    uid.ID `gorm:"primaryKey" uid:"gene=Realm"` // GORM copies it to the join table
		Realm int64
		Name  string `gorm:"size:64"`
	}
	GormBase struct { // exported, because GORM ignores unexported embedded structs
		ID        uid.ID `gorm:"primaryKey"`
		CreatedAt time.Time
	}
	gormNote struct { // embedded structs, pointers, and fields that are left alone
		GormBase
		Other   gormPair `gorm:"embedded;embeddedPrefix:other_"`
		Parent  *uid.ID
		Link    *uid.ID `uid:""`
		Ignored uid.ID  `uid:"-"`
		Plain   uid.ID
		Text    string
	}
	gormPair struct {
		Key  int64
		Twin uint64 `uid:"gene=Key"` // with the gene of the Key next to it
	}
	gormMember struct { // a join table that SetupJoinTable declares
		GormUserID uid.ID `gorm:"primaryKey"`
		GormRoleID uid.ID `gorm:"primaryKey"`
		Since      int64
	}
	gormTicket struct { // hooks that need the id, and that set a gene
		ID     *uid.ID `gorm:"primaryKey;not null"` // SQLite takes NULL for a key
		Shard  int64
		Routed uid.ID `uid:"gene=Shard"`
		Seen   uid.ID
		Text   string
	}
)

// BeforeCreate keeps the id that it sees, and sets the field whose gene Routed has.
func (k *gormTicket) BeforeCreate(*gorm.DB) error {
	if k.ID == nil || *k.ID == 0 {
		return errors.New("the hook does not see the id")
	}
	k.Seen, k.Shard = *k.ID, 3
	return nil
}

// geneLayout has GeneBits for four genes.
var geneLayout = bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 10, GeneBits: 2, Tick: time.Millisecond}

// counter is a fake generator that counts its calls.
type counter struct {
	uidtest.Generator
	fills, genes atomic.Int64
	ctx          atomic.Pointer[context.Context] // of the last Fill
}

// newCounter returns a counter whose ids begin with ids, and have genes.
func newCounter(ids ...uid.ID) *counter {
	return &counter{Generator: uidtest.Generator{Layout: geneLayout, IDs: ids}}
}

func (c *counter) Fill(ctx context.Context, ids []uid.ID) (int, error) {
	c.fills.Add(1)
	c.ctx.Store(&ctx)
	return c.Generator.Fill(ctx, ids)
}

func (c *counter) FillGene(ctx context.Context, key int64, ids []uid.ID) (int, error) {
	c.genes.Add(1)
	return c.Generator.FillGene(ctx, key, ids)
}

// gormRig is a database with the plug-in.
type gormRig struct {
	db           *gorm.DB
	gen, numbers *counter
}

// newGormRig returns a gormRig with the tables of the models.
func newGormRig(t testing.TB, d dialect) *gormRig {
	t.Helper()
	r := &gormRig{db: openApplication(t, d), gen: newCounter(), numbers: newCounter(7000)}
	models := []any{&gormUser{}, &gormOrder{}, &gormItem{}, &gormRole{}, &gormNote{}, &gormTicket{}}
	if err := r.db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	plugin := uidgorm.New(r.gen, &uidgorm.Options{
		Named:  map[string]uid.Generator{"numbers": r.numbers},
		Tables: map[string]uid.Generator{"gorm_roles": newCounter(500)},
	})
	if err := r.db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Check(r.db, models...); err != nil {
		t.Fatal(err)
	}
	return r
}

// openApplication opens an empty database as an application does, with GORM's own defaults.
func openApplication(t testing.TB, d dialect) *gorm.DB {
	t.Helper()
	dsn := d.fresh(t)
	db := d.connect(t, dsn)
	if d.name == "MariaDB" { // workernode.OpenMySQL does not ask for the server's version, and GORM does
		var err error
		if db, err = gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if pool, err := db.DB(); err == nil {
				pool.Close()
			}
		})
	}
	db.DisableForeignKeyConstraintWhenMigrating = true
	return db
}

// ids returns a column of a table in ascending order.
func (r *gormRig) ids(t testing.TB, table, column string) []uid.ID {
	t.Helper()
	var ids []uid.ID
	if err := r.db.Table(table).Order(column).Pluck(column, &ids).Error; err != nil {
		t.Fatal(err)
	}
	return ids
}

// wantCalls checks how often the generator was called since the last wantCalls.
func (r *gormRig) wantCalls(t testing.TB, fills, genes int64) {
	t.Helper()
	if f, g := r.gen.fills.Swap(0), r.gen.genes.Swap(0); f != fills || g != genes {
		t.Errorf("%d calls of Fill and %d of FillGene, want %d and %d", f, g, fills, genes)
	}
}

// must fails the test if a statement has failed.
func must(t testing.TB, tx *gorm.DB) {
	t.Helper()
	if tx.Error != nil {
		t.Fatal(tx.Error)
	}
}

// wantUnique checks that there are n ids, and that none is 0 or is repeated.
func wantUnique(t testing.TB, ids []uid.ID, n int) {
	t.Helper()
	slices.Sort(ids)
	for i, id := range ids {
		if id <= 0 || i > 0 && ids[i-1] == id {
			t.Fatalf("the table has %v, want ids that differ and are not 0", ids)
		}
	}
	if len(ids) != n {
		t.Errorf("the table has %d ids, want %d", len(ids), n)
	}
}
