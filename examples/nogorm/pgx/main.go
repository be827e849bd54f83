// Command pgx stores two orders in PostgreSQL through pgx, with ids whose worker id the same server
// leases. It links no GORM. DSN is postgres://user:password@host:port/database.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/uid"
)

// open returns a generator, which uses a connection of db for moments.
func open(ctx context.Context, db *sql.DB) (*uid.Cached, error) {
	if err := sqlstore.Migrate(ctx, db, "postgres", nil); err != nil {
		return nil, err
	}
	store, err := sqlstore.New(db, "postgres", nil)
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
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	// Not OpenDBFromPool: the pool would keep a session that a failover has left read-only.
	db := stdlib.OpenDB(*pool.Config().ConnConfig)
	defer db.Close()
	gen, err := open(ctx, db)
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
	_, err = pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, item TEXT)")
	if err != nil {
		return err
	}
	_, err = pool.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "item"},
		pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
			return []any{orders[i].id, orders[i].item}, nil
		}))
	if err == nil {
		fmt.Fprintln(os.Stdout, orders[0].id, orders[1].id)
	}
	return err
}
