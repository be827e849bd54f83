package sqltable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// TestNoTransactions: on a table whose engine has neither transactions nor row locks, a fetch that reads
// the row first fails if it loses a race. No range is handed out twice.
func TestNoTransactions(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	run(t, db, "ALTER TABLE leaf_alloc ENGINE = MyISAM")
	run(t, db, "ALTER TABLE t_sequence ENGINE = MyISAM")
	for kind, source := range map[string]func(*gorm.DB) segment.Source{
		"LeafAlloc": reading,
		"Sequence":  func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) },
	} {
		const nodes, each = 4, 100
		froms := make(chan int64, nodes*each)
		done := make(chan int)
		for range nodes {
			src := source(open(t, dsn))
			go func() {
				lost := 0
				for got := 0; got < each; {
					r, err := src.Fetch(t.Context(), "a", 10)
					switch {
					case errors.Is(err, segment.ErrRangeWentBack):
						t.Errorf("%s: %v", kind, err)
						got = each
						continue
					case err != nil:
						lost++
						continue
					}
					got++
					froms <- r.From
				}
				done <- lost
			}()
		}
		lost := 0
		for range nodes {
			lost += <-done
		}
		close(froms)
		var all []int64
		for from := range froms {
			all = append(all, from)
		}
		segtest.Distinct(t, all)
		t.Logf("%s: %d ranges, %d lost to another node", kind, len(all), lost)
	}
}

// TestTransient: an error of a database that is busy, full, read-only or failing over is not lasting. A
// call waits, returns the error if its ctx ends, and gets new ids once the database works again.
func TestTransient(t *testing.T) {
	t.Parallel()
	_, db := counters(t)
	for _, number := range []int{1205, 1213, 1290, 1792, 1836, 1040, 1203, 1021, 1114, 1030, 1053, 1142, 1020, 1180} {
		g := segtest.New(t, sqlsource.LeafAlloc(db, nil), &segment.Options{
			MaxStep: 1, Prefetch: 99, RetryMin: time.Millisecond, RetryMax: time.Millisecond,
		})
		ids := segtest.Next(t, g, "a", 1)
		segtest.AwaitQuiet(t, g)
		run(t, db, fmt.Sprintf("CREATE TRIGGER fails BEFORE UPDATE ON leaf_alloc FOR EACH ROW"+
			" SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'as told'", number))
		ids = append(ids, segtest.Next(t, g, "a", 19)...)
		id, err := int64(0), error(nil)
		for heard := false; !heard; heard = err == nil || !strings.Contains(err.Error(), "no answer yet") {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			id, err = g.Next(ctx, "a")
			cancel()
		}
		reason := fmt.Sprint("Error ", number, " ")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), reason) {
			t.Errorf("Next while the database answers %d = %d, %v, want ctx's error with the reason",
				number, id, err)
		}
		run(t, db, "DROP TRIGGER fails")
		segtest.Distinct(t, append(ids, segtest.Next(t, g, "a", 1)...))
	}
}

// TestManyListed: the list may add more tags at once than the server has connections. All of them
// work.
func TestManyListed(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t, "--max-connections=10")
	db := open(t, s.DSN(s.CreateDB(t)))
	if err := sqlsource.Migrate(t.Context(), db, "leaf_alloc"); err != nil {
		t.Fatal(err)
	}
	add := func(prefix string) {
		for i := range 100 {
			// The generator's connections may be all that the server has.
			for err := errors.New("not yet"); err != nil; {
				err = db.Exec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, 1, 10)",
					fmt.Sprint(prefix, i)).Error
				if err != nil && !strings.Contains(err.Error(), "1040") {
					t.Fatal(err)
				}
			}
		}
	}
	add("old")
	g := segtest.New(t, sqlsource.LeafAlloc(db, nil), &segment.Options{Listed: true})
	add("new")
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatalf("Refresh: %v", err)
	}
	for _, prefix := range []string{"old", "new"} {
		for i := range 100 {
			if id, err := g.Next(t.Context(), fmt.Sprint(prefix, i)); id != 1 || err != nil {
				t.Errorf("Next(%s%d) = %d, %v, want 1", prefix, i, id, err)
			}
		}
	}
}
