package uidgorm_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// The models whose tags make no sense, and two that do.
type (
	self struct {
		ID uid.ID `uid:"gene=ID"`
	}
	circle struct {
		ID  uid.ID
		One uid.ID `uid:"gene=Two"`
		Two uid.ID `uid:"gene=One"`
	}
	noField struct {
		ID uid.ID `uid:"gene=UserId"`
	}
	noName struct {
		ID uid.ID `uid:"orderz"`
	}
	small struct {
		ID int32 `uid:""`
	}
	flag struct {
		ID bool `uid:""`
	}
	plainText struct {
		ID string `uid:""`
	}
	textNumber struct {
		ID int64 `uid:"base32"`
	}
	apart struct {
		ID   uid.ID `uid:"scatter,gene=User"`
		User int64
	}
	textGene struct {
		ID   uid.ID `uid:"gene=Name"`
		Name string
	}
	line struct { // OrderID is the key of another table, which nothing says
		OrderID uid.ID `gorm:"primaryKey"`
		No      uid.ID `gorm:"primaryKey"`
	}
	entry struct {
		OrderID uid.ID `gorm:"primaryKey"`
		ID      uid.ID `gorm:"primaryKey"`
	}
	member struct {
		OrderID uid.ID `gorm:"primaryKey" uid:"-"`
		No      uid.ID `gorm:"primaryKey" uid:""`
	}
	partitioned struct {
		ID      uid.ID    `gorm:"primaryKey"`
		Created time.Time `gorm:"primaryKey"`
	}
	noColumn struct {
		ID  uid.ID
		Tmp uid.ID `gorm:"-" uid:""`
	}
	fine struct {
		ID     *int64           `gorm:"primaryKey" uid:""`
		Unsign uint64           `uid:"orders, gene=ID"`
		Null   sql.Null[uid.ID] `uid:"gene=Unsign"`
		Old    sql.NullInt64    `uid:""`
		Code   *string          `uid:"base32"`
		Text   sql.NullString   `uid:"base32,gene=Null"`
		Other  string
		Foo    int32
	}
)

func open(t testing.TB) *gorm.DB {
	t.Helper()
	return openOn(t, nowhere{})
}

func openOn(t testing.TB, pool gorm.ConnPool) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{Logger: logger.Discard, ConnPool: pool})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestPlan: a tag that makes no sense is an error that names the field, at Check and before an
// INSERT.
func TestPlan(t *testing.T) {
	t.Parallel()
	for want, model := range map[string]any{
		"self.ID wants the gene of ID, which wants its own":                                       &self{},
		"circle.One wants the gene of Two, which wants its own":                                   &circle{},
		`noField.ID: the tag "gene=UserId" names a field "UserId", which noFie`:                   &noField{},
		`noName.ID: the tag "orderz" names a generator "orderz", which Options`:                   &noName{},
		"apart.ID: the tag \"scatter,gene=User\" scatters an id whose order or gene":              &apart{},
		"small.ID: a int32 cannot hold an id, want a 64-bit integer, or a text":                   &small{},
		"flag.ID: a bool cannot hold an id":                                                       &flag{},
		"plainText.ID: a string cannot hold an id, want a 64-bit integer, or a ":                  &plainText{},
		"textNumber.ID: a int64 cannot hold an id":                                                &textNumber{},
		`textGene.ID: the tag "gene=Name" names a field "Name" that is a string, want an integer`: &textGene{},
		"noColumn.Tmp has a uid tag and is no column":                                             &noColumn{},
		`line.OrderID is one key of several, want the tag uid:"-"`:                                &line{},
		`entry.OrderID is one key of several`:                                                     &entry{},
	} {
		db, gen := open(t), &uidtest.Generator{Layout: geneLayout}
		p := uidgorm.New(gen, &uidgorm.Options{Named: map[string]uid.Generator{"orders": gen}})
		if err := db.Use(p); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{p.Check(db, model), db.Create(model).Error, db.Create(model).Error} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: %v, want %q", model, err, want)
			}
		}
		if gen.Stats().Issued != 0 {
			t.Errorf("%T took ids", model)
		}
	}
	gen := &uidtest.Generator{Layout: geneLayout}
	p := uidgorm.New(gen, &uidgorm.Options{Named: map[string]uid.Generator{"orders": gen}})
	if err := p.Check(open(t), &fine{}, &member{}, &partitioned{}); err != nil {
		t.Errorf("Check of tags that make sense = %v", err)
	}
	noGenes := uidgorm.New(&uidtest.Generator{}, nil)
	if err := noGenes.Check(open(t), &self{}); !errors.Is(err, uid.ErrNoGene) {
		t.Errorf("Check of a gene without GeneBits = %v, want ErrNoGene", err)
	}
	if err := noGenes.Check(open(t), 7); err == nil {
		t.Error("Check of a number = nil, want an error")
	}
}

