package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// backup copies both tables and returns what puts the copies in their place, in one step while
// claims are at work.
func backup(t *testing.T, srv *dbtest.Server, name string) (restore func()) {
	t.Helper()
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, name, fmt.Sprintf("CREATE TABLE COPY_OF_%[1]s LIKE %[1]s; INSERT INTO "+
			"COPY_OF_%[1]s SELECT * FROM %[1]s", table))
	}
	return func() {
		t.Helper()
		srv.Query(t, name, "RENAME TABLE WORKER_NODE TO LOST_NODE, COPY_OF_WORKER_NODE TO WORKER_NODE, "+
			"WORKER_LEASE TO LOST_LEASE, COPY_OF_WORKER_LEASE TO WORKER_LEASE")
	}
}

// town is a database with an owner of worker 1, under which a backup is restored. Each process has
// an Assigner and a pool of its own.
type town struct {
	srv  *dbtest.Server
	name string
	// With a clock of the database's that is off by so much.
	process func(*workernode.LeasedOptions, time.Duration) assigner.Assigner
	owner   assigner.Assigner
	claim   assigner.Claim // the owner's
	others  map[string]assigner.Claim
}

// ownerWindow is longer than the others', so that a claim that is faster than the owner's next
// Extend leaves an earlier end.
const ownerWindow = 2 * time.Hour

func newTown(t *testing.T) *town {
	t.Helper()
	srv, name := maria(t)
	w := &town{srv: srv, name: name, others: map[string]assigner.Claim{}}
	w.process = func(o *workernode.LeasedOptions, off time.Duration) assigner.Assigner {
		clock := &stepClock{dsn: srv.DSN(name)}
		clock.step(off)
		local := func() time.Time { return time.Now().Add(off) }
		return workernode.At(workernode.Leased(clock.connect(t), o), local)
	}
	w.owner = w.process(&workernode.LeasedOptions{Window: ownerWindow, Owner: "the owner"}, 0)
	return w
}

