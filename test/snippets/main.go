// Command snippets runs the Go code of the pages, which its test compiles in: the argument is the
// number of a snippet, and UID_DSN an empty MySQL or MariaDB database.
package main

import (
	"context"
	"database/sql"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// snippet is the code of a page, as a function of what the page's readers have at hand.
type snippet func(ctx context.Context, db *gorm.DB, pool *sql.DB, id uid.ID, ids uid.Generator,
	orders *number.Number, row created, secret []byte, shanghai *time.Location, dsn string,
	logger *slog.Logger, rows []Row) error

type created struct{ Created time.Time }

// Row is a row that gets an id.
type Row struct{ ID uid.ID }

func main() {
	n, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = run(ctx, os.Getenv("UID_DSN"), code()[n])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run runs f on a database with the tables of worker ids and segments, the tag "order" and a table
// of orders. Every host name, such as ids-1, leads to an id service on that database.
func run(ctx context.Context, dsn string, f snippet) error {
	db, err := workernode.OpenMySQL(dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	if err := workernode.Migrate(ctx, db); err != nil {
		return err
	}
	if err := sqlsource.Migrate(ctx, db); err != nil {
		return err
	}
	for _, statement := range []string{
		"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)",
		"CREATE TABLE orders (id BIGINT PRIMARY KEY, shop VARCHAR(2), number VARCHAR(24))",
	} {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	ids, err := uid.NewCached(ctx, assigner.Static(1), nil)
	if err != nil {
		return err
	}
	id, err := ids.Next(ctx)
	if err != nil {
		return err
	}
	counters, err := segment.New(ctx, sqlsource.LeafAlloc(db, nil), nil)
	if err != nil {
		return err
	}
	shanghai := time.FixedZone("Asia/Shanghai", 8*60*60)
	orders, err := number.New(ctx, counters, "order",
		"{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", &number.Options{Zone: shanghai})
	if err != nil {
		return err
	}
	if err := serve(ctx, db, counters); err != nil {
		return err
	}
	return f(ctx, db, pool, id, ids, orders, created{time.Now().Add(-time.Hour)}, make([]byte, 16),
		shanghai, dsn, slog.Default(), make([]Row, 3))
}

// serve makes an id service the proxy of this process.
func serve(ctx context.Context, db *gorm.DB, counters *segment.Generator) error {
	workers := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "serve"})
	h, err := service.NewHandler(&service.HandlerOptions{Segment: counters, Workers: workers})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { log.Print(server.Serve(l)) }() // until the process ends
	return os.Setenv("HTTP_PROXY", "http://"+l.Addr().String())
}
