package workerlist_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// TestListRetried: a listing that was read and whose end was lost is made again, and shows and
// counts each row once, those that cannot be read as well.
func TestListRetried(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"autocommit=1", "autocommit=0"} {
		for name, fault := range map[string]dbtest.Fault{"request": dbtest.CutBeforeRequest,
			"reply": dbtest.CutBeforeReply} {
			t.Run(session+" "+name, func(t *testing.T) {
				t.Parallel()
				listRetried(t, session, fault)
			})
		}
	}
}

func listRetried(t *testing.T, session string, fault dbtest.Fault) {
	t.Helper()
	srv, name := maria(t)
	assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 3)
	for _, s := range []string{
		"ALTER TABLE WORKER_LEASE MODIFY NONCE VARCHAR(20) NOT NULL, MODIFY GENERATION VARCHAR(20) NOT NULL",
		"ALTER TABLE WORKER_NODE MODIFY TYPE VARCHAR(20)",
		"UPDATE WORKER_LEASE SET UNTIL_MS = 1000 WHERE WORKER_ID >= 0",
		"UPDATE WORKER_LEASE SET GENERATION = 'some' WHERE WORKER_ID = 2",
		"UPDATE WORKER_NODE SET TYPE = NULL WHERE ID = 2",
	} {
		srv.Query(t, name, s)
	}
	proxy := dbtest.NewProxy(t, srv.Addr())
	db := connect(t, srv.DSNVia(proxy.Addr(), name)+"&"+session)
	check := func(what string, n int, err error) {
		t.Helper()
		var bad *workerlist.UnreadableError
		if n != 2 || !errors.As(err, &bad) || len(bad.Rows) != 1 || bad.Rows[0].Worker != "2" {
			t.Errorf("%s = %d rows, %v, want 2 and an UnreadableError of one", what, n, err)
		}
	}
	hits := proxy.Hits()
	lose := func(text string) {
		t.Helper()
		if proxy.Hits() != hits {
			t.Errorf("the fault was done %d times, want %d", proxy.Hits(), hits)
		}
		proxy.SetOnce(fault, commitOf(text))
		hits++
	}
	lose("FROM WORKER_NODE")
	nodes, err := workerlist.Nodes(t.Context(), db, 10)
	check("Nodes", len(nodes), err)
	lose("FROM WORKER_LEASE")
	leases, err := workerlist.Leases(t.Context(), db)
	check("Leases", len(leases), err)
	lose("FROM WORKER_LEASE")
	reaped, err := workerlist.Reap(t.Context(), db, workertable.DefaultNamespace)
	check("Reap", reaped, err)
	if proxy.Hits() != hits {
		t.Errorf("the fault was done %d times, want %d", proxy.Hits(), hits)
	}
	// An error of the database comes without the rows that were read.
	proxy.SetMatching(dbtest.BlackHole, commitOf("FROM WORKER_NODE"))
	nodes, err = workerlist.Nodes(within(t, 200*time.Millisecond), db, 10)
	if !errors.Is(err, context.DeadlineExceeded) || nodes != nil {
		t.Errorf("Nodes whose end did not arrive = %+v, %v, want the ctx's error alone", nodes, err)
	}
	proxy.SetMatching(dbtest.BlackHole, commitOf("FROM WORKER_LEASE"))
	leases, err = workerlist.Leases(within(t, 200*time.Millisecond), db)
	if !errors.Is(err, context.DeadlineExceeded) || leases != nil {
		t.Errorf("Leases whose end did not arrive = %+v, %v, want the ctx's error alone", leases, err)
	}
}

