package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// ambush calls a function in place of one statement. The function may run the statement, and others
// before or after it.
type ambush struct {
	mu   sync.Mutex
	on   string // how the statement begins
	pass int    // how many of them pass before
	do   func(run func() error) error
}

// set sets up the next ambush.
func (a *ambush) set(on string, pass int, do func(run func() error) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on, a.pass, a.do = on, pass, do
}

func (a *ambush) around(query string, run func() error) error {
	a.mu.Lock()
	do := a.do
	if do == nil || !strings.HasPrefix(query, a.on) {
		a.mu.Unlock()
		return run()
	}
	if a.pass > 0 {
		a.pass--
		a.mu.Unlock()
		return run()
	}
	a.do = nil
	a.mu.Unlock()
	return do(run)
}

// newAmbush returns a pool whose statements pass an ambush.
func newAmbush(t *testing.T, dsn string) (*ambush, *gorm.DB) {
	t.Helper()
	a := &ambush{}
	return a, intercept(t, &dbtest.Interceptor{Connectors: connectors(t, dsn), Around: a.around})
}

// TestReleaseAgain: a Release is done once, whether its answer arrives or not. One that failed may
// be called again, one that succeeded needs no database any more.
func TestReleaseAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lies int
		made bool // all the same
		err  bool
	}{
		{name: "answered"},
		{name: "an answer is lost", lies: 1, made: true},
		{name: "failed", lies: 1000, err: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			l, db := newLiar(t, srv.DSN(name))
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			used := time.Now().Add(time.Minute).Truncate(time.Millisecond)
			l.lie("UPDATE WORKER_LEASE", tt.lies, tt.made, context.Canceled)
			ctx := t.Context()
			if tt.err {
				ctx = within(t, 500*time.Millisecond)
			}
			if err := c.Release(ctx, used); (err != nil) != tt.err {
				t.Errorf("Release = %v, want an error: %v", err, tt.err)
			}
			if tt.err {
				l.lie("UPDATE WORKER_LEASE", 0, false, nil)
				release(t, c, used)
			}
			want := fmt.Sprintf("2\t\t%d", used.UnixMilli())
			if got := srv.Query(t, name, "SELECT GENERATION, OWNER, UNTIL_MS FROM WORKER_LEASE "+
				"WHERE WORKER_ID = 1"); got != want {
				t.Errorf("the row is %q, want %q, one change", got, want)
			}
			pool(t, db).Close()
			release(t, c, used)
			if end, err := c.Extend(t.Context(), used.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend after Release = %v, %v, want ErrClaimLost", end, err)
			}
		})
	}
}

// TestReleaseTakenAtOnce: the process that releases a worker id may claim it again before its
// Release returns. It does not mistake what it released itself for a table that went back.
func TestReleaseTakenAtOnce(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	c := assign(t, a, 1)[0]
	s.set("UPDATE WORKER_LEASE", 0, func(run func() error) error {
		err := run()
		if next, err := a.Assign(t.Context(), maxWorker); err != nil || next.Worker() != c.Worker() {
			t.Errorf("Assign = %v, %v, want worker %d, which is free", next, err, c.Worker())
		}
		return err
	})
	release(t, c, time.Now().Add(-time.Minute))
}

// TestReleaseRestored: the table goes back between two attempts of a Release, of which the first
// was made. The row gets an end beyond all windows, and one that was deleted is not made again.
func TestReleaseRestored(t *testing.T) {
	t.Parallel()
	for _, restore := range []string{
		"DELETE FROM WORKER_LEASE WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 0, UNTIL_MS = 5 WHERE WORKER_ID = 1",
	} {
		t.Run(restore, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			s, db := newAmbush(t, srv.DSN(name))
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			used := time.Now().Add(time.Minute).Truncate(time.Millisecond)
			s.set("UPDATE WORKER_LEASE", 0, func(run func() error) error {
				if err := run(); err != nil {
					t.Error(err)
				}
				// The next attempt finds that, and cannot end with a COMMIT: one passes before it.
				s.set("COMMIT", 1, func(func() error) error {
					srv.Query(t, name, restore)
					return context.Canceled
				})
				return context.Canceled
			})
			release(t, c, used)
			end := endOf(t, srv, name, 1)
			if gone := strings.HasPrefix(restore, "DELETE"); gone != end.IsZero() ||
				!gone && end.Before(time.Now().Add(day-time.Minute)) {
				t.Errorf("the row ends at %v, want a day from now, or none where it was deleted", end)
			}
			if owner := srv.Query(t, name, "SELECT OWNER FROM WORKER_LEASE WHERE WORKER_ID = 1"); owner != "" {
				t.Errorf("the row has the owner %q, want none", owner)
			}
		})
	}
}

// TestClaimUnconfirmed: a claim whose row is made, and which has no answer about the namespace's
// layouts, asks again and makes no second row.
func TestClaimUnconfirmed(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	assign(t, workernode.Leased(db, nil), 1)
	s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
		// One COMMIT is the row's, one begins the check of the layouts and one ends it.
		s.set("COMMIT", 2, func(func() error) error { return context.Canceled })
		return run()
	})
	if c := assign(t, workernode.Leased(db, nil), 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2", c.Worker())
	}
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "2" {
		t.Errorf("%s worker ids are used for two claims", got)
	}
}

// TestClaimWithoutHeader: a claim whose row is made gets no window while the namespace's layouts
// are unknown.
func TestClaimWithoutHeader(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	assign(t, workernode.Leased(db, nil), 1)
	s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
		err := run()
		srv.Query(t, name, "DELETE FROM WORKER_LEASE WHERE WORKER_ID = -1")
		return err
	})
	c, err := workernode.Leased(db, nil).Assign(within(t, time.Second), maxWorker)
	if err == nil {
		t.Fatalf("Assign = worker %d, want an error", c.Worker())
	}
	wantError(t, err, "the header of WORKER_LEASE")
}

// TestFreeWithoutHeader: where the header was deleted, free rows are not claimed until it is there
// again.
func TestFreeWithoutHeader(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	release(t, assign(t, a, 1)[0], time.Now().Add(-time.Minute))
	srv.Query(t, name, "DELETE FROM WORKER_LEASE WHERE WORKER_ID = -1")
	for range 2 {
		if c, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Assign = %v, %v, want ErrWentBack", c, err)
		}
	}
	repair(t, srv, name, 1, 0)
	headAgain(t, srv, name, "")
	if c := assign(t, a, 1)[0]; c.Worker() != 1 {
		t.Errorf("worker = %d, want 1, which is free", c.Worker())
	}
}

// TestAssignWithoutColumn: where the free rows cannot be read no worker id is used up.
func TestAssignWithoutColumn(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, workernode.Leased(db, nil), 1)
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE DROP COLUMN OWNER")
	_, err := workernode.Leased(db, nil).Assign(within(t, 10*time.Second), maxWorker)
	wantError(t, err, "OWNER")
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "1" {
		t.Errorf("%s worker ids are used, want 1", got)
	}
}

// TestExtendTwoRows: a table that lost its primary key and has a row twice is an error that says
// so, and no row is changed.
func TestExtendTwoRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0]
	_, until := c.Window()
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE DROP PRIMARY KEY; INSERT INTO WORKER_LEASE "+
		"SELECT * FROM WORKER_LEASE WHERE WORKER_ID = 1")
	_, err := c.Extend(t.Context(), until.Add(time.Hour))
	wantError(t, err, "more than one row has the key")
	if got := srv.Query(t, name, "SELECT SUM(GENERATION) FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != "2" {
		t.Errorf("the fencing tokens' sum is %s, want 2 as before", got)
	}
}