// TestTables: the statement's table names the generator, or else the model's does.
func TestTables(t *testing.T) {
	t.Parallel()
	type order struct {
		ID     uid.ID `uid:"gene=UserID"`
		UserID int64
	}
	db, gen := open(t), &uidtest.Generator{Layout: geneLayout, IDs: []uid.ID{4}}
	eight := geneLayout
	eight.GeneBits, eight.SeqBits = 3, 9
	if err := db.Use(uidgorm.New(gen, &uidgorm.Options{Tables: map[string]uid.Generator{
		"orders_3": &uidtest.Generator{Layout: eight, IDs: []uid.ID{800}},
		"orders":   &uidtest.Generator{Layout: geneLayout, IDs: []uid.ID{400}},
	}})); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tx   *gorm.DB
		want uid.ID
	}{
		{db, 400 | 3},
		{db.Table("orders_3"), 800 | 7}, // with the genes of its own generator
		{db.Table("shop.orders_3"), 808 | 7},
		{db.Table("orders_4"), 404 | 3},
	} {
		o := order{UserID: 7}
		if err := c.tx.Create(&o).Error; err != nil || o.ID != c.want {
			t.Errorf("table %q: id %d, %v, want %d", c.tx.Statement.Table, o.ID, err, c.want)
		}
	}
}

// TestScatter: the tag scatter fills what ID.Scatter makes of an id.
func TestScatter(t *testing.T) {
	t.Parallel()
	type order struct {
		ID uid.ID `uid:"scatter"`
	}
	db := open(t)
	if err := db.Use(uidgorm.New(&uidtest.Generator{IDs: []uid.ID{6}}, nil)); err != nil {
		t.Fatal(err)
	}
	var o order
	if err := db.Create(&o).Error; err != nil || o.ID != uid.ID(6).Scatter() {
		t.Errorf("the key is %d, %v, want %d", int64(o.ID), err, int64(uid.ID(6).Scatter()))
	}
}

// sqlCounter counts what would be sent, BEGIN too.
type sqlCounter struct {
	nowhere
	sent int
}

func (c *sqlCounter) BeginTx(context.Context, *sql.TxOptions) (gorm.ConnPool, error) {
	c.sent++
	return c, nil
}

func (*sqlCounter) Commit() error   { return nil }
func (*sqlCounter) Rollback() error { return nil }

func (c *sqlCounter) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.sent++
	return c.nowhere.ExecContext(ctx, query, args...)
}

type (
	owner struct {
		ID uid.ID
	}
	owned struct {
		ID      uid.ID `uid:"gene=Number"`
		Number  uid.ID `uid:"gene=OwnerID"`
		OwnerID uid.ID
		Owner   *owner
	}
	Joined struct {
		ID    uid.ID
		Roles []Role `gorm:"many2many:joins"`
	}
	Role struct {
		ID uid.ID
	}
	Join struct { // its associations have the fields of another model
		JoinedID uid.ID `gorm:"primaryKey"`
		RoleID   uid.ID `gorm:"primaryKey"`
		Code     uid.ID `uid:"gene=JoinedID"`
	}
	hooked struct {
		ID    uid.ID `uid:"gene=Owner"`
		Owner uid.ID
	}
)

// BeforeCreate sets no owner.
func (*hooked) BeforeCreate(*gorm.DB) error { return nil }

