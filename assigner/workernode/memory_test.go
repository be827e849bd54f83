package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestSpareWorkerOnce: of two Assigns at the same time one gets the worker id that an earlier one
// left over.
func TestSpareWorkerOnce(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	assign(t, a, 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.set("INSERT INTO WORKER_LEASE", 0, func(func() error) error {
		cancel()
		return context.Canceled
	})
	if c, err := a.Assign(ctx, maxWorker); err == nil {
		t.Fatalf("Assign = worker %d, want an error", c.Worker())
	}
	var second assigner.Claim
	s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
		second = assign(t, a, 1)[0]
		return run()
	})
	first := assign(t, a, 1)[0]
	if first.Worker() != 2 || second.Worker() != 3 {
		t.Errorf("workers = %d and %d, want 2, which was left over, and 3", first.Worker(), second.Worker())
	}
}

// TestSpareWorkerRange: a worker id that an Assign left over is the next Assign's up to the highest
// worker id of its layout, and not beyond.
func TestSpareWorkerRange(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	l, db := newLiar(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	assign(t, a, 1)
	leaveSpare(t, l, a, false)
	if c, err := a.Assign(t.Context(), 1); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Assign up to 1 = %v, %v, want ErrWorkersExhausted", c, err)
	}
	if c, err := a.Assign(t.Context(), 2); err != nil || c.Worker() != 2 {
		t.Errorf("Assign up to 2 = %v, %v, want worker 2, which was left over", c, err)
	}
}

// leaveSpare has an Assign end after it took a new key of WORKER_NODE. Its row in WORKER_LEASE may
// be made all the same.
func leaveSpare(t *testing.T, l *liar, a assigner.Assigner, made bool) {
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

// TestSpareWorkerRestored: the row that was made for a worker id which is left over is not the next
// Assign's when Restore has changed it since. Nothing is known of the time before its new end.
func TestSpareWorkerRestored(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	l, db := newLiar(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	assign(t, a, 1)
	leaveSpare(t, l, a, true)
	repair(t, srv, name, 10, time.Hour)
	if c := assign(t, a, 1)[0]; c.Worker() != 11 {
		t.Errorf("worker = %d, want 11, above the highest", c.Worker())
	}
}

// TestRestoredTwoWorkers: an Assigner that has two worker ids takes neither a second time from a
// table that has forgotten both.
func TestRestoredTwoWorkers(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := in(t, srv.DSN(name), "orders")
	assign(t, a, 2)
	srv.Query(t, name, "DELETE FROM WORKER_LEASE WHERE WORKER_ID <> -1")
	for worker := range 2 {
		_, err := a.Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Assign = %v, want ErrWentBack", err)
		}
		wantError(t, err, fmt.Sprintf("the slot of worker %d ", worker))
	}
	if c := assign(t, a, 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2", c.Worker())
	}
}

// TestForgottenWindows: where a table has forgotten a claim, the next window begins a whole Reach
// after that was found, because a claim of that moment may be forgotten as well.
func TestForgottenWindows(t *testing.T) {
	t.Parallel()
	const found = 10 * time.Minute // after the claim
	const deleted = "DELETE FROM WORKER_LEASE WHERE WORKER_ID <> -1"
	for _, tt := range []struct {
		name      string
		namespace string
		change    string
		extend    bool // else an Assign finds it
		failed    string
		begin     time.Duration // after the claim; 0: the beginning of time
		row       string        // fencing token
	}{
		{name: "an extension finds no row", change: deleted, extend: true,
			begin: found + day, row: ""},
		{name: "an extension finds no row in a namespace", namespace: "orders", change: deleted, extend: true,
			begin: found + day, row: "2"},
		{name: "an Assign finds no row and does not read the time at first", namespace: "orders",
			change: deleted, failed: "SELECT TIMESTAMPDIFF", begin: found + day, row: "2"},
		{name: "the row ends where the claim did, without an owner",
			change: "UPDATE WORKER_LEASE SET GENERATION = 0, OWNER = '' WHERE WORKER_ID = 1", extend: true,
			begin: found + day, row: "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			fails, db := newFailing(t, srv.DSN(name), errLocked)
			_, at := clocked(t, db)
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: tt.namespace})
			claimed := time.Now().Truncate(time.Second)
			at(claimed)
			c := assign(t, a, 1)[0]
			at(claimed.Add(found))
			srv.Query(t, name, tt.change)
			fails[tt.failed] = 1
			var err error
			if tt.extend {
				_, err = c.Extend(t.Context(), claimed.Add(time.Hour))
			} else {
				_, err = a.Assign(t.Context(), maxWorker)
			}
			if !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("error = %v, want ErrWentBack", err)
			}
			if got := srv.Query(t, name, fmt.Sprintf("SELECT GENERATION FROM WORKER_LEASE WHERE WORKER_ID = %d",
				c.Worker())); got != tt.row {
				t.Errorf("the row is at fencing token %s, want %s", got, tt.row)
			}
			var want time.Time
			if tt.begin > 0 {
				want = claimed.Add(tt.begin).UTC()
			}
			at(claimed.Add(found + 2*time.Second)) // a window has a second at the least
			if from, _ := assign(t, a, 1)[0].Window(); !from.Equal(want) {
				t.Errorf("the next window begins at %v, want %v", from, want)
			}
		})
	}
}
