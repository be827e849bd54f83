package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// split is a pool that reads from a replica and writes to the primary, as a proxy that splits
// statements by kind does.
type split struct {
	lagging  atomic.Bool // reads go to the replica
	promoted atomic.Bool // everything does
	updates  atomic.Int64
	liar
}

// newSplit returns a pool that has everything go to the primary for the time being.
func newSplit(t *testing.T, primary, replica string) (*split, *gorm.DB) {
	t.Helper()
	s := &split{}
	return s, intercept(t, &dbtest.Interceptor{Connectors: connectors(t, primary, replica),
		Pick: func(query string) int {
			if strings.HasPrefix(query, "UPDATE") {
				s.updates.Add(1)
			}
			if s.promoted.Load() || s.lagging.Load() && strings.HasPrefix(query, "SELECT") {
				return 1
			}
			return 0
		}, Around: s.around})
}

// TestLaggingReplica: what a replica still shows as free and somebody has on the primary is not
// assigned again, and is not asked for without a pause. When the replica has caught up, Assign
// succeeds.
func TestLaggingReplica(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	primary := connect(t, srv.DSN(name))
	const slots = 3
	for _, c := range assign(t, workernode.Leased(primary, nil), slots) {
		release(t, c, time.Time{})
	}
	lagging := srv.CreateDB(t)
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, lagging, "CREATE TABLE "+table+" AS SELECT * FROM "+name+"."+table)
	}
	held := assign(t, workernode.Leased(primary, nil), slots)

	s, db := newSplit(t, srv.DSN(name), srv.DSN(lagging))
	s.lagging.Store(true)
	a := workernode.Leased(db, nil)
	c, err := a.Assign(within(t, 500*time.Millisecond), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Assign on rows that are %d claims behind = %v, %v, want the ctx's error", len(held), c, err)
	}
	// Pauses from 10 ms up, doubling, leave room for seven looks at most.
	if n := s.updates.Load(); n < slots || n > 7*slots {
		t.Errorf("%d updates in 500ms, want %d to %d", n, slots, 7*slots)
	}
	s.lagging.Store(false)
	if c, err = a.Assign(t.Context(), maxWorker); err != nil || c.Worker() != slots+1 {
		t.Errorf("Assign on current rows = %v, %v, want worker %d", c, err, slots+1)
	}
}

// TestLaggingExtend: a claim that reads its row from a replica that lags does not take the table
// for one that went back: it is extended and given back on the primary.
func TestLaggingExtend(t *testing.T) {
	t.Parallel()
	for _, row := range []bool{true, false} {
		t.Run(fmt.Sprint("row ", row), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			primary := connect(t, srv.DSN(name))
			release(t, assign(t, workernode.Leased(primary, nil), 1)[0], time.Time{})
			lagging := srv.CreateDB(t)
			for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
				srv.Query(t, lagging, "CREATE TABLE "+table+" AS SELECT * FROM "+name+"."+table)
			}
			if !row {
				srv.Query(t, lagging, "DELETE FROM WORKER_LEASE WHERE WORKER_ID >= 0")
			}
			s, db := newSplit(t, srv.DSN(name), srv.DSN(lagging))
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			_, until := c.Window()
			for i, lagging := range []bool{true, true, false} {
				s.lagging.Store(lagging)
				if i == 1 { // two answers of the primary are lost, which says nothing about the table
					s.lie("UPDATE WORKER_LEASE", 2, false, context.Canceled)
				}
				want := until.Add(time.Duration(i+1) * time.Hour)
				if end, err := c.Extend(t.Context(), want); err != nil || end.Before(want) {
					t.Errorf("Extend with a row of the past: %v = %v, %v, want %v", lagging, end, err, want)
				}
			}
			s.lagging.Store(true)
			release(t, c, time.Time{})
			if got := srv.Query(t, name, "SELECT OWNER FROM WORKER_LEASE WHERE WORKER_ID >= 0"); got != "" {
				t.Errorf("after Release the primary has the owner %q, want none", got)
			}
			// A claim that another process has taken over is lost, and the table has not gone back.
			s.lagging.Store(false)
			c = assign(t, workernode.Leased(db, nil), 1)[0]
			srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1, NONCE = 7, "+
				"OWNER = 'another' WHERE WORKER_ID = 1")
			_, until = c.Window()
			for _, lagging := range []bool{true, false} {
				s.lagging.Store(lagging)
				_, err := c.Extend(t.Context(), until.Add(time.Hour))
				if errors.Is(err, assigner.ErrWentBack) || errors.Is(err, assigner.ErrClaimLost) == lagging {
					t.Errorf("Extend of a claim that somebody took, with a row of the past: %v = %v", lagging, err)
				}
			}
		})
	}
}

