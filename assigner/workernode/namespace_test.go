package workernode_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
)

// in returns an Assigner of a namespace with a pool of its own.
func in(t *testing.T, dsn, namespace string) assigner.Assigner {
	t.Helper()
	return workernode.Leased(connect(t, dsn), &workernode.LeasedOptions{Namespace: namespace})
}

// TestNamespaces: each namespace counts from 0, however similar the names, whatever WORKER_NODE has
// used up, and leaves it alone. The default goes on sharing it with Disposable.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	srv.Query(t, name, "INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES "+
		"(300000, 'h', 'p', 2, '2026-01-01')")
	for _, ns := range []string{"orders", "Orders", "örders", "orders'--", strings.Repeat("名", 64)} {
		a := in(t, srv.DSN(name), ns)
		for want := range int64(2) {
			c, err := a.Assign(t.Context(), 1<<10-1)
			if err != nil || c.Worker() != want {
				t.Errorf("namespace %q: Assign = %v, %v, want worker %d", ns, c, err, want)
			}
		}
	}
	if got := srv.Query(t, name, "SELECT COUNT(*) - COUNT(DISTINCT NONCE) FROM WORKER_LEASE WHERE "+
		"NONCE > 0"); got != "0" || srv.Query(t, name, "SELECT MIN(NONCE) > 0 FROM WORKER_LEASE "+
		"WHERE WORKER_ID >= -1") != "1" {
		t.Errorf("%s rows have the nonce of another, or one has none; want a random one in each", got)
	}
	_, err := in(t, srv.DSN(name), workertable.DefaultNamespace).Assign(t.Context(), 1<<10-1)
	wantError(t, err, "worker ids exhausted", "use a Namespace of your own")
	db := connect(t, srv.DSN(name))
	one, two := assign(t, workernode.Leased(db, nil), 1)[0], assign(t, workernode.Disposable(db, nil), 1)[0]
	if one.Worker() != 300001 || two.Worker() != 300002 {
		t.Errorf("default and Disposable have workers %d and %d, want 300001 and 300002", one.Worker(), two.Worker())
	}
}

// TestNamespaceExistingRows: rows with worker ids from WORKER_NODE stay valid, and new ones are the
// lowest that are unused.
func TestNamespaceExistingRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const orders = "orders"
	held := assign(t, in(t, srv.DSN(name), orders), 1)[0]
	insert := func(worker int64, until string) {
		srv.Query(t, name, fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, "+
			"GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT) VALUES ('orders', %d, 3, 7, 'old', %s, '')", worker, until))
	}
	const never = "9000000000000"
	insert(2, never)
	insert(300000, "1000")
	if c := assign(t, in(t, srv.DSN(name), orders), 1)[0]; c.Worker() != 300000 {
		t.Errorf("worker = %d, want 300000, which is free", c.Worker())
	}
	for _, want := range []int64{1, 3, 4} {
		if c := assign(t, in(t, srv.DSN(name), orders), 1)[0]; c.Worker() != want {
			t.Errorf("worker = %d, want %d, the lowest that is unused", c.Worker(), want)
		}
	}
	if _, err := held.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	// A hole far below the highest row is found when there is none above it.
	o := &workernode.LeasedOptions{Namespace: "full", Last: 399}
	a := workernode.Leased(connect(t, srv.DSN(name)), o)
	assign(t, a, 1)
	var rows []string
	for i := 1; i < 400; i++ {
		if i != 17 {
			rows = append(rows, fmt.Sprintf("('full', %d, 1, 7, 'x', %s, '')", i, never))
		}
	}
	srv.Query(t, name, "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, "+
		"OWNER, UNTIL_MS, LAYOUT) VALUES "+
		strings.Join(rows, ","))
	if c := assign(t, a, 1)[0]; c.Worker() != 17 {
		t.Errorf("worker = %d, want 17, the only one that is unused", c.Worker())
	}
	_, err := a.Assign(t.Context(), maxWorker)
	wantError(t, err, "worker ids exhausted", "worker ids 0 to 399 are reserved")
	if n := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); n != "0" {
		t.Errorf("rows of WORKER_NODE = %s, want 0", n)
	}
}

