package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/page"
)

// TestRestartedCounter restarts a server whose InnoDB counts on from the highest row that is left.
// Of the ways to raise the counter of WORKER_NODE only those that leave a row survive that.
func TestRestartedCounter(t *testing.T) {
	t.Parallel()
	srv := dbtest.MySQL56(t)
	const highest = 300
	restore := func(t *testing.T, _ dialect, dsn string) { restored(t, dsn, highest, time.Hour) }
	run := func(statements ...string) func(*testing.T, dialect, string) {
		return func(t *testing.T, d dialect, dsn string) { execAll(t, d.connect(t, dsn), statements...) }
	}
	statements, err := page.Restore("../../sql/README.md", pageNames["MariaDB"], highest, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	d := dialects[0]
	d.fresh = func(t testing.TB) string { return srv.DSN(srv.CreateDB(t)) }
	ways := []struct {
		name  string
		raise func(t *testing.T, d dialect, dsn string) // moves the counter above highest
		again bool                                      // a worker id up to highest is reused
		dsn   string
	}{
		{"rows that are deleted", run(insertNode(highest), "DELETE FROM WORKER_NODE"), true, ""},
		{"ALTER TABLE", run(fmt.Sprintf("ALTER TABLE WORKER_NODE AUTO_INCREMENT = %d", highest+1)), true, ""},
		{"the page", run(statements...), false, ""},
		{"the command", restore, false, ""},
	}
	for i, w := range ways {
		ways[i].dsn = d.migrated(t)
		w.raise(t, d, ways[i].dsn)
	}
	restart(t, srv)
	for _, w := range ways {
		for kind, make := range kinds {
			c, err := make(d.connect(t, w.dsn)).Assign(t.Context(), 1<<16-1)
			if err != nil {
				t.Fatal(err)
			}
			if again := c.Worker() <= highest; again != w.again {
				t.Errorf("%s, %s: worker %d; one up to %d is reused: %v, want %v",
					w.name, kind, c.Worker(), highest, again, w.again)
			}
		}
	}
}

// TestRestartedLease: Disposable takes no worker id that is leased, although the counter forgot that
// it was handed out.
func TestRestartedLease(t *testing.T) {
	t.Parallel()
	srv := dbtest.MySQL56(t)
	d := dialects[0]
	d.fresh = func(t testing.TB) string { return srv.DSN(srv.CreateDB(t)) }
	dsn := d.migrated(t)
	leased := map[int64]bool{}
	for range 3 {
		c, err := workernode.Leased(d.connect(t, dsn), nil).Assign(t.Context(), 1<<16-1)
		if err != nil {
			t.Fatal(err)
		}
		leased[c.Worker()] = true
	}
	execAll(t, d.connect(t, dsn), "DELETE FROM WORKER_NODE")
	restart(t, srv)
	c, err := workernode.Disposable(d.connect(t, dsn), nil).Assign(t.Context(), 1<<16-1)
	if err != nil {
		t.Fatal(err)
	}
	if leased[c.Worker()] {
		t.Errorf("Disposable has worker %d, which is leased", c.Worker())
	}
	// The counter did forget: the keys that Disposable passed over are the leased ones.
	if c.Worker() != 4 {
		t.Errorf("Disposable has worker %d, want 4, the first after the leased 1 to 3", c.Worker())
	}
}

// insertNode returns a statement that moves the counter to id.
func insertNode(id int64) string {
	return fmt.Sprintf("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) "+
		"VALUES (%d, 'h', 'p', 2, '2026-01-01')", id)
}

func restart(t *testing.T, srv *dbtest.Server) {
	t.Helper()
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
}
