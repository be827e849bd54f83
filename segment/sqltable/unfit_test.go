package sqltable_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestLostUpdates: a server that is known to lose updates is refused by name before any other
// statement, unless AcceptLostUpdates is set.
func TestLostUpdates(t *testing.T) {
	t.Parallel()
	var d dolt
	pool := sql.OpenDB(&d)
	defer pool.Close()
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}),
		&gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	for kind, source := range kinds {
		src := source(db)
		for name, err := range map[string]error{
			"Fetch": fetchErr(t, src, "a", 1), "Check": src.(segment.Checker).Check(t.Context()),
		} {
			if err == nil || !strings.Contains(err.Error(), "is Dolt, which is known to lose") {
				t.Errorf("%s: %s on Dolt = %v, want an error that names it", kind, name, err)
			}
			if kind != "Ticket" || name == "Check" {
				if !errors.Is(err, segment.ErrOptions) {
					t.Errorf("%s: %s on Dolt = %v, want ErrOptions", kind, name, err)
				}
			}
		}
	}
	for kind, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(db, &sqltable.LeafAllocOptions{AcceptLostUpdates: true}),
		"Sequence":  sqlsource.Sequence(db, &sqltable.SequenceOptions{AcceptLostUpdates: true}),
		"Ticket":    sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{AcceptLostUpdates: true}),
	} {
		if err := fetchErr(t, src, "a", 1); err == nil || strings.Contains(err.Error(), "known to lose") {
			t.Errorf("%s: Fetch on Dolt with AcceptLostUpdates = %v, want an error of a later statement", kind, err)
		}
	}
}

// dolt is a server that only answers that it is Dolt.
type dolt struct{}

func (d *dolt) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *dolt) Driver() driver.Driver                        { return nil }
func (d *dolt) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (d *dolt) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (d *dolt) Close() error                                 { return nil }

func (d *dolt) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), nil
}

func (d *dolt) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, "@@version_comment") {
		return &versions{}, nil
	}
	return nil, errors.New("not known")
}

// versions is a result of one row with the version and the comment.
type versions struct{ read bool }

func (v *versions) Columns() []string { return make([]string, 2) }
func (v *versions) Close() error      { return nil }
func (v *versions) Next(dest []driver.Value) error {
	if v.read {
		return io.EOF
	}
	v.read, dest[0], dest[1] = true, "8.0.33", "Dolt"
	return nil
}

// TestDelete: a tag is deleted if its row is as it was read, and not after its counter has moved.
func TestDelete(t *testing.T) {
	t.Parallel()
	_, db := counters(t)
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		src := kinds[kind](db)
		row, err := src.(segment.Finder).Find(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		segtest.Fetch(t, src, "a", 0)
		err = src.(segment.Deleter).Delete(t.Context(), row)
		if err == nil || !strings.Contains(err.Error(), "changed concurrently") {
			t.Errorf("%s: Delete of a tag whose counter has moved = %v, want an error that says so", kind, err)
		}
		if row, err = src.(segment.Finder).Find(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := src.(segment.Deleter).Delete(t.Context(), row); err != nil {
			t.Errorf("%s: Delete = %v", kind, err)
		}
		if err := fetchErr(t, src, "a", 1); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("%s: Fetch of the deleted tag = %v, want ErrUnknownTag", kind, err)
		}
	}
}