// TestRestored: whatever state the table goes back to under an owner at work, the owner stops at
// its window's end, says what happened, and leaves a row behind in which nobody, the owner of
// before included, finds a way into that window. What it claims next begins beyond what others may
// have had, except where the documented statements were run.
func TestRestored(t *testing.T) {
	t.Parallel()
	claim := func(t *testing.T, w *town) { w.claim = assign(t, w.owner, 1)[0] }
	givenBack := func(t *testing.T, w *town) {
		release(t, assign(t, w.process(nil, 0), 1)[0], time.Now().Add(-time.Minute))
	}
	other := func(t *testing.T, w *town, o *workernode.LeasedOptions) assigner.Claim {
		c := assign(t, w.process(o, 0), 1)[0]
		if c.Worker() != 1 {
			t.Fatalf("the other has worker %d, want the forgotten 1", c.Worker())
		}
		w.others["the other"] = c
		return c
	}
	for _, tt := range []struct {
		name     string
		before   func(*testing.T, *town) // the backup
		after    func(*testing.T, *town) // the backup
		since    func(*testing.T, *town) // the restore
		was      string                  // fencing token that the owner knows
		is       string                  // what the error says of the row
		repaired bool
	}{
		{name: "an extension", before: claim, after: func(t *testing.T, w *town) {
			_, until := w.claim.Window()
			if _, err := w.claim.Extend(t.Context(), until.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, was: "fencing token 2 ", is: `at fencing token 1 of owner "the owner"`, repaired: true},
		{name: "the claim", before: givenBack, after: claim, was: "fencing token 3 ",
			is: `at fencing token 2 of owner ""`, repaired: true},
		{name: "the claim, while the one before thinks that it owns", before: func(t *testing.T, w *town) {
			w.others["the one before"] = assign(t, w.process(nil, 0), 1)[0]
		}, after: func(t *testing.T, w *town) {
			w.owner = w.process(&workernode.LeasedOptions{Window: ownerWindow}, 20*time.Minute+time.Minute)
			claim(t, w)
		}, was: "fencing token 2 ", is: "at fencing token 1 of owner", repaired: true},
		{name: "the row", before: givenBack, after: claim, since: func(t *testing.T, w *town) {
			w.srv.Query(t, w.name, "DELETE FROM WORKER_LEASE WHERE WORKER_ID = 1; DELETE FROM WORKER_NODE")
		}, was: "fencing token 3 ", is: "is gone", repaired: true},
		{name: "the claim, and another made one", before: givenBack, after: claim,
			since: func(t *testing.T, w *town) { other(t, w, nil) },
			was:   "fencing token 3 ", is: "at fencing token 3 of owner", repaired: true},
		{name: "the claim, and another with a later end made one", before: givenBack, after: claim,
			since: func(t *testing.T, w *town) {
				other(t, w, &workernode.LeasedOptions{Window: 2 * ownerWindow})
			}, was: "fencing token 3 ", is: "at fencing token 3 of owner", repaired: true},
		{name: "the claim, and another made, extended and gave back one",
			before: givenBack, after: claim, since: func(t *testing.T, w *town) {
				c := other(t, w, nil)
				_, until := c.Window()
				if _, err := c.Extend(t.Context(), until.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				release(t, c, time.Now())
				delete(w.others, "the other")
			}, was: "fencing token 3 ", is: `at fencing token 5 of owner ""`, repaired: true},
		{name: "the claim, and the table was repaired", before: givenBack, after: claim,
			since: func(t *testing.T, w *town) {
				repair(t, w.srv, w.name, 10, ownerWindow+time.Hour)
			}, was: "fencing token 3 ", is: `at fencing token 3 of owner ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			if tt.before != nil {
				tt.before(t, w)
			}
			restore := backup(t, w.srv, w.name)
			tt.after(t, w)
			_, end := w.claim.Window()
			restore()
			if tt.since != nil {
				tt.since(t, w)
			}
			before := w.srv.Query(t, w.name, "SELECT GENERATION, UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1")
			var was, is int64
			fmt.Sscanf(tt.was, "fencing token %d", &was)
			fmt.Sscan(before, &is) // 0 without a row
			for range 2 {
				_, err := w.claim.Extend(t.Context(), end.Add(time.Hour))
				if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
					t.Fatalf("Extend = %v, want ErrClaimLost and ErrWentBack", err)
				}
				wantError(t, err, "the slot of worker 1 in WORKER_LEASE",
					tt.was, tt.is, "docs/operations.md", "uid workers restored", w.srv.Addr())
				if got := strings.Contains(err.Error(), "claimed from since"); got != (is > was) {
					t.Errorf("Extend = %q, want it to say that the table was claimed from since: %v", err, is > was)
				}
				if strings.Contains(err.Error(), "could not be repaired") {
					t.Errorf("Extend = %q, and the row is repaired", err)
				}
			}
			if _, until := w.claim.Window(); !until.Equal(end) {
				t.Errorf("window ends at %v after the refusal, want %v as before", until, end)
			}
			after := w.srv.Query(t, w.name, "SELECT GENERATION, UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1")
			if (before != after) != tt.repaired {
				t.Errorf("the row was %q and is %q, want it repaired: %v", before, after, tt.repaired)
			}
			if got := endOf(t, w.srv, w.name, 1); tt.repaired && got.Before(time.Now().Add(day-time.Minute)) {
				t.Errorf("the row ends at %v, want a day from now, beyond all windows", got)
			}
			if tt.repaired && w.srv.Query(t, w.name, fmt.Sprintf("SELECT NONCE > 0 AND GENERATION = %d "+
				"FROM WORKER_LEASE WHERE WORKER_ID = 1", max(was, is)+1)) != "1" {
				t.Errorf("the row is %q, want the fencing token %d and a nonce", after, max(was, is)+1)
			}
			for who, c := range w.others {
				_, until := c.Window()
				if got, err := c.Extend(t.Context(), until.Add(3*time.Hour)); tt.repaired &&
					!errors.Is(err, assigner.ErrClaimLost) {
					t.Errorf("Extend of %s = %v, %v, want ErrClaimLost: it would reach into the window", who, got, err)
				}
			}
			// The owner's next claim.
			next := assign(t, w.owner, 1)[0]
			from, until := next.Window()
			if repaired := tt.name == "the claim, and the table was "+
				"repaired"; repaired != from.IsZero() || until.Before(from) {
				t.Errorf("the next claim is worker %d, [%v, %v), want it from the beginning of "+
					"time: %v", next.Worker(), from, until, repaired)
			} else if !repaired && (from.Before(end) || from.Before(time.Now().Add(day-time.Minute))) {
				t.Errorf("the next claim begins at %v, want a day from now, and %v or later", from, end)
			}
			if next.Worker() == 1 {
				t.Error("the next claim is on the same worker id, whose window has not passed")
			}
			// A claim after the window has passed.
			heir := assign(t, w.process(nil, time.Until(endOf(t, w.srv, w.name, 1))+2*time.Second), 1)[0]
			if from, _ := heir.Window(); heir.Worker() == 1 && from.Before(end) {
				t.Errorf("the heir's window begins at %v, want %v or later", from, end)
			} else if owner := w.srv.Query(t, w.name, "SELECT OWNER FROM WORKER_LEASE "+
				"WHERE WORKER_ID = 1"); tt.repaired && heir.Worker() != 1 && owner != "" {
				t.Errorf("the row has the owner %q, want none", owner)
			}
			release(t, w.claim, end)
		})
	}
}

// endOf returns the end in a worker id's row, and the zero time without a row.
func endOf(t *testing.T, srv *dbtest.Server, name string, worker int64) time.Time {
	t.Helper()
	var until int64
	if n, _ := fmt.Sscan(srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE "+
		"WHERE WORKER_ID = %d", worker)), &until); n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(until)
}

// repair runs the statements of sql/README.md, which are those of "uid workers restored", with the
// operator's numbers.
func repair(t *testing.T, srv *dbtest.Server, name string, highest int64, reach time.Duration) {
	t.Helper()
	page, err := os.ReadFile("../../sql/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\nOn MySQL and MariaDB:\n\n```sql\n")
	statements, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page has no statements")
	}
	srv.Query(t, name, strings.NewReplacer("5000", fmt.Sprint(highest),
		"1500000", fmt.Sprint(reach.Milliseconds())).Replace(statements))
}

// forgetful returns a town whose owner has worker id 1, and what takes the table back to before: to
// a row that says that the worker id is free, or to none.
func forgetful(t *testing.T, row bool) (w *town, restore func()) {
	t.Helper()
	w = newTown(t)
	if row {
		release(t, assign(t, w.process(nil, 0), 1)[0], time.Now().Add(-time.Hour))
	}
	if !row {
		release(t, assign(t, w.process(nil, 0), 1)[0], time.Now())
		w.srv.Query(t, w.name, "DELETE FROM WORKER_LEASE WHERE WORKER_ID = 1; DELETE FROM WORKER_NODE; "+
			"ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1")
	}
	restore = backup(t, w.srv, w.name)
	w.claim = assign(t, w.owner, 1)[0]
	return w, restore
}

// TestRestoredRelease: an owner that closes on a table that went back leaves the end of what it
// stamped, and nobody begins before it.
func TestRestoredRelease(t *testing.T) {
	t.Parallel()
	for _, row := range []bool{true, false} {
		t.Run(fmt.Sprint("row ", row), func(t *testing.T) {
			t.Parallel()
			w, restore := forgetful(t, row)
			restore()
			used := time.Now().Add(time.Minute).Truncate(time.Millisecond)
			for range 2 {
				release(t, w.claim, used)
			}
			heir := assign(t, w.process(nil, 2*time.Minute), 1)[0]
			if from, _ := heir.Window(); heir.Worker() == 1 && from.Before(used) {
				t.Errorf("the heir is worker %d from %v, want %v or later", heir.Worker(), from, used)
			}
			if got := endOf(t, w.srv, w.name, 1); got.Before(time.Now().Add(day - time.Minute)) {
				t.Errorf("the row ends at %v, want a day from now", got)
			}
		})
	}
}

// TestRestoredTakeover: a process that has a worker id does not take it a second time because the
// table has forgotten, and says so.
func TestRestoredTakeover(t *testing.T) {
	t.Parallel()
	for _, row := range []bool{true, false} {
		t.Run(fmt.Sprint("row ", row), func(t *testing.T) {
			t.Parallel()
			w, restore := forgetful(t, row)
			_, end := w.claim.Window()
			restore()
			c, err := w.owner.Assign(t.Context(), maxWorker)
			if !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("Assign = %v, %v, want ErrWentBack", c, err)
			}
			wantError(t, err, "worker 1", "until "+end.UTC().String(), "docs/operations.md")
			next := assign(t, w.owner, 1)[0]
			if from, _ := next.Window(); next.Worker() == 1 || from.Before(end) {
				t.Errorf("the next Assign = worker %d from %v, want another worker id from %v "+
					"or later", next.Worker(), from, end)
			}
			got := endOf(t, w.srv, w.name, 1)
			if row && got.Before(time.Now().Add(day-time.Minute)) || !row && !got.IsZero() {
				t.Errorf("the row of worker 1 ends at %v, want a day from now, and none where there was none", got)
			}
		})
	}
}

// clocked makes db a pool of one session, whose clock of the database's stands at a time that at
// sets.
func clocked(t *testing.T, db *gorm.DB) (a assigner.Assigner, at func(time.Time)) {
	t.Helper()
	pool(t, db).SetMaxOpenConns(1)
	pool(t, db).SetConnMaxLifetime(0)
	pool(t, db).SetConnMaxIdleTime(0)
	var local time.Time
	a = workernode.At(workernode.Leased(db, nil), func() time.Time { return local })
	return a, func(now time.Time) {
		t.Helper()
		local = now
		if err := db.Exec("SET timestamp = ?", now.Unix()).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoredAccepted: a row that went back and has an end that is late enough is told about once,
// and assigned when that has passed.
func TestRestoredAccepted(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"extend", "assign"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			accepted(t, op)
		})
	}
}

func accepted(t *testing.T, op string) {
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	a, at := clocked(t, db)
	begin := time.Now()
	at(begin)
	release(t, assign(t, a, 1)[0], begin.Add(-time.Minute))
	restore := backup(t, srv, name)
	c := assign(t, a, 1)[0]
	_, end := c.Window()
	restore()
	repair(t, srv, name, 1, 20*time.Minute+time.Hour)
	late := begin.Add(20*time.Minute + 2*time.Hour)
	var err error
	if op == "extend" {
		_, err = c.Extend(t.Context(), end.Add(time.Hour))
		release(t, c, end)
		at(late)
	} else {
		at(late)
		_, err = a.Assign(t.Context(), maxWorker)
	}
	if !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("%s = %v, want ErrWentBack", op, err)
	}
	if c, err := a.Assign(t.Context(), maxWorker); err != nil || c.Worker() != 1 {
		t.Errorf("Assign when the repaired row's end has passed = %v, %v, want worker 1", c, err)
	}
}

// TestRestoredNot: what a claim did without an answer, before the process gave it up, is not taken
// for a table that went back.
func TestRestoredNot(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"extend", "release", "extend, then release"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			l, db := newLiar(t, srv.DSN(name))
			a, at := clocked(t, db)
			begin := time.Now()
			at(begin)
			c := assign(t, a, 1)[0]
			_, end := c.Window()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			silence := func() { l.lie("UPDATE WORKER_LEASE", 1, true, context.Canceled) }
			if op == "extend, then release" {
				ctx, cancel := context.WithCancel(t.Context())
				silence()
				l.after = cancel
				if _, err := c.Extend(ctx, end.Add(time.Hour)); err == nil {
					t.Error("Extend without an answer succeeded")
				}
			}
			silence()
			l.after = cancel
			if op == "extend" {
				if _, err := c.Extend(ctx, end.Add(time.Hour)); err == nil {
					t.Error("Extend without an answer succeeded")
				}
			} else if err := c.Release(ctx, begin.Add(time.Minute)); err == nil {
				t.Error("Release without an answer succeeded")
			}
			at(end.Add(2 * time.Hour))
			if next, err := a.Assign(t.Context(), maxWorker); err != nil || next.Worker() != 1 {
				t.Errorf("Assign = %v, %v, want worker 1, which is free", next, err)
			}
		})
	}
}