// TestNamespacePages: a new worker id above many rows costs a check of the highest of them.
func TestNamespacePages(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	var rows strings.Builder
	for i := range 300 {
		rows.WriteString(leaseOf("orders", i+1) + ";")
	}
	srv.Query(t, name, rows.String())
	pages := 0
	a := workernode.Leased(intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT WORKER_ID FROM") {
				pages++
			}
		}}), &workernode.LeasedOptions{Namespace: "orders"})
	if c := assign(t, a, 1)[0]; c.Worker() != 301 || pages != 2 {
		t.Errorf("worker = %d after %d pages, want 301 after one of rows and one of notes", c.Worker(), pages)
	}
}

// TestNamespaceFirstTogether: processes that are the first of a namespace together get different
// worker ids, all of them low.
func TestNamespaceFirstTogether(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 40
	workers := make([]int64, processes)
	var wg sync.WaitGroup
	for i := range workers {
		a := in(t, srv.DSN(name), "orders")
		wg.Go(func() {
			c, err := a.Assign(t.Context(), 1<<10-1)
			if err != nil {
				t.Error(err)
				return
			}
			workers[i] = c.Worker()
		})
	}
	wg.Wait()
	slices.Sort(workers)
	if len(slices.Compact(slices.Clone(workers))) != processes || workers[processes-1] >= 4*64+processes {
		t.Errorf("workers = %v, want %d different ones of the lowest", workers, processes)
	}
}

// TestNamespaceFillsTogether: processes that start together get every worker id of a narrow range,
// the last one as well.
func TestNamespaceFillsTogether(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 40
	var seen [processes]atomic.Bool
	var wg sync.WaitGroup
	for range processes {
		a := in(t, srv.DSN(name), "orders")
		wg.Go(func() {
			c, err := a.Assign(t.Context(), processes-1)
			if err != nil {
				t.Error(err)
			} else if seen[c.Worker()].Swap(true) {
				t.Errorf("worker %d has two owners", c.Worker())
			}
		})
	}
	wg.Wait()
	_, err := in(t, srv.DSN(name), "orders").Assign(t.Context(), processes-1)
	wantError(t, err, "worker ids exhausted", "worker ids 0 to 39 are reserved")
}

// TestNamespaceStatements: a start that makes a new row takes 13 statements, and one more for each
// worker id that another process takes first. After a loss it does not look at the table again.
func TestNamespaceStatements(t *testing.T) {
	t.Parallel()
	lowest := true // each time
	for losses := range 4 {
		srv, name := maria(t)
		assign(t, in(t, srv.DSN(name), "orders"), 1) // makes the header
		other := pool(t, connect(t, srv.DSN(name)))
		var statements, lost int
		seen := func(query string, args []driver.NamedValue) {
			statements++
			if !strings.HasPrefix(query, "INSERT INTO WORKER_LEASE") || lost == losses {
				return
			}
			lost++
			// The first try is the lowest that is unused, the others are at random among more.
			if worker := args[2].Value.(int64); lost == 1 && worker != 1 {
				t.Errorf("%d losses: the first try is worker %d, want 1", losses, worker)
			} else if worker != int64(lost) {
				lowest = false
			}
			if _, err := other.Exec(leaseOf("orders", args[2].Value)); err != nil {
				t.Error(err)
			}
		}
		a := workernode.Leased(intercept(t, &dbtest.Interceptor{
			Connectors: connectors(t, srv.DSN(name)), Seen: seen,
		}), &workernode.LeasedOptions{Namespace: "orders"})
		assign(t, a, 1)
		if want := 13 + losses; lost != losses || statements != want {
			t.Errorf("%d statements with %d losses, want %d with %d", statements, lost, want, losses)
		}
	}
	if lowest {
		t.Error("a process that others are faster than tries the lowest worker id each time")
	}
}

// leaseOf returns an INSERT of a row that is another process's.
func leaseOf(namespace string, worker any) string {
	return fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
		"UNTIL_MS, LAYOUT) VALUES ('%s', %v, 1, 7, 'other', 9000000000000, '')", namespace, worker)
}

// insertLocked inserts a row of another process and does not commit it until the test calls unlock,
// which rolls it back.
func insertLocked(t *testing.T, dsn, namespace string, worker int) (unlock func()) {
	t.Helper()
	tx, err := pool(t, connect(t, dsn)).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(leaseOf(namespace, worker)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			t.Error(err)
		}
	}
}

