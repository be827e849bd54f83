package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestLeasedUnknownOutcome: an answer that is lost is found out by reading back. Each statement and
// its COMMIT are broken off in each way; the worker id is neither lost nor owned twice, and no new
// one is used up.
func TestLeasedUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"autocommit=1", "autocommit=0"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			unknownOutcomes(t, session)
		})
	}
}

func unknownOutcomes(t *testing.T, session string) {
	faults := map[string]dbtest.Fault{"before request": dbtest.CutBeforeRequest,
		"after request": dbtest.CutAfterRequest, "before reply": dbtest.CutBeforeReply}
	hits := map[string]func(string) func([]byte) bool{"the statement": statement, "its commit": commitOf}
	for name, fault := range faults {
		for at, match := range hits {
			for _, op := range []string{
				"header", "first claim", "new worker id", "later claim", "extend", "release",
			} {
				t.Run(op+"/"+at+"/"+name, func(t *testing.T) {
					t.Parallel()
					srv, name := maria(t)
					proxy := dbtest.NewProxy(t, srv.Addr())
					// With interpolation a statement is one request, so that the fault hits the statement and not
					// its preparation.
					dsn := srv.DSNVia(proxy.Addr(), name) + "&interpolateParams=true&" + session
					a := workernode.Leased(connect(t, dsn), nil)
					direct := workernode.Leased(connect(t, srv.DSN(name)), nil)
					ctx := within(t, 30*time.Second)
					hit := func(text string) { proxy.SetOnce(fault, match(text)) }
					var c assigner.Claim
					var err error
					switch op {
					case "header":
						hit("INSERT INTO WORKER_LEASE")
						c, err = a.Assign(ctx, maxWorker)
					case "first claim":
						release(t, assign(t, direct, 2)[1], time.Time{})
						hold := assign(t, direct, 1)[0]
						hit("INSERT INTO WORKER_LEASE")
						if c, err = a.Assign(ctx, maxWorker); err == nil && c.Worker() != 3 {
							t.Errorf("worker = %d, want 3", c.Worker())
						}
						release(t, hold, time.Time{})
					case "new worker id":
						o := &workernode.LeasedOptions{Namespace: "orders"}
						assign(t, workernode.Leased(connect(t, srv.DSN(name)), o), 1)
						hit("INSERT INTO WORKER_LEASE")
						// An INSERT whose answer was cut off may be carried out late, as below.
						c, err = workernode.Leased(connect(t, dsn), o).Assign(ctx, maxWorker)
						if err == nil && c.Worker() != 1 && fault != dbtest.CutAfterRequest {
							t.Errorf("worker = %d, want 1", c.Worker())
						}
					case "later claim":
						used := time.Now().Add(-time.Second).Truncate(time.Second)
						release(t, assign(t, direct, 1)[0], used)
						hit("UPDATE WORKER_LEASE")
						c, err = a.Assign(ctx, maxWorker)
						if err == nil {
							// A request whose answer was cut off may be carried out after the row was read back: the
							// worker id then rests.
							if c.Worker() != 1 && fault != dbtest.CutAfterRequest {
								t.Errorf("worker = %d, want 1, the free one", c.Worker())
							}
							if from, _ := c.Window(); c.Worker() == 1 && !from.Equal(used) {
								t.Errorf("window begins at %v, want %v", from, used)
							}
						}
					case "extend":
						c = assign(t, a, 1)[0]
						_, before := c.Window()
						hit("UPDATE WORKER_LEASE")
						var until time.Time
						if until, err = c.Extend(ctx, before.Add(time.Hour)); err == nil &&
							until.Before(before.Add(time.Hour)) {
							t.Errorf("Extend = %v, want %v or later", until, before.Add(time.Hour))
						}
					case "release":
						c = assign(t, a, 1)[0]
						hit("UPDATE WORKER_LEASE")
						err = c.Release(ctx, time.Time{})
					}
					if err != nil {
						t.Fatal(err)
					}
					if proxy.Hits() != 1 {
						t.Fatalf("the fault was done %d times, want 1", proxy.Hits())
					}
					if op == "release" {
						if next := assign(t, direct, 1)[0]; next.Worker() != c.Worker() {
							t.Errorf("worker after the release = %d, want %d again", next.Worker(), c.Worker())
						}
						return
					}
					// What the claim says and what the row says are the same.
					_, until := c.Window()
					row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE "+
						"WHERE WORKER_ID = %d", c.Worker()))
					if want := fmt.Sprint(until.UnixMilli()); row != want {
						t.Errorf("UNTIL_MS = %s, want %s, the window's end", row, want)
					}
					if _, err := c.Extend(ctx, until.Add(time.Hour)); err != nil {
						t.Errorf("Extend after the fault: %v", err)
					}
				})
			}
		}
	}
}