// TestReapRow: Reap leaves the end of the window in the row, and a fencing token and a nonce that
// no change had before. An owner that extends between its look and its change keeps the worker id.
func TestReapRow(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const rows = "SELECT WORKER_ID, GENERATION, OWNER, UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID >= 0"
	claims := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 3)
	srv.Query(t, name, "UPDATE WORKER_LEASE SET NONCE = WORKER_ID WHERE WORKER_ID BETWEEN 1 AND 2")
	ends := make([]int64, len(claims))
	for i, c := range claims {
		_, until := c.Window()
		ends[i] = until.UnixMilli()
	}
	// A day later by the database's clock, the owner of worker 3 is back.
	dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Add(24*time.Hour).Unix())
	extended := false
	db := intercept(t, dsn, &dbtest.Interceptor{
		Seen: func(query string, args []driver.NamedValue) {
			if !strings.HasPrefix(query, "UPDATE WORKER_LEASE") || extended {
				return
			}
			extended = true
			until, err := claims[2].Extend(t.Context(), time.UnixMilli(ends[2]).Add(48*time.Hour))
			if err != nil {
				t.Error(err)
			}
			ends[2] = until.UnixMilli()
		}})
	n, err := workerlist.Reap(t.Context(), db, workertable.DefaultNamespace)
	if n != 2 || err != nil {
		t.Errorf("Reap = %d, %v, want 2", n, err)
	}
	owner := srv.Query(t, name, "SELECT OWNER FROM WORKER_LEASE WHERE WORKER_ID = 3")
	want := fmt.Sprintf("1\t2\t\t%d\n2\t2\t\t%d\n3\t2\t%s\t%d", ends[0], ends[1], owner, ends[2])
	if got := srv.Query(t, name, rows); got != want || owner == "" {
		t.Errorf("the rows are\n%s\nwant\n%s", got, want)
	}
	if got := srv.Query(t, name, "SELECT COUNT(DISTINCT NONCE) FROM WORKER_LEASE "+
		"WHERE WORKER_ID BETWEEN 1 AND 2 AND NONCE > 2"); got != "2" {
		t.Errorf("%s rows have a nonce of their own, want 2", got)
	}
	for _, c := range claims[:2] {
		_, err := c.Extend(t.Context(), time.UnixMilli(ends[2]))
		if !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of worker %d, which was reaped = %v, want ErrClaimLost", c.Worker(), err)
		}
	}
	if _, err := claims[2].Extend(t.Context(), time.UnixMilli(ends[2]).Add(time.Hour)); err != nil {
		t.Errorf("Extend of the owner that was back in time: %v", err)
	}
}

// TestListErrors: whichever statement fails, the call fails, and does not take what it could not
// read for nothing.
func TestListErrors(t *testing.T) {
	t.Parallel()
	looks := map[string]func(context.Context, *gorm.DB) (any, error){
		"Leases": func(ctx context.Context, db *gorm.DB) (any, error) { return workerlist.Leases(ctx, db) },
		"Nodes":  func(ctx context.Context, db *gorm.DB) (any, error) { return workerlist.Nodes(ctx, db, 1) },
		"Now":    func(ctx context.Context, db *gorm.DB) (any, error) { return workerlist.Now(ctx, db) },
		"Reap":   func(ctx context.Context, db *gorm.DB) (any, error) { return workerlist.Reap(ctx, db, "default") },
		"Restore": func(ctx context.Context, db *gorm.DB) (any, error) {
			return workerlist.Restore(ctx, db, 1, time.Hour, nil)
		},
		"Used": func(ctx context.Context, db *gorm.DB) (any, error) {
			most, _, err := workerlist.Used(ctx, db, time.Hour)
			return most, err
		},
	}
	denied := &mysqldriver.MySQLError{Number: 1142, Message: "SELECT command denied"}
	const now, keys, older, leased = "SELECT TIMESTAMPDIFF(MICROSECOND", "SELECT MAX(ID) FROM",
		"WORKER_NODE WHERE TIMESTAMPDIFF", "SELECT COUNT(*), MAX("
	one := []driver.Value{int64(1)}
	for _, tt := range []struct {
		look    string
		answers script
		want    string
	}{
		{"Leases", script{}, "listing WORKER_LEASE"},
		{"Nodes", script{}, "listing WORKER_NODE"},
		{"Now", script{}, "asking for the time"},
		{"Reap", script{now: one}, "reaping WORKER_LEASE"},
		{"Reap", script{"SELECT WORKER_ID": {int64(1), int64(1), int64(1), int64(1), "owner"}}, "reaping WORKER_LEASE"},
		{"Reap", script{now: one, "SELECT WORKER_ID": {int64(1), int64(1), int64(1), int64(1), "owner"},
			"UPDATE": {denied}}, "SELECT command denied"},
		{"Used", script{keys: one}, "reading WORKER_NODE"},
		{"Used", script{now: one}, "reading WORKER_NODE"},
		{"Used", script{now: one, keys: one, older: {denied}}, "SELECT command denied"},
		{"Restore", script{leased: {int64(0), nil}}, "reading WORKER_NODE and WORKER_LEASE"},
		{"Restore", script{keys: one, leased: {denied}}, "SELECT command denied"},
		{"Restore", script{keys: one, leased: {int64(0), nil}}, "reading WORKER_NODE and WORKER_LEASE"},
		{"Restore", script{keys: one, leased: {int64(0), nil}, "SELECT NAMESPACE, LAYOUT": {}},
			"repairing after a restore"},
	} {
		got, err := looks[tt.look](within(t, 5*time.Second), open(t, tt.answers, "mysql"))
		if wantError(t, err, tt.want); err == nil {
			t.Errorf("%s with the answers %v = %v, want an error", tt.look, tt.answers, got)
		}
	}
}

// commitOf matches the COMMIT after a request with a text in it.
func commitOf(text string) func([]byte) bool {
	var armed atomic.Bool
	return func(request []byte) bool {
		if strings.Contains(string(request), text) {
			armed.Store(true)
		}
		return strings.Contains(string(request), "COMMIT") && armed.Swap(false)
	}
}
