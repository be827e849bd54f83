package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/internal/workertable"
)

// TestReadBack: a server whose replica is gone shows changes and answers none, as a
// semi-synchronous MySQL does. Nothing counts that was only read back: when the replica is
// promoted, which has none of it, no window overlaps with one that is claimed there.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
		for _, op := range []string{"extend", "a new worker id", "a free worker id"} {
			t.Run(namespace+" "+op, func(t *testing.T) {
				t.Parallel()
				readBack(t, namespace, op)
			})
		}
	}
}

func readBack(t *testing.T, namespace, op string) {
	srv, name := maria(t)
	replica := srv.CreateDB(t)
	s, db := newSplit(t, srv.DSN(name), srv.DSN(replica))
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace})
	c := assign(t, a, 1)[0]
	if op == "a free worker id" {
		release(t, assign(t, a, 1)[0], time.Now().Add(-time.Minute))
	}
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, replica, fmt.Sprintf("CREATE TABLE %[1]s LIKE %[2]s.%[1]s; INSERT INTO %[1]s "+
			"SELECT * FROM %[2]s.%[1]s", table, name))
	}
	s.lie("", 1<<30, true, context.Canceled) // every change is made, and none is answered
	s.only = func(query string) bool {
		return strings.HasPrefix(query, "UPDATE WORKER_LEASE") || strings.HasPrefix(query, "INSERT INTO WORKER_LEASE")
	}
	_, before := c.Window()
	var log winlog.Log
	put := func(claim int64, c assigner.Claim) {
		from, until := c.Window()
		log.Put(winlog.Window{Claim: claim, Worker: c.Worker(), From: from, Until: until})
	}
	if op == "extend" {
		if end, err := c.Extend(t.Context(), before.Add(time.Hour)); err == nil {
			t.Errorf("Extend without an answer = %v, want an error", end)
		}
		if _, end := c.Window(); !end.Equal(before) {
			t.Errorf("the window ends at %v, want %v as before", end, before)
		}
	} else if c, err := a.Assign(within(t, time.Second), maxWorker); err == nil {
		put(1, c)
		t.Errorf("Assign without an answer = worker %d, want an error", c.Worker())
	}
	put(0, c)
	// The promotion: a process with a clock on which the first window has passed.
	late := fmt.Sprintf("%s&timestamp=%d", srv.DSN(replica), before.Add(time.Second).Unix())
	for i := range int64(2) {
		put(10+i, assign(t, workernode.At(workernode.Leased(connect(t, late),
			&workernode.LeasedOptions{Namespace: namespace}), func() time.Time { return before }), 1)[0])
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
	// When the answers come again, the claim goes on.
	s.lie("", 0, false, nil)
	if end, err := c.Extend(t.Context(), before.Add(time.Hour)); err != nil || end.Before(before.Add(time.Hour)) {
		t.Errorf("Extend with answers = %v, %v", end, err)
	}
}