// TestPromotedReplica: every statement goes to a replica from one moment on, which is the primary
// then and lacks the last changes.
func TestPromotedReplica(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	replica := srv.CreateDB(t)
	s, db := newSplit(t, srv.DSN(name), srv.DSN(replica))
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, replica,
			"CREATE TABLE "+table+" LIKE "+name+"."+table+"; INSERT INTO "+table+" SELECT * FROM "+name+"."+table)
	}
	_, until := c.Window()
	until, err := c.Extend(t.Context(), until.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s.promoted.Store(true)
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend on the promoted replica = %v, want ErrWentBack", err)
	}
	if _, end := c.Window(); !end.Equal(until) {
		t.Errorf("the window ends at %v, want %v as before", end, until)
	}
	if got := endOf(t, srv, replica, 1); got.Before(time.Now().Add(day - time.Minute)) {
		t.Errorf("UNTIL_MS on the promoted replica = %v, want a day from now", got)
	}
}

// TestPromotedBriefly: a claim that has found out that the table went back is lost, also when the
// old primary takes over again before the row was repaired.
func TestPromotedBriefly(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	replica := srv.CreateDB(t)
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, replica, "CREATE TABLE "+table+" LIKE "+name+"."+table)
	}
	s, db := newSplit(t, srv.DSN(name), srv.DSN(replica))
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	_, until := c.Window()
	s.promoted.Store(true)
	s.lie("INSERT INTO WORKER_LEASE", 3, false, context.Canceled)
	if end, err := c.Extend(t.Context(), until.Add(time.Hour)); err == nil {
		t.Errorf("Extend on the promoted replica = %v, want an error", end)
	}
	s.promoted.Store(false)
	for _, lagging := range []bool{true, false} {
		s.lagging.Store(lagging)
		_, err := c.Extend(t.Context(), until.Add(time.Hour))
		if err == nil || errors.Is(err, assigner.ErrWentBack) == lagging {
			t.Errorf("Extend on the old primary = %v, want ErrWentBack: %v", err, !lagging)
		}
	}
	if got := srv.Query(t, name, "SELECT GENERATION, UNTIL_MS FROM WORKER_LEASE WHERE "+
		"WORKER_ID = 1"); got != fmt.Sprintf("1\t%d", until.UnixMilli()) {
		t.Errorf("the row is %q, want it as it was, until %d", got, until.UnixMilli())
	}
}

// TestLaggingAssign: a process that claims a worker id again, which it gave back before, does not
// take a replica that lags for a table that went back.
func TestLaggingAssign(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	lagging := srv.CreateDB(t)
	s, db := newSplit(t, srv.DSN(name), srv.DSN(lagging))
	a := workernode.Leased(db, nil)
	release(t, assign(t, a, 1)[0], time.Now().Add(-time.Minute))
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, lagging, "CREATE TABLE "+table+" AS SELECT * FROM "+name+"."+table)
	}
	release(t, assign(t, a, 1)[0], time.Now())
	s.lagging.Store(true)
	if c, err := a.Assign(within(t, 300*time.Millisecond), maxWorker); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Assign on rows of the past = %v, %v, want the ctx's error", c, err)
	}
	s.lagging.Store(false)
	if c, err := a.Assign(t.Context(), maxWorker); err != nil || c.Worker() != 1 {
		t.Errorf("Assign on current rows = %v, %v, want worker 1", c, err)
	}
}