// TestNamespaceLockedRow: a worker id whose row another session has inserted and not committed
// delays the start that meets it, and blocks none.
func TestNamespaceLockedRow(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	owner := assign(t, in(t, srv.DSN(name), "orders"), 1)[0]
	defer insertLocked(t, srv.DSN(name), "orders", 1)()
	for _, session := range []string{"autocommit=1", "autocommit=0"} {
		for range 2 {
			a := in(t, srv.DSN(name)+"&"+session, "orders")
			c, err := a.Assign(within(t, 10*time.Second), maxWorker)
			if err != nil {
				t.Errorf("%s: %v", session, err)
			} else if c.Worker() == 1 {
				t.Errorf("%s: the locked worker id was claimed", session)
			}
		}
	}
	if _, err := owner.Extend(within(t, 5*time.Second), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("an owner's Extend: %v", err)
	}
}

// TestNamespaceLockedRowAlone: where the locked worker id is the only one that is left it is waited
// for. A change that was given up and made after all is found.
func TestNamespaceLockedRowAlone(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "orders"), 1)
	unlock := insertLocked(t, srv.DSN(name), "orders", 1)
	defer unlock()
	time.AfterFunc(3*time.Second, unlock)
	// The window is over by the time that the change is found.
	a := workernode.Leased(connect(t, srv.DSN(name)),
		&workernode.LeasedOptions{Namespace: "orders", Window: time.Second})
	c, err := a.Assign(within(t, 30*time.Second), 1)
	if err != nil || c.Worker() != 1 {
		t.Fatalf("Assign = %v, %v, want worker 1 when its lock is gone", c, err)
	}
	if _, until := c.Window(); srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE "+
		"NAMESPACE = 'orders' AND WORKER_ID = 1") != fmt.Sprint(until.UnixMilli()) {
		t.Errorf("the window ends at %v, and not in the table", until)
	}
}

// TestRange: claims are made from First to Last, so that databases which share a namespace never
// hand out the same worker id.
func TestRange(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	regions := []string{name, srv.CreateDB(t)}
	seen := map[int64]bool{}
	for i, region := range regions {
		db := connect(t, srv.DSN(region))
		if err := workernode.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		first := int64(512 * i)
		a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", First: first, Last: first + 2})
		claims := assign(t, a, 3)
		for _, c := range claims {
			if w := c.Worker(); w < first || w > first+2 || seen[w] {
				t.Errorf("region %d: worker %d, want one from %d to %d that nobody has", i, w, first, first+2)
			}
			seen[c.Worker()] = true
		}
		if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("region %d: Assign = %v, want ErrWorkersExhausted", i, err)
		}
		release(t, claims[1], time.Now().Add(-time.Second))
		if c := assign(t, a, 1)[0]; c.Worker() != claims[1].Worker() {
			t.Errorf("region %d: worker = %d, want %d, which is free", i, c.Worker(), claims[1].Worker())
		}
	}
	// Free rows outside of the range are others'.
	elsewhere := &workernode.LeasedOptions{Namespace: "orders", First: 100, Last: 200}
	release(t, assign(t, workernode.Leased(connect(t, srv.DSN(name)), elsewhere), 1)[0], time.Time{})
	elsewhere.First = 101
	if c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), elsewhere), 1)[0]; c.Worker() != 101 {
		t.Errorf("worker = %d, want 101", c.Worker())
	}
}

// TestNamespaceRestored: after a restore a new worker id of a namespace that counts for itself
// begins when forgotten windows have passed, also in a namespace that the backup does not know.
func TestNamespaceRestored(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	assign(t, in(t, srv.DSN(name), "known"), 1)
	restore := backup(t, srv, name)
	forgotten := map[string]assigner.Claim{}
	for _, ns := range []string{"known", "unknown"} {
		forgotten[ns] = assign(t, in(t, srv.DSN(name), ns), 1)[0]
	}
	restore()
	repair(t, srv, name, 10, 20*time.Minute+time.Minute)
	for ns, old := range forgotten {
		c := assign(t, in(t, srv.DSN(name), ns), 1)[0]
		_, end := old.Window()
		if from, until := c.Window(); c.Worker() != old.Worker() || from.Before(end) || !until.After(from) {
			t.Errorf("namespace %q: worker %d, [%v, %v), want the forgotten worker %d from %v on", ns, c.Worker(), from,
				until, old.Worker(), end)
		}
	}
	if c := assign(t, in(t, srv.DSN(name), ""), 1)[0]; c.Worker() != 11 {
		t.Errorf("worker = %d, want 11, above the highest", c.Worker())
	} else if from, _ := c.Window(); !from.IsZero() {
		t.Errorf("its window begins at %v, want the beginning of time", from)
	}
}
