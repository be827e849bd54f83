package workernode_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// insertFree inserts rows of namespace "orders", from worker id 1 on, whose windows have passed.
func insertFree(t *testing.T, srv *dbtest.Server, name string, rows int) {
	t.Helper()
	var values []string
	for i := range rows {
		values = append(values, fmt.Sprintf("('orders', %d, 1, 7, '', %d, '')", i+1, 1000+i))
	}
	srv.Query(t, name, "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
		"UNTIL_MS, LAYOUT) VALUES "+strings.Join(values, ","))
}

// TestFreeLostToOthers: where other processes are faster, an Assign tries each free row once, in an
// order of its own, and leaves rows in front out when it looks again. It does not read back what it
// has an answer about.
func TestFreeLostToOthers(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{lostRows, 600} {
		t.Run(fmt.Sprint(rows, " rows"), func(t *testing.T) {
			t.Parallel()
			lostToOthers(t, rows)
		})
	}
}

// lostRows is how many rows go to other processes: those of three looks.
const lostRows = 24

func lostToOthers(t *testing.T, rows int) {
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	insertFree(t, srv, name, rows)
	other := pool(t, connect(t, srv.DSN(name)))
	var tried, skipped []int64
	seen := func(query string, args []driver.NamedValue) {
		switch {
		case strings.HasPrefix(query, "SELECT WORKER_ID, GENERATION"):
			skipped = append(skipped, args[len(args)-1].Value.(int64))
		case strings.HasPrefix(query, "SELECT GENERATION"):
			t.Error("a row that another process has taken is read back")
		case strings.HasPrefix(query, "UPDATE WORKER_LEASE") && len(tried) < lostRows:
			worker := args[5].Value.(int64)
			tried = append(tried, worker)
			if _, err := other.Exec("UPDATE WORKER_LEASE SET GENERATION = 2, NONCE = 8, "+
				"UNTIL_MS = 9000000000000 WHERE NAMESPACE = 'orders' AND WORKER_ID = ?", worker); err != nil {
				t.Error(err)
			}
		}
	}
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Seen: seen})
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	c := assign(t, a, 1)[0]
	if unused := c.Worker() > int64(rows); unused != (rows == lostRows) || slices.Contains(tried, c.Worker()) {
		t.Errorf("worker = %d after %d others, want a free one, or else an unused one", c.Worker(), lostRows)
	}
	if slices.IsSorted(tried) {
		t.Errorf("tried %v, want the rows in random order", tried)
	}
	slices.Sort(tried)
	if len(tried) != lostRows || len(slices.Compact(tried)) != lostRows {
		t.Errorf("tried %v, want %d rows, each once", tried, lostRows)
	}
	if rows > lostRows && len(skipped) != 4 {
		t.Errorf("%d looks, want 4: three times the rows were lost", len(skipped))
	}
	if len(skipped) < 2 || skipped[0] != 0 || slices.Max(skipped) == 0 {
		t.Errorf("the looks leave out %v rows, want 0 and then a random number", skipped)
	}
}

// TestTakeUnknown: a change without an answer is looked up once, not with every attempt that
// follows.
func TestTakeUnknown(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	insertFree(t, srv, name, 1)
	l, looks := &liar{}, 0
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Around: l.around,
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT GENERATION") {
				looks++
			}
		}})
	l.lie("UPDATE WORKER_LEASE", 3, false, context.Canceled)
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	if c := assign(t, a, 1)[0]; c.Worker() != 1 || looks != 3 {
		t.Errorf("worker %d after %d looks at the row, want worker 1 after 3", c.Worker(), looks)
	}
}

// TestSlowUpdate: a server that takes longer for an UPDATE than a lock is waited for at first is
// not mistaken for a lock for good.
func TestSlowUpdate(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	release(t, assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0], time.Time{})
	slow := func(query string, run func() error) error {
		if strings.HasPrefix(query, "UPDATE WORKER_LEASE") {
			time.Sleep(1200 * time.Millisecond) // after a second the statement is not sent any more
		}
		return run()
	}
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Around: slow})
	c, err := workernode.Leased(db, nil).Assign(within(t, 9*time.Second), 1)
	if err != nil || c.Worker() != 1 {
		t.Errorf("Assign = %v, %v, want worker 1", c, err)
	}
}

// TestNamespaceFirstMet: a process that meets another one at a namespace's first claim takes one of
// the lowest worker ids at random, so that they do not meet again.
func TestNamespaceFirstMet(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	lowest := true // each time
	for i := range 5 {
		namespace := fmt.Sprint("orders", i)
		s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
			assign(t, in(t, srv.DSN(name), namespace), 1)
			return run()
		})
		c := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace}), 1)[0]
		if c.Worker() < 1 || c.Worker() > 64 {
			t.Errorf("worker = %d, want one of 1 to 64", c.Worker())
		}
		lowest = lowest && c.Worker() == 1
	}
	if lowest {
		t.Error("the lowest worker id is taken each time, want a random one")
	}
}

// TestNamespaceLostAll: other processes are faster with each worker id that is left.
func TestNamespaceLostAll(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	other := pool(t, connect(t, srv.DSN(name)))
	seen := func(query string, args []driver.NamedValue) {
		if strings.HasPrefix(query, "INSERT INTO WORKER_LEASE") {
			if _, err := other.Exec(leaseOf("orders", args[2].Value)); err != nil {
				t.Error(err)
			}
		}
	}
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Seen: seen})
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	if c, err := a.Assign(t.Context(), 2); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Assign = %v, %v, want ErrWorkersExhausted", c, err)
	}
}

// TestNewKeyTakenMeanwhile: another process takes the last key of WORKER_NODE while an Assign is
// about to take one.
func TestNewKeyTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprint("sent ", sent), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			s, db := newAmbush(t, srv.DSN(name))
			a := workernode.Leased(db, nil)
			assign(t, a, 1)
			s.set("INSERT INTO WORKER_NODE", 0, func(run func() error) error {
				assign(t, workernode.Disposable(connect(t, srv.DSN(name)), nil), 1)
				if sent {
					return run()
				}
				return context.Canceled // and the next attempt looks whether there is room
			})
			_, err := a.Assign(t.Context(), 2)
			if !errors.Is(err, assigner.ErrWorkersExhausted) {
				t.Errorf("Assign = %v, want ErrWorkersExhausted", err)
			}
			want := "2"
			if sent {
				want = "3"
				wantError(t, err, "the new worker id is 3, the highest is 2")
			}
			if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != want {
				t.Errorf("%s keys are used, want %s", got, want)
			}
			// A key that was taken and is too high is not lost for a layout with more worker ids.
			if c := assign(t, a, 1)[0]; c.Worker() != 3 {
				t.Errorf("worker = %d, want 3", c.Worker())
			}
		})
	}
}