// TestMissingGene: a gene that neither an association nor a hook will set is an error before the first
// statement, BEGIN included.
func TestMissingGene(t *testing.T) {
	t.Parallel()
	noHooks := func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{SkipHooks: true}) }
	for _, c := range []struct {
		name string
		tx   func(*gorm.DB) *gorm.DB
		rows any
		sent int
	}{
		{"neither", nil, &owned{}, 0},
		{"one of two", nil, &[]owned{{Owner: &owner{}}, {}}, 0},
		{"map", func(db *gorm.DB) *gorm.DB { return db.Model(&owned{}) }, map[string]any{}, 0},
		{"join table", nil, &Join{RoleID: 5}, 0},
		{"omitted", func(db *gorm.DB) *gorm.DB { return db.Omit("Owner") }, &owned{Owner: &owner{}}, 0},
		{"not selected", func(db *gorm.DB) *gorm.DB { return db.Select("Number") }, &owned{Owner: &owner{}}, 0},
		{"hook", nil, &hooked{}, 1},
		{"skipped hook", noHooks, &hooked{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := &sqlCounter{}
			db := openOn(t, pool)
			if err := db.Use(uidgorm.New(&uidtest.Generator{Layout: geneLayout}, nil)); err != nil {
				t.Fatal(err)
			}
			if err := db.SetupJoinTable(&Joined{}, "Roles", &Join{}); err != nil {
				t.Fatal(err)
			}
			if c.tx != nil {
				db = c.tx(db)
			}
			err := db.Create(c.rows).Error
			if err == nil || !strings.Contains(err.Error(), "is not set") || pool.sent != c.sent {
				t.Errorf("%v after %d statements, want the field that is not set, after %d", err, pool.sent, c.sent)
			}
		})
	}
	db := open(t)
	if err := db.Use(uidgorm.New(&uidtest.Generator{Layout: geneLayout}, nil)); err != nil {
		t.Fatal(err)
	}
	o := owned{Owner: &owner{}}
	if err := db.Create(&o).Error; err != nil || o.ID == 0 || o.ID&3 != o.OwnerID&3 || o.Number == 0 {
		t.Errorf("%+v, %v, want ids with the gene of the owner that is created", o, err)
	}
}

// TestNilMap: a nil map has no room for an id, and GORM would store a row of zeros for it. No ids are
// mistaken for the maps around it.
func TestNilMap(t *testing.T) {
	t.Parallel()
	type user struct {
		ID   uid.ID
		Name string
	}
	one := map[string]any{"name": "one"}
	for want, dest := range map[string]any{
		"row 0 for users is a nil map": map[string]any(nil),
		"row 1 for users is a nil map": []map[string]any{one, nil},
		"row 2 for users is a nil map": &[]map[string]any{one, {"name": "two"}, nil},
	} {
		db, gen := open(t), &uidtest.Generator{}
		if err := db.Use(uidgorm.New(gen, nil)); err != nil {
			t.Fatal(err)
		}
		err := db.Model(&user{}).Create(dest).Error
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", dest, err, want)
		}
		if gen.Stats().Issued != 0 || len(one) != 1 {
			t.Errorf("%v: %d ids were taken, and the map is %v", dest, gen.Stats().Issued, one)
		}
	}
}

// unhashable is a generator that cannot be the key of a map.
type unhashable struct {
	uid.Generator
	_ []int
}

// TestUse refuses generators and names that cannot work.
func TestUse(t *testing.T) {
	t.Parallel()
	gen := &uidtest.Generator{}
	named := func(name string, g uid.Generator) *uidgorm.Options {
		return &uidgorm.Options{Named: map[string]uid.Generator{name: g}}
	}
	for want, p := range map[string]*uidgorm.Plugin{
		"gen is nil":               uidgorm.New(nil, nil),
		`Named["a"] is nil`:        uidgorm.New(gen, named("a", nil)),
		`Named has ""`:             uidgorm.New(gen, named("", gen)),
		`Named has "base32"`:       uidgorm.New(gen, named("base32", gen)),
		`Named has "scatter"`:      uidgorm.New(gen, named("scatter", gen)),
		`Named has "a=b"`:          uidgorm.New(gen, named("a=b", gen)),
		`Tables["t"] is nil`:       uidgorm.New(gen, &uidgorm.Options{Tables: map[string]uid.Generator{"t": nil}}),
		"which cannot be compared": uidgorm.New(unhashable{}, nil),
		`Tables["u"] is a uidgorm_tes`: uidgorm.New(gen,
			&uidgorm.Options{Tables: map[string]uid.Generator{"u": unhashable{}}}),
	} {
		if err := open(t).Use(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Use() = %v, want %q", err, want)
		}
	}
}

// TestShardingKey: a key ends in the table's index if the layout has genes, and is 0 without an id.
func TestShardingKey(t *testing.T) {
	t.Parallel()
	gen := &uidtest.Generator{}
	if id := uidgorm.ShardingKey(gen)(7); id != 1 {
		t.Errorf("the key is %d, want 1", id)
	}
	gen.Fail(0, uid.ErrClaimExpired)
	if id := uidgorm.ShardingKey(gen)(7); id != 0 {
		t.Errorf("the key is %d, want 0", id)
	}
	genes := &uidtest.Generator{}
	genes.Layout.GeneBits, genes.Layout.TimeBits, genes.Layout.WorkerBits, genes.Layout.SeqBits = 3, 28, 20, 12
	if id := uidgorm.ShardingKey(genes)(13); id != 1<<3|5 {
		t.Errorf("the key is %d, want 13", id)
	}
}

// geneLayout has four genes.
var geneLayout = bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 10, GeneBits: 2, Tick: time.Millisecond}
