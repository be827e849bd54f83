package workernode_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// TestClockAhead: the database's clock is hours ahead. Windows begin where the last ones ended and
// not there, and a worker id whose row lies ahead is left alone while there are new ones.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes, off = 12, 6 * time.Hour
	right := workernode.Leased(connect(t, srv.DSN(name)), nil)
	claims := assign(t, right, processes)
	ended := time.Now().Add(-time.Second).Truncate(time.Millisecond)
	for i, c := range claims {
		if i < processes/2 {
			release(t, c, ended) // the others are at work
		}
	}
	dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Add(off).Unix())
	a := workernode.Leased(connect(t, dsn), nil)
	for range processes {
		c, err := a.Assign(t.Context(), processes+processes/2)
		if err != nil {
			t.Fatal(err)
		}
		if from, _ := c.Window(); from.After(ended) {
			t.Errorf("worker %d: the window begins at %v, want %v or earlier", c.Worker(), from, ended)
		}
	}
	for _, c := range claims[processes/2:] {
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Extend of an owner at work: %v", err)
		}
	}
	// Without a new worker id a row that lies ahead is better than none.
	c, err := a.Assign(t.Context(), processes+processes/2)
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := c.Window(); !from.After(time.Now().Add(ahead)) {
		t.Errorf("worker %d: the window begins at %v, want the end of the last one, ahead of here", c.Worker(), from)
	}
}

// TestClockBehind: the database's clock is half an hour behind, so that by the local clock a new
// window has passed when it is granted. The generator asks for whole windows all the same.
func TestClockBehind(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Add(-30*time.Minute).Unix())
	g, err := uid.NewCached(t.Context(), workernode.Leased(connect(t, dsn), nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Next(within(t, 20*time.Second)); err != nil {
		t.Error(err)
	}
	s := g.Stats()
	if left := time.Until(s.WindowUntil); left < 19*time.Minute || s.Claims != 1 {
		t.Errorf("the window ends in %v, with %d claims, want %v and the first claim",
			left, s.Claims, 20*time.Minute)
	}
}

// ahead is how far ahead of the local clock a row may end and be preferred to a new worker id.
const ahead = time.Minute

// lock keeps the row of a worker id locked until the test calls unlock.
func lock(t *testing.T, dsn string, worker int) (unlock func()) {
	t.Helper()
	tx, err := pool(t, connect(t, dsn)).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec("SELECT * FROM WORKER_LEASE WHERE NAMESPACE = 'default' AND WORKER_ID = ? FOR UPDATE", worker)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			t.Error(err)
		}
	}
}

// TestLockedRow: a row that another session keeps locked delays the start that meets it, and blocks none.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const rows, processes = 3, 3
	for _, c := range assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), rows) {
		release(t, c, time.Now().Add(-time.Second))
	}
	unlock := lock(t, srv.DSN(name), 2)
	defer unlock() // when nobody waits any more
	var wg sync.WaitGroup
	for range processes {
		a := workernode.Leased(connect(t, srv.DSN(name)), nil)
		wg.Go(func() {
			c, err := a.Assign(within(t, 30*time.Second), maxWorker)
			if err != nil {
				t.Error(err)
			} else if c.Worker() == 2 {
				t.Error("the locked row was claimed")
			}
		})
	}
	wg.Wait()
}

// TestLockedRowAlone: where the locked row is the only one that is left it is waited for. A change
// that was given up and made after all is found.
func TestLockedRowAlone(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	release(t, assign(t, a, 1)[0], time.Now().Add(-time.Second))
	unlock := lock(t, srv.DSN(name), 1)
	defer unlock()
	time.AfterFunc(3*time.Second, unlock)
	if c, err := a.Assign(within(t, 30*time.Second), 1); err != nil || c.Worker() != 1 {
		t.Errorf("Assign = %v, %v, want worker 1 when its lock is gone", c, err)
	}
}

// TestSpareWorker: a new key of WORKER_NODE that an Assign took before it ended is the next one's,
// unless the table has forgotten it since.
func TestSpareWorker(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	l, db := newLiar(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	broken := func(made bool) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.lie("INSERT INTO WORKER_LEASE", 1, made, context.Canceled)
		l.after = cancel
		if c, err := a.Assign(ctx, maxWorker); err == nil {
			t.Fatalf("Assign = worker %d, want an error", c.Worker())
		}
		l.after = nil
	}
	first := assign(t, a, 1)[0] // makes the namespace's row
	broken(false)
	// A layout that has no room for what is left over leaves it to others.
	release(t, first, time.Now().Add(-time.Minute))
	if c, err := a.Assign(t.Context(), 1); err != nil || c.Worker() != 1 {
		t.Errorf("Assign = %v, %v, want worker 1, which is free", c, err)
	}
	if c := assign(t, a, 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2, which was left over", c.Worker())
	}
	broken(true)
	if c := assign(t, a, 1)[0]; c.Worker() != 3 {
		t.Errorf("worker = %d, want 3, whose row the Assign before has made", c.Worker())
	}
	broken(false)
	srv.Query(t, name, "DELETE FROM WORKER_NODE WHERE ID = 4; ALTER TABLE WORKER_NODE AUTO_INCREMENT = 4")
	other := assign(t, workernode.Disposable(connect(t, srv.DSN(name)), nil), 1)[0]
	if other.Worker() != 4 {
		t.Fatalf("worker = %d, want 4", other.Worker())
	}
	if c := assign(t, a, 1)[0]; c.Worker() != 5 {
		t.Errorf("worker = %d, want 5: 4 is another's", c.Worker())
	}
}

// TestIdleConnections: assigners give their connections back within seconds, so that a fleet larger
// than the server's limit can start.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	for kind, a := range assigners(connect(t, srv.DSN(name))) {
		var claims []assigner.Claim
		claims = append(claims, assign(t, a, 1)...)
		await(t, func() bool {
			return srv.Query(t, name, "SELECT COUNT(*) FROM information_schema.PROCESSLIST "+
				"WHERE DB = '"+name+"' AND ID <> CONNECTION_ID()") == "0"
		})
		if _, err := claims[0].Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Errorf("%s: Extend on a new connection: %v", kind, err)
		}
	}
}

// TestLostRace: a claim without an answer, of which another process has made the like in the same
// millisecond, is told from that one by its nonce.
func TestLostRace(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Unix())
	other := workernode.Leased(connect(t, dsn), nil)
	release(t, assign(t, other, 1)[0], time.Now().Add(-time.Hour))
	var theirs assigner.Claim
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, dsn),
		Around: func(query string, run func() error) error {
			if theirs != nil || !strings.HasPrefix(query, "UPDATE WORKER_LEASE") {
				return run()
			}
			theirs = assign(t, other, 1)[0]
			return &driver.MySQLError{Number: 1021, Message: "Disk full"}
		}})
	ours := assign(t, workernode.Leased(db, nil), 1)[0]
	if theirs == nil || ours.Worker() == theirs.Worker() {
		t.Errorf("worker %d has two owners", ours.Worker())
	}
}