// TestLeasedGhost: a change that was given up for lost and arrives late, after the row has moved
// on, does nothing.
func TestLeasedGhost(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	c := assign(t, workernode.Leased(connect(t, srv.DSNVia(proxy.Addr(), name)+"&interpolateParams=true"), nil), 1)[0]
	_, until := c.Window()
	// The extension disappears into a black hole and is let out after the release.
	proxy.SetMatching(dbtest.BlackHole, statement("UPDATE WORKER_LEASE"))
	if _, err := c.Extend(within(t, 200*time.Millisecond), until.Add(240*time.Hour)); err == nil {
		t.Fatal("Extend into a black hole succeeded")
	}
	if _, after := c.Window(); !after.Equal(until) {
		t.Errorf("after an Extend that failed the window ends at %v, want %v", after, until)
	}
	proxy.Set(dbtest.None)
	if err := c.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != "0" {
		t.Errorf("UNTIL_MS = %s after everything was given back, want 0", got)
	}
}

// TestLeasedTampering: a claim whose row was changed, set back or deleted by hand is lost.
func TestLeasedTampering(t *testing.T) {
	t.Parallel()
	const unanswered = "UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1 WHERE WORKER_ID = 1"
	for _, change := range []string{
		unanswered, // after a change whose answer was lost
		"DELETE FROM WORKER_LEASE WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET UNTIL_MS = 0 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 0 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 9223372036854775807, UNTIL_MS = -1 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET OWNER = '' WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 2 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET UNTIL_MS = UNTIL_MS + 1 WHERE WORKER_ID = 1",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			l, db := newLiar(t, srv.DSN(name))
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			_, until := c.Window()
			if change == unanswered {
				ctx, cancel := context.WithCancel(t.Context())
				l.after = cancel
				l.lie("UPDATE WORKER_LEASE", 1, true, context.Canceled)
				if _, err := c.Extend(ctx, until.Add(time.Hour)); err == nil {
					t.Fatal("Extend without an answer succeeded")
				}
			}
			srv.Query(t, name, change)
			if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend = %v, want ErrClaimLost", err)
			}
			if err := c.Release(t.Context(), until); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
}

// TestLeasedLostForGood: a claim that was lost stays lost, also when its row comes back as the
// claim knew it, as from a backup.
func TestLeasedLostForGood(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0]
	_, until := c.Window()
	restore := backup(t, srv, name)
	srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1, NONCE = 7, OWNER = "+
		"'another' WHERE WORKER_ID = 1")
	for range 2 {
		if _, err := c.Extend(t.Context(),
			until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) ||
			errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrClaimLost", err)
		}
		if restore != nil {
			restore()
			restore = nil
		}
	}
}

// TestLockedTable: a table that another session holds locked is waited for, and the wait ends with the
// ctx.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	locker, err := connect(t, srv.DSN(name)).DB()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := locker.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES WORKER_NODE READ, WORKER_LEASE READ"); err != nil {
		t.Fatal(err)
	}
	for kind, a := range assigners(connect(t, srv.DSN(name))) {
		_, err := a.Assign(within(t, 200*time.Millisecond), maxWorker)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Assign on a locked table = %v, want the ctx's error", kind, err)
		}
		wantError(t, err, srv.Addr())
	}
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	for kind, a := range assigners(connect(t, srv.DSN(name))) {
		if _, err := a.Assign(within(t, 20*time.Second), maxWorker); err != nil {
			t.Errorf("%s: Assign on an unlocked table: %v", kind, err)
		}
	}
}

// TestNonsenseRows: whatever stands in WORKER_LEASE, a claim is in range, its window is not empty,
// and it works.
func TestNonsenseRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const big = "9223372036854775807"
	rows := []string{
		"-1, 5, 5, '', 5, ''", "-7, 0, 0, '', 0, ''", "0, -1, -1, '', -1, ''", "1, -9, 0, 'x', -" + big + ", ''",
		"2, 0, 0, '', " + big + ", ''", "3, 0, 0, '', 0, 'other layout'", big + ", 0, 0, '', 0, ''",
		"99, 1, 1, '', 1, ''",
	}
	for _, r := range rows {
		srv.Query(t, name, "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, "+
			"OWNER, UNTIL_MS, LAYOUT) VALUES ('default', "+r+")")
	}
	seen := map[int64]bool{}
	for _, c := range assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 6) {
		from, until := c.Window()
		if w := c.Worker(); w < 0 || w > maxWorker || w == 2 || seen[w] || !from.Before(until) {
			t.Errorf("claim = worker %d, [%v, %v), want a worker id of its own, free, and a "+
				"window that is not empty", w, from, until)
		}
		seen[c.Worker()] = true
		if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
			t.Errorf("Extend of worker %d: %v", c.Worker(), err)
		}
		release(t, c, until)
	}
}

// TestNarrowCharset: a connection whose character set has no room for the owner's name costs the
// name and not the claim.
func TestNarrowCharset(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name)+"&charset=utf8mb3&sql_mode=''")
	for range 2 {
		c := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Owner: "host 🐋"}), 1)[0]
		for range 2 {
			_, until := c.Window()
			if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
				t.Errorf("Extend: %v", err)
			}
		}
		release(t, c, time.Time{})
	}
}
