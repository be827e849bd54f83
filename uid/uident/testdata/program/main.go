// Command orders stores two orders with ent: in one INSERT, with ids that one Fill has made.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"

	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uident"

	"example.com/orders/ent"
)

// open returns a generator whose worker id a database leases.
func open(ctx context.Context, db *sql.DB, dialect string) (*uid.Cached, error) {
	if err := sqlstore.Migrate(ctx, db, dialect, nil); err != nil {
		return nil, err
	}
	store, err := sqlstore.New(db, dialect, nil)
	if err != nil {
		return nil, err
	}
	workers, err := lease.New(store, nil)
	if err != nil {
		return nil, err
	}
	return uid.NewCached(ctx, workers, nil)
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Getenv("DSN")); err != nil {
		log.Fatal(err)
	}
}

// run stores the orders. dialect is mysql or postgres, and driver that of database/sql.
func run(ctx context.Context, dialect, driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	gen, err := open(ctx, db, dialect)
	if err != nil {
		return err
	}
	defer gen.Close()
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect, db)))
	client.Use(uident.Fill(gen))
	if err := client.Schema.Create(ctx); err != nil {
		return err
	}
	rows, err := client.Order.CreateBulk(client.Order.Create().SetItem("tea"),
		client.Order.Create().SetItem("cup")).Save(ctx)
	for _, row := range rows {
		fmt.Println(row.ID, gen.Parse(row.ID).Worker, row.Item)
	}
	return err
}