// TestRepairRolledBack: a member of a cluster that lags shows old rows, and rolls back what is built
// on them. That is no evidence that the table went back, and the claim goes on.
func TestRepairRolledBack(t *testing.T) {
	t.Parallel()
	for _, code := range []uint16{1180, 1205, 1213, 3100, 3101} {
		for _, op := range []string{"extend", "assign"} {
			t.Run(fmt.Sprint(code, " ", op), func(t *testing.T) {
				t.Parallel()
				srv, name := maria(t)
				lagging := srv.CreateDB(t)
				for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
					srv.Query(t, lagging, "CREATE TABLE "+table+" LIKE "+name+"."+table)
				}
				s, db := newSplit(t, srv.DSN(name), srv.DSN(lagging))
				a := workernode.Leased(db, nil)
				c := assign(t, a, 1)[0]
				for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
					srv.Query(t, lagging, "INSERT INTO "+table+" SELECT * FROM "+name+"."+table)
				}
				_, until := c.Window()
				until, err := c.Extend(t.Context(), until.Add(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				if op == "assign" {
					release(t, c, time.Now().Add(-time.Hour))
					srv.Query(t, lagging, "UPDATE WORKER_LEASE SET UNTIL_MS = 5 WHERE WORKER_ID = 1")
				}
				// Everything goes to the member that lags, and what it changes is rolled back.
				s.promoted.Store(true)
				s.lie("UPDATE WORKER_LEASE", 1<<30, false,
					&mysqldriver.MySQLError{Number: code, Message: "rolled back"})
				// A compare-and-set that finds no row has nothing to roll back.
				s.only = func(query string) bool { return s.updates.Load() > 1 || op == "assign" }
				s.updates.Store(0)
				if op == "extend" {
					_, err = c.Extend(t.Context(), until.Add(time.Hour))
				} else {
					_, err = a.Assign(within(t, time.Second), maxWorker)
				}
				if err == nil || errors.Is(err, assigner.ErrWentBack) || errors.Is(err, assigner.ErrClaimLost) {
					t.Errorf("%s on a member that lags = %v, want an error that passes", op, err)
				}
				s.lie("", 0, false, nil)
				s.promoted.Store(false)
				if op == "assign" {
					c = assign(t, a, 1)[0]
				}
				if from, _ := c.Window(); c.Worker() != 1 || from.After(time.Now()) {
					t.Errorf("worker %d from %v, want worker 1 and nothing delayed", c.Worker(), from)
				}
				if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
					t.Errorf("Extend when the member has caught up: %v", err)
				}
			})
		}
	}
}

// TestMissingRolledBack: a member of a cluster that lags shows no row of a worker id, lets one be
// inserted, and rolls the change back at its COMMIT. That is no evidence that the row is gone, and the
// claim goes on.
func TestMissingRolledBack(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"", "orders"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			lagging := srv.CreateDB(t)
			s, db := newSplit(t, srv.DSN(name), srv.DSN(lagging))
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace})
			c := assign(t, a, 1)[0]
			for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
				srv.Query(t, lagging, "CREATE TABLE "+table+" LIKE "+name+"."+table+
					"; INSERT INTO "+table+" SELECT * FROM "+name+"."+table)
			}
			srv.Query(t, lagging, "DELETE FROM WORKER_LEASE WHERE WORKER_ID >= 0")
			_, until := c.Window()
			s.promoted.Store(true)
			inserted := false // without a COMMIT since
			s.only = func(query string) bool {
				inserted = (inserted || strings.HasPrefix(query, "INSERT")) && !strings.HasPrefix(query, "ROLLBACK")
				return inserted && strings.HasPrefix(query, "COMMIT")
			}
			s.after = func() { inserted = false }
			s.lie("", 1<<30, false, &mysqldriver.MySQLError{Number: 1213, Message: "rolled back"})
			_, err := c.Extend(t.Context(), until.Add(time.Hour))
			if err == nil || errors.Is(err, assigner.ErrWentBack) || errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend on a member that lags = %v, want an error that passes", err)
			}
			s.lie("", 0, false, nil)
			s.promoted.Store(false)
			if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
				t.Errorf("Extend when the member has caught up: %v", err)
			}
		})
	}
}

// TestWentBackMeanwhile: a claim of the same Assigner finds out that the table went back while
// another one is between its write and its confirmation. The window begins beyond what may have been
// forgotten.
func TestWentBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, row := range []bool{true, false} {
		t.Run(fmt.Sprint("row ", row), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			s, db := newAmbush(t, srv.DSN(name))
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
			other := assign(t, a, 1)[0]
			on := "INSERT INTO WORKER_LEASE"
			if row {
				on = "UPDATE WORKER_LEASE"
				release(t, assign(t, a, 1)[0], time.Now().Add(-time.Minute))
			}
			s.set(on, 0, func(run func() error) error {
				err := run()
				srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = 0, UNTIL_MS = 5 WHERE WORKER_ID = 0")
				_, until := other.Window()
				if _, err := other.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Extend = %v, want ErrWentBack", err)
				}
				return err
			})
			c := assign(t, a, 1)[0]
			if from, _ := c.Window(); from.Before(time.Now().Add(day - time.Minute)) {
				t.Errorf("the window of worker %d begins at %v, want a day from now", c.Worker(), from)
			}
		})
	}
}
