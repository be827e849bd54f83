package orders

import (
	"database/sql"
	"errors"
	"os"
	"slices"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/examples/ent"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// TestFillIDs: the hook fills the ids of new rows, one by one, in bulk and in a transaction. It
// leaves given ids alone, and without ids nothing is stored.
func TestFillIDs(t *testing.T) {
	name, driver := dialect.MySQL, "mysql"
	dsn := os.Getenv("DSN")
	if dsn == "" {
		name, driver, dsn = dialect.SQLite, "sqlite", ":memory:?_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own in SQLite's memory
	client := ent.NewClient(ent.Driver(entsql.OpenDB(name, db)))
	defer client.Close()
	ctx := t.Context()
	if err := client.Schema.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if o, err := client.Order.Create().SetItem("tea").Save(ctx); err == nil {
		t.Errorf("Create() without the hook stores %v, want an error", o)
	}
	gen := &uidtest.Generator{}
	client.Use(ent.FillIDs(gen))

	if o, err := client.Order.Create().SetItem("tea").Save(ctx); err != nil || o.ID != 1 {
		t.Errorf("Create() = %v, %v, want id 1", o, err)
	}
	if o, err := client.Order.Create().SetID(4711).SetItem("cup").Save(ctx); err != nil || o.ID != 4711 {
		t.Errorf("Create() with an id = %v, %v, want id 4711", o, err)
	}
	bulk := []*ent.OrderCreate{
		client.Order.Create().SetItem("pot"),
		client.Order.Create().SetItem("jug").SetID(4712),
		client.Order.Create().SetItem("jar"),
	}
	if rows, err := client.Order.CreateBulk(bulk...).Save(ctx); err != nil || rows[0].ID != 2 ||
		rows[1].ID != 4712 || rows[2].ID != 3 {
		t.Errorf("CreateBulk() = %v, %v, want ids 2, 4712 and 3", rows, err)
	}
	if n, err := client.Order.Update().SetItem("ware").Save(ctx); err != nil || n != 5 {
		t.Errorf("Update() = %d rows, %v, want 5 rows, and no id taken", n, err)
	}
	tx, err := client.Tx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := tx.Order.Create().SetItem("mug").Save(ctx); err != nil || o.ID != 4 {
		t.Errorf("Create() in a transaction = %v, %v, want id 4", o, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}

	gen.FailAfter(1, uid.ErrClaimExpired)
	_, err = client.Order.CreateBulk(client.Order.Create().SetItem("lid"),
		client.Order.Create().SetItem("tap")).Save(ctx)
	if !errors.Is(err, uid.ErrClaimExpired) {
		t.Errorf("CreateBulk() with one id for two rows = %v, want %v", err, uid.ErrClaimExpired)
	}
	stored, err := client.Order.Query().Order(ent.Asc("id")).IDs(ctx)
	if want := []uid.ID{1, 2, 3, 4, 4711, 4712}; err != nil || !slices.Equal(stored, want) {
		t.Errorf("ids %v are stored, %v, want %v", stored, err, want)
	}
}
