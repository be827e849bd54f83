// Command sql stores two orders in MySQL or MariaDB through database/sql, with ids whose worker id
// the same database leases. It links no GORM. DSN is user:password@tcp(host:port)/database.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/uid"
)

// open returns a generator. dialect is mysql, postgres or sqlite.
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
	if err := run(context.Background(), os.Getenv("DSN")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	gen, err := open(ctx, db, "mysql")
	if err != nil {
		return err
	}
	defer gen.Close()
	type order struct {
		id   uid.ID
		item string
	}
	orders := []order{{item: "tea"}, {item: "cup"}}
	if err := uid.FillEach(ctx, gen, orders, func(o *order) *uid.ID { return &o.id }); err != nil {
		return err
	}
	const create = "CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, item TEXT)"
	if _, err := db.ExecContext(ctx, create); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO orders (id, item) VALUES (?, ?), (?, ?)",
		orders[0].id, orders[0].item, orders[1].id, orders[1].item)
	if err == nil {
		fmt.Fprintln(os.Stdout, orders[0].id, orders[1].id)
	}
	return err
}
