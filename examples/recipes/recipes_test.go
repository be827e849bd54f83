// Package recipes has examples of storing ids: with GORM, database/sql, sqlx, bun and xorm,
// folder ent with ent. Each runs on SQLite.
package recipes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"gorm.io/gorm"
	"xorm.io/xorm"
	"xorm.io/xorm/core"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// open returns a database with a table of orders, and a generator whose ids are 1, 2, 3.
func open() (db *sql.DB, gen uid.Generator) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own in memory
	if _, err := db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, item TEXT)"); err != nil {
		panic(err)
	}
	return db, &uidtest.Generator{}
}

// Example_gorm: the plug-in fills the keys of all rows of an INSERT. A primary key that is a uid.ID
// needs no tag.
func Example_gorm() {
	type order struct {
		ID   uid.ID
		Item string
	}
	conn, gen := open()
	defer conn.Close()
	db, err := gorm.Open(&sqlite.Dialector{Conn: conn}, nil)
	if err == nil {
		err = db.Use(uidgorm.New(gen, nil))
	}
	orders := []order{{Item: "tea"}, {Item: "cup"}}
	if err == nil {
		err = db.Create(&orders).Error
	}
	var stored []order
	if err == nil {
		err = db.Order("id").Find(&stored).Error
	}
	fmt.Println(stored, err)
	// Output: [{1 tea} {2 cup}] <nil>
}

// Example_databaseSQL: a uid.ID is a valid argument of a statement, and a valid destination of Scan.
func Example_databaseSQL() {
	db, gen := open()
	defer db.Close()
	ctx := context.Background()

	id, err := gen.Next(ctx)
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT INTO orders (id, item) VALUES (?, ?)", id, "tea")
	}
	var stored uid.ID
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT id FROM orders").Scan(&stored)
	}
	fmt.Println(stored, err)
	// Output: 1 <nil>
}

// Example_sqlx: one Fill for all rows of an INSERT.
func Example_sqlx() {
	db, gen := open()
	defer db.Close()
	ctx := context.Background()
	type order struct {
		ID   uid.ID `db:"id"`
		Item string `db:"item"`
	}

	orders := []order{{Item: "tea"}, {Item: "cup"}}
	err := uid.FillEach(ctx, gen, orders, func(o *order) *uid.ID { return &o.ID })
	x := sqlx.NewDb(db, "sqlite3")
	if err == nil {
		_, err = x.NamedExecContext(ctx, "INSERT INTO orders (id, item) VALUES (:id, :item)", orders)
	}
	var stored []order
	if err == nil {
		err = x.SelectContext(ctx, &stored, "SELECT * FROM orders ORDER BY id")
	}
	fmt.Println(stored, err)
	// Output: [{1 tea} {2 cup}] <nil>
}

// Example_xorm: xorm's hooks get no ctx and return no error, so one Fill sets the ids before Insert.
func Example_xorm() {
	db, gen := open()
	defer db.Close()
	ctx := context.Background()
	type order struct {
		ID   uid.ID `xorm:"'id' pk"`
		Item string `xorm:"'item'"`
	}

	orders := []order{{Item: "tea"}, {Item: "cup"}}
	err := uid.FillEach(ctx, gen, orders, func(o *order) *uid.ID { return &o.ID })
	var x *xorm.Engine
	if err == nil {
		x, err = xorm.NewEngineWithDB("sqlite3", ":memory:", core.FromDB(db))
	}
	if err == nil {
		_, err = x.Context(ctx).Table("orders").Insert(&orders)
	}
	var stored []order
	if err == nil {
		err = x.Context(ctx).Table("orders").Asc("id").Find(&stored)
	}
	fmt.Println(stored, err)
	// Output: [{1 tea} {2 cup}] <nil>
}

// bunOrder gets its id from a hook, before bun inserts it.
type bunOrder struct {
	bun.BaseModel `bun:"table:orders"`

	ID   uid.ID `bun:",pk"`
	Item string
}

// generatorKey is the key of a context's generator.
type generatorKey struct{}

// BeforeAppendModel is bun's hook for one row.
func (o *bunOrder) BeforeAppendModel(ctx context.Context, query bun.Query) (err error) {
	if _, insert := query.(*bun.InsertQuery); insert && o.ID == 0 {
		gen, ok := ctx.Value(generatorKey{}).(uid.Generator)
		if !ok {
			return errors.New("recipes: the context has no generator")
		}
		o.ID, err = gen.Next(ctx)
	}
	return err
}

// Example_bun: a hook of the model takes the generator from the context.
func Example_bun() {
	db, gen := open()
	defer db.Close()
	ctx := context.WithValue(context.Background(), generatorKey{}, gen)

	orders := []*bunOrder{{Item: "tea"}, {Item: "cup"}}
	_, err := bun.NewDB(db, sqlitedialect.New()).NewInsert().Model(&orders).Exec(ctx)
	fmt.Println(orders[0].ID, orders[1].ID, err)
	// Output: 1 2 <nil>
}

// TestBunWithoutGenerator: a context without a generator is an error, and nothing is stored.
func TestBunWithoutGenerator(t *testing.T) {
	db, _ := open()
	defer db.Close()
	_, err := bun.NewDB(db, sqlitedialect.New()).NewInsert().Model(&bunOrder{Item: "tea"}).Exec(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no generator") {
		t.Errorf("Exec() = %v, want an error that says so", err)
	}
	rows := -1
	if err := db.QueryRow("SELECT COUNT(*) FROM orders").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows are stored, %v, want none", rows, err)
	}
}
