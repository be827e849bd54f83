package faults

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/page"
	"github.com/uidring/uidring/uid"
)

// backup copies the two tables and returns statements that put them back to their present state, the
// AUTO_INCREMENT counter included.
func backup(t *testing.T, srv *dbtest.Server, db string) (restore []string) {
	t.Helper()
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, db, fmt.Sprintf("CREATE TABLE BACKUP_%s AS SELECT * FROM %s", table, table))
		restore = append(restore, "DELETE FROM "+table,
			fmt.Sprintf("INSERT INTO %s SELECT * FROM BACKUP_%s", table, table))
	}
	next := srv.Query(t, db, "SELECT COALESCE(MAX(ID), 0) + 1 FROM WORKER_NODE")
	return append(restore, "ALTER TABLE WORKER_NODE AUTO_INCREMENT = "+next)
}

// run runs statements on a database.
func run(t *testing.T, srv *dbtest.Server, db string, statements ...string) {
	t.Helper()
	for _, s := range statements {
		srv.Query(t, db, s)
	}
}

// TestRestoredLeases: generators run while the tables go back to an older state. Without the repair
// their worker ids look free while they still stamp, and ids repeat. With it no id is repeated,
// and the generators claim other worker ids by themselves.
func TestRestoredLeases(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	for _, repaired := range []bool{false, true} {
		t.Run(fmt.Sprint("repaired ", repaired), func(t *testing.T) {
			t.Parallel()
			name := migrated(t, srv)
			l := newLedger(t)
			var highest int64
			start := func(who string) *user {
				db := connect(t, srv.DSN(name))
				a := workernode.Leased(db, &workernode.LeasedOptions{Window: 3 * window})
				g, err := uid.NewCached(t.Context(), a, cached())
				if err != nil {
					t.Fatal(err)
				}
				highest = max(highest, g.Stats().Worker)
				return use(t, who, g, l)
			}
			// The backup has one row, whose claim was given back.
			first := start("first")
			goOn(t, []*user{first}, "before the backup")
			first.end()
			restore := backup(t, srv, name)
			old := []*user{start("old 1"), start("old 2")}
			goOn(t, old, "before the restore")
			worker := old[0].g.Stats().Worker
			run(t, srv, name, restore...)
			if repaired {
				statements, err := page.Restore("../../sql/README.md", "MySQL and MariaDB",
					highest, 3*window+time.Second)
				if err != nil {
					t.Fatal(err)
				}
				run(t, srv, name, statements...)
			}
			young := []*user{start("young 1"), start("young 2")}
			goOn(t, append(young, old...), "after the restore")
			if !repaired {
				waitFor(t, "id that was repeated, as it does without the repair", func() bool {
					return l.Sum().Duplicates > 0
				})
				return
			}
			waitFor(t, "new worker id of the old generator", func() bool {
				return old[0].g.Stats().Worker != worker
			})
			goOn(t, append(young, old...), "with other worker ids")
			for _, u := range append(young, old...) {
				u.end()
			}
			noDuplicates(t, l)
		})
	}
}

// TestRestoredClaim: an owner whose row went back to an older state finds out at its next extension,
// although no other owner has the worker id.
func TestRestoredClaim(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	name := migrated(t, srv)
	a := workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Window: window})
	c, err := a.Assign(t.Context(), 1<<16-1)
	if err != nil {
		t.Fatal(err)
	}
	_, until := c.Window()
	restore := backup(t, srv, name)
	later, err := c.Extend(t.Context(), until.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	run(t, srv, name, restore...)
	if _, err := c.Extend(t.Context(), later.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend on an older row = %v, want ErrClaimLost", err)
	}
	if _, end := c.Window(); !end.Equal(later) {
		t.Errorf("the window ends at %v after the refusal, want %v as before", end, later)
	}
}
