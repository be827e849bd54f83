package suite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"
	"github.com/google/uuid"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/progress"
	"github.com/uidring/uidring/uid"
)

// keyKind is one kind of primary key.
type keyKind struct {
	name string
	typ  string
	next func(context.Context) (any, error) // nil: the server makes it
}

// perInsert is the number of rows in an INSERT.
const perInsert = 500

// runTable fills one table per kind of key with the same rows, one kind after the other on a fresh
// server of its own.
func runTable(ctx context.Context, c *Config) error {
	g, err := uid.NewCached(ctx, assignertest.Static(1), nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	kinds := keyKinds(g)
	rows := pick(c, 20_000, 1_000_000)
	steps := len(kinds) * rows / perInsert
	return collect(ctx, c, result.Table, steps, func(bar *progress.Bar) ([]result.TableRow, error) {
		srv, err := dbtest.NewMariaDB("--innodb-buffer-pool-size=128M",
			"--innodb-log-file-size=96M",
			"--innodb-monitor-enable=index_page_splits")
		if errors.Is(err, dbtest.ErrNoServer) {
			return []result.TableRow{{Err: err.Error()}}, nil
		}
		if err != nil {
			return nil, err
		}
		defer srv.Close()
		db, err := sql.Open("mysql", srv.DSN("")+"&interpolateParams=true")
		if err != nil {
			return nil, err
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(ctx, "CREATE DATABASE bench"); err != nil {
			return nil, err
		}
		var out []result.TableRow
		for i, k := range kinds {
			row, err := k.fill(ctx, db, fmt.Sprintf("bench.t%d", i), rows, bar)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			row.Err = text(err)
			out = append(out, row)
		}
		return out, nil
	})
}

func keyKinds(g *uid.Cached) []keyKind {
	return []keyKind{
		{"uid.Cached", "BIGINT",
			func(ctx context.Context) (any, error) {
				id, err := g.Next(ctx)
				return int64(id), err
			}},
		{"AUTO_INCREMENT", "BIGINT AUTO_INCREMENT", nil},
		{"UUIDv7", "BINARY(16)",
			func(context.Context) (any, error) { id, err := uuid.NewV7(); return id[:], err }},
		{"UUIDv4", "BINARY(16)",
			func(context.Context) (any, error) { id, err := uuid.NewRandom(); return id[:], err }},
		{"UUIDv4", "CHAR(36)",
			func(context.Context) (any, error) {
				id, err := uuid.NewRandom()
				return id.String(), err
			}},
	}
}

// fill inserts n rows of about a hundred bytes and reads off what became of the table. The
// secondary index is there because every entry of it repeats the primary key.
func (k keyKind) fill(ctx context.Context, db *sql.DB, table string, n int,
	bar *progress.Bar) (result.TableRow, error) {
	row := result.TableRow{Key: k.name, Type: k.typ, Rows: n}
	charset := ""
	if strings.HasPrefix(k.typ, "CHAR") {
		charset = " CHARACTER SET ascii"
	}
	_, err := db.ExecContext(ctx, "CREATE TABLE "+table+" (id "+
		strings.TrimSuffix(k.typ, " AUTO_INCREMENT")+charset+" NOT NULL"+
		strings.TrimPrefix(k.typ, strings.TrimSuffix(k.typ, " AUTO_INCREMENT"))+
		" PRIMARY KEY, customer INT NOT NULL, note VARCHAR(120) NOT NULL, KEY customer "+
		"(customer)) ENGINE=InnoDB")
	if err != nil {
		return row, err
	}
	before, err := splits(ctx, db)
	if err != nil {
		return row, err
	}
	start := time.Now()
	for done := 0; done < n; done += perInsert {
		bar.Step(k.name + " " + k.typ)
		if err := k.insert(ctx, db, table, done); err != nil {
			return row, err
		}
	}
	row.Seconds = time.Since(start).Seconds()
	after, err := splits(ctx, db)
	if err != nil {
		return row, err
	}
	row.Splits = after - before
	if _, err := db.ExecContext(ctx, "ANALYZE TABLE "+table); err != nil {
		return row, err
	}
	err = db.QueryRowContext(ctx,
		`SELECT DATA_LENGTH, INDEX_LENGTH, VERSION(), @@innodb_buffer_pool_size
		FROM information_schema.TABLES WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = ?`, table).
		Scan(&row.DataBytes, &row.IndexBytes, &row.Server, &row.BufferPool)
	return row, err
}

// insert adds perInsert rows in one statement.
func (k keyKind) insert(ctx context.Context, db *sql.DB, table string, from int) error {
	const note = "the quick brown fox jumps over the lazy dog, and the lazy dog does not " +
		"mind at all"
	columns, values := "(id, customer, note)", "(?,?,?)"
	if k.next == nil {
		columns, values = "(customer, note)", "(?,?)"
	}
	args := make([]any, 0, 3*perInsert)
	for i := range perInsert {
		if k.next != nil {
			id, err := k.next(ctx)
			if err != nil {
				return err
			}
			args = append(args, id)
		}
		args = append(args, (from+i)*7919%100_003, note)
	}
	_, err := db.ExecContext(ctx,
		"INSERT INTO "+table+" "+columns+" VALUES "+values+
			strings.Repeat(","+values, perInsert-1), args...)
	return err
}

// splits returns how often the server has split a page of an index so far.
func splits(ctx context.Context, db *sql.DB) (n int64, err error) {
	err = db.QueryRowContext(ctx,
		"SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = "+
			"'index_page_splits'").Scan(&n)
	return n, err
}
