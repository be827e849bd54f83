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

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// key is one kind of primary key.
type key struct {
	name, typ string
	next      func() (any, error) // nil: the server makes it
}

// perInsert is the number of rows in an INSERT, checkpoints how often a table's size is read.
const perInsert, checkpoints = 500, 8

// keys fills one table per kind of key with the same rows, one kind after the other, and reads the
// sizes several times on the way: those of a single number of rows depend on where the page splits
// just are.
func keys(ctx context.Context, c *Config, f *result.File) error {
	g, err := uid.NewCached(ctx, claimtest.Static(1), nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	srv, err := dbtest.NewMariaDB("--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M",
		"--innodb-monitor-enable=index_page_splits")
	if err != nil {
		return err
	}
	defer srv.Close()
	if _, err := srv.TryQuery("", "CREATE DATABASE bench"); err != nil {
		return err
	}
	db, err := sql.Open("mysql", srv.DSN("bench")+"&interpolateParams=true")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for i, k := range []key{
		{"uid.Cached", "BIGINT",
			func() (any, error) { id, err := g.Next(ctx); return int64(id), err }},
		{"AUTO_INCREMENT", "BIGINT", nil},
		{"UUIDv7", "BINARY(16)",
			func() (any, error) { id, err := uuid.NewV7(); return id[:], err }},
		{"UUIDv4", "BINARY(16)",
			func() (any, error) { id, err := uuid.NewRandom(); return id[:], err }},
		{"UUIDv4", "CHAR(36) CHARACTER SET ascii",
			func() (any, error) { id, err := uuid.NewRandom(); return id.String(), err }},
	} {
		if err := k.fill(ctx, db, fmt.Sprint("t", i), pick(c, 40_000, 1_000_000), f); err != nil {
			return err
		}
	}
	return nil
}

// fill inserts n rows of about a hundred bytes and reads off what became of the table. The
// secondary index is there because every entry of it repeats the primary key.
func (k key) fill(ctx context.Context, db *sql.DB, table string, n int, f *result.File) error {
	column := "id " + k.typ + " NOT NULL PRIMARY KEY"
	if k.next == nil {
		column += " AUTO_INCREMENT"
	}
	before, err := splits(ctx, db)
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE TABLE "+table+" ("+column+
			", customer INT NOT NULL, note VARCHAR(120) NOT NULL, KEY customer (customer))")
	}
	name := k.name + " " + strings.Fields(k.typ)[0]
	var data, index float64
	took := time.Duration(0)
	for part := 1; part <= checkpoints && err == nil; part++ {
		start := time.Now()
		for done := n * (part - 1) / checkpoints; done < n*part/checkpoints; done += perInsert {
			if err := k.insert(ctx, db, table, done); err != nil {
				return err
			}
		}
		took += time.Since(start)
		_, err = db.ExecContext(ctx, "ANALYZE TABLE "+table)
		err = errors.Join(err, db.QueryRowContext(ctx, `SELECT DATA_LENGTH, INDEX_LENGTH FROM
			information_schema.TABLES WHERE TABLE_SCHEMA = 'bench' AND TABLE_NAME = ?`, table).
			Scan(&data, &index))
		f.Add("secondary index", name, human.Count(int64(n*part/checkpoints)), "B", index, err)
	}
	if err != nil {
		return err
	}
	after, err := splits(ctx, db)
	f.Add("keys", name, "inserts a second", "", float64(n)/took.Seconds(), nil)
	f.Add("keys", name, "clustered index", "B", data, nil)
	f.Add("keys", name, "secondary index", "B", index, nil)
	f.Add("keys", name, "page splits", "", after-before, err)
	return err
}

// insert adds perInsert rows in one statement.
func (k key) insert(ctx context.Context, db *sql.DB, table string, from int) error {
	const note = "the quick brown fox jumps over the lazy dog, and the lazy dog does not " +
		"mind at all"
	var id any // NULL, for which the server makes a key
	args := make([]any, 0, 3*perInsert)
	for i := range perInsert {
		if k.next != nil {
			var err error
			if id, err = k.next(); err != nil {
				return err
			}
		}
		args = append(args, id, (from+i)*7919%100_003, note)
	}
	_, err := db.ExecContext(ctx, "INSERT INTO "+table+" VALUES (?,?,?)"+
		strings.Repeat(",(?,?,?)", perInsert-1), args...)
	return err
}

// splits returns how often the server has split a page of an index so far.
func splits(ctx context.Context, db *sql.DB) (n float64, err error) {
	err = db.QueryRowContext(ctx, "SELECT COUNT FROM information_schema.INNODB_METRICS "+
		"WHERE NAME = 'index_page_splits'").Scan(&n)
	return n, err
}
