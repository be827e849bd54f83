package workernode_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestRestoredOther: an Assigner whose table went back takes a free row for a window that begins
// after each one that the table may have forgotten, and grows as the database's clock goes on.
func TestRestoredOther(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	claims := assign(t, a, 2)
	release(t, claims[1], time.Now().Add(-time.Minute))
	srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = 0, UNTIL_MS = 5 WHERE WORKER_ID = 1")
	_, end := claims[0].Window()
	noticed := time.Now().Truncate(time.Millisecond)
	if _, err := claims[0].Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
		t.Fatalf("Extend = %v, want ErrWentBack", err)
	}
	c := assign(t, a, 1)[0]
	from, until := c.Window()
	if c.Worker() != 2 || from.Before(end) || from.Before(noticed.Add(day)) {
		t.Errorf("worker %d from %v, want the free worker 2 from %v or later, a day after %v",
			c.Worker(), from, end, noticed)
	}
	time.Sleep(10 * time.Millisecond)
	end, err := c.Extend(t.Context(), from.Add(20*time.Minute))
	if err != nil || !end.After(until) || end.After(time.Now().Add(day+time.Second)) {
		t.Errorf("the window [%v, %v) is extended to %v, %v, want a day from now", from, until, end, err)
	}
}

// day is the default Reach.
const day = 24 * time.Hour

// owned returns the worker ids from 1 on of namespace "orders" that have an owner.
func owned(t *testing.T, srv *dbtest.Server, name string) string {
	t.Helper()
	return srv.Query(t, name, "SELECT WORKER_ID FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND "+
		"WORKER_ID > 0 AND OWNER <> ''")
}

// TestChangeLookedUp: an Assign that cannot look up whether its change was made asks again, and
// takes no second row meanwhile.
func TestChangeLookedUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		silent bool   // the change has no answer until the Assign gives it up, else an error
		look   string // how the check that fails once begins
	}{
		{"the answer is lost", false, "SELECT GENERATION"},
		{"no answer in time", true, "SELECT COUNT(*)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			assign(t, in(t, srv.DSN(name), "orders"), 1)
			insertFree(t, srv, name, 2)
			changed, looked := false, false
			through := func(ctx context.Context, query string, run func() error) error {
				switch {
				case strings.HasPrefix(query, "UPDATE WORKER_LEASE") && !changed:
					changed = true
					if err := run(); err != nil {
						t.Error(err)
					}
					if tt.silent {
						<-ctx.Done()
						return ctx.Err()
					}
					return context.Canceled
				case strings.HasPrefix(query, tt.look) && !looked:
					looked = true
					return context.Canceled
				}
				return run()
			}
			db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Through: through})
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
			c := assign(t, a, 1)[0] // patience is a second
			if got := owned(t, srv, name); !looked || got != fmt.Sprint(c.Worker()) {
				t.Errorf("workers %q have owners, want %d alone; the check failed: %v", got, c.Worker(), looked)
			}
		})
	}
}

// TestChangeMadeLate: of two changes that waited for locked rows the older one is made after all,
// and found.
func TestChangeMadeLate(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	insertFree(t, srv, name, 2)
	other := pool(t, connect(t, srv.DSN(name)))
	var first []any // the older change
	updates := 0
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, args []driver.NamedValue) {
			if strings.HasPrefix(query, "UPDATE WORKER_LEASE") && first == nil {
				for _, a := range args {
					first = append(first, a.Value)
				}
			}
		},
		Through: func(ctx context.Context, query string, run func() error) error {
			if !strings.HasPrefix(query, "UPDATE WORKER_LEASE") || updates == 2 {
				return run()
			}
			if updates++; updates == 2 {
				if _, err := other.Exec(query, first...); err != nil {
					t.Error(err)
				}
			}
			<-ctx.Done()
			return ctx.Err()
		}})
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	c := assign(t, a, 1)[0]
	if got := owned(t, srv, name); updates != 2 || got != fmt.Sprint(c.Worker()) {
		t.Errorf("workers %q have owners after %d changes, want %d alone after 2", got, updates, c.Worker())
	}
}

// TestFreeLostOften: an Assign that others are faster than leaves out more and more of the rows in
// front, so that processes which read the same rows part. A check that fails for good ends it.
func TestFreeLostOften(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	const page = 128 // rows of one check
	insertFree(t, srv, name, 2*page)
	other := pool(t, connect(t, srv.DSN(name)))
	broken := &mysqldriver.MySQLError{Number: 1064, Message: "broken"}
	never := &mysqldriver.MySQLError{Number: 1054, Message: "no check leaves out a whole page"}
	looks, skipped, lost := 0, int64(0), false
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, args []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT WORKER_ID, GENERATION") {
				looks, skipped, lost = looks+1, args[len(args)-1].Value.(int64), false
			}
		},
		Through: func(_ context.Context, query string, run func() error) error {
			switch {
			case looks >= 10: // once in 2^28 runs
				return never
			case strings.HasPrefix(query, "SELECT WORKER_ID, GENERATION") && skipped >= page:
				return broken
			case strings.HasPrefix(query, "UPDATE WORKER_LEASE") && !lost:
				lost = true
				if _, err := other.Exec("UPDATE WORKER_LEASE SET NONCE = NONCE + 1 WHERE " +
					"NAMESPACE = 'orders' AND WORKER_ID > 0"); err != nil {
					t.Error(err)
				}
			}
			return run()
		}})
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	if c, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, broken) {
		t.Errorf("Assign = %v, %v, want the error of the check", c, err)
	}
}

// TestRowAhead: a free row whose window ends a minute ahead of the local clock is claimed. One that
// ends later is worse than a new worker id, also when that is hard to come by.
func TestRowAhead(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	l := &liar{}
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Through: func(_ context.Context, query string, run func() error) error { return l.around(query, run) }})
	end := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	release(t, assign(t, workernode.Leased(db, nil), 1)[0], end)
	for _, tt := range []struct {
		ahead  time.Duration
		fails  int // looks for a new worker id
		worker int64
	}{
		{ahead + time.Millisecond, 0, 2},
		{ahead + time.Millisecond, 1, 3},
		{ahead, 0, 1},
	} {
		a := workernode.At(workernode.Leased(db, nil), func() time.Time { return end.Add(-tt.ahead) })
		l.lie("SELECT MAX(ID)", tt.fails, false, context.Canceled)
		if c := assign(t, a, 1)[0]; c.Worker() != tt.worker {
			t.Errorf("%v ahead, with %d failures: worker %d, want %d", tt.ahead, tt.fails, c.Worker(), tt.worker)
		}
	}
}
