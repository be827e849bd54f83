package workernode_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// refusing is a server that answers every statement with an error.
type refusing struct {
	script
	err error
}

func (r refusing) Connect(context.Context) (driver.Conn, error) { return r, nil }

func (r refusing) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, r.err
}

func (r refusing) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, r.err
}

// errLocked passes, errDenied does not.
var (
	errLocked = &mysqldriver.MySQLError{Number: 1205, Message: "Lock wait timeout exceeded"}
	errDenied = &mysqldriver.MySQLError{Number: 1142, Message: "command denied"}
)

// newFailing returns a pool some of whose statements are answered with err instead of being made:
// as many of those that begin with a text as fails has for the text.
func newFailing(t *testing.T, dsn string, err error) (fails map[string]int, db *gorm.DB) {
	t.Helper()
	fails = map[string]int{}
	return fails, intercept(t, &dbtest.Interceptor{
		Connectors: append(connectors(t, dsn), refusing{err: err}),
		Pick: func(query string) int {
			for text, n := range fails {
				if n > 0 && strings.HasPrefix(query, text) {
					fails[text]--
					return 1
				}
			}
			return 0
		}})
}

// TestNewKeyKept: whichever statement fails once an Assign has a new key of WORKER_NODE, the next
// try goes on with that key.
func TestNewKeyKept(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	fails, db := newFailing(t, srv.DSN(name), errLocked)
	assign(t, workernode.Leased(db, nil), 1)
	fails["INSERT INTO WORKER_LEASE"] = 1
	fails["SELECT COUNT(*) FROM WORKER_NODE"] = 1
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	if c.Worker() != 2 {
		t.Errorf("worker = %d, want 2, the key of the first try", c.Worker())
	}
	if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Extend: %v", err)
	}
}

// TestNewKeyUsedUnseen: a new key of WORKER_NODE that has a row already, which a replica that lags
// does not show, is left alone.
func TestNewKeyUsedUnseen(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	lagging := srv.CreateDB(t)
	srv.Query(t, lagging, "CREATE TABLE WORKER_LEASE LIKE "+name+".WORKER_LEASE")
	srv.Query(t, name, leaseOf(workertable.DefaultNamespace, 1))
	srv.Query(t, name, strings.Replace(leaseOf(workertable.DefaultNamespace, -1), "'other'", "''", 1))
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name), srv.DSN(lagging)),
		Pick: func(query string) int {
			if strings.HasPrefix(query, "SELECT GENERATION") {
				return 1
			}
			return 0
		}})
	if c := assign(t, workernode.Leased(db, nil), 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2: 1 is another's", c.Worker())
	}
}

// TestNewRowOtherLayout: an Assign makes no row in a namespace that has got another layout since the
// Assign began.
func TestNewRowOtherLayout(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
				Seen: func(query string, _ []driver.NamedValue) {
					if strings.HasPrefix(query, "SELECT MAX(ID)") || strings.HasPrefix(query, "SELECT WORKER_ID FROM") {
						srv.Query(t, name, "UPDATE WORKER_LEASE SET LAYOUT = 'other' WHERE WORKER_ID = -1")
					}
				}})
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace})
			c, err := a.BindLayout(layoutA).Assign(t.Context(), maxWorker)
			if !errors.Is(err, assigner.ErrLayoutMismatch) {
				t.Errorf("Assign = %v, %v, want ErrLayoutMismatch", c, err)
			}
			if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID >= 0"); got != "0" {
				t.Errorf("%s rows are made, want 0", got)
			}
		})
	}
}

// TestNamespaceLostOften: a process that others are faster than tries worker ids from a range that
// doubles with each loss, up to four times as many as the last check found.
func TestNamespaceLostOften(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	other := pool(t, connect(t, srv.DSN(name)))
	const losses = 24 // of three looks
	var tried []int64
	seen := func(query string, args []driver.NamedValue) {
		if !strings.HasPrefix(query, "INSERT INTO WORKER_LEASE") || len(tried) == losses {
			return
		}
		worker := args[2].Value.(int64)
		tried = append(tried, worker)
		if _, err := other.Exec(leaseOf("orders", worker)); err != nil {
			t.Error(err)
		}
	}
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)), Seen: seen})
	assign(t, workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}), 1)
	// The checks find 256, about 1000 and about 4000.
	if highest := slices.Max(tried); len(tried) != losses || highest < 512 || highest >= 4096 {
		t.Errorf("tried %v, want %d, the highest of them from 512 to 4095", tried, losses)
	}
}
