package workernode_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestLeasedWrongClocks: processes whose database tells them wildly different times, as a failover
// to a machine with another clock would, reuse worker ids too early or too late and never own the
// same instant twice.
func TestLeasedWrongClocks(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	type window struct{ from, until time.Time }
	var mu sync.Mutex
	owned := map[int64][]window{}
	var wg sync.WaitGroup
	for _, skew := range []time.Duration{0, -72 * time.Hour, 72 * time.Hour, -time.Hour, 10 * 365 * 24 * time.Hour} {
		// The server's session variable puts its clock anywhere.
		dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Add(skew).Unix())
		wg.Go(func() {
			a := workernode.At(workernode.Leased(connect(t, dsn), nil),
				func() time.Time { return time.Now().Add(skew) })
			for range 20 {
				c, err := a.Assign(t.Context(), maxWorker)
				if err != nil {
					t.Error(err)
					return
				}
				from, until := c.Window()
				if !from.Before(until) {
					t.Errorf("window = [%v, %v), want it not empty", from, until)
				}
				mu.Lock()
				owned[c.Worker()] = append(owned[c.Worker()], window{from, until})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	reused := 0
	for worker, windows := range owned {
		for i, a := range windows {
			for _, b := range windows[:i] {
				reused++
				if a.from.Before(b.until) && b.from.Before(a.until) {
					t.Errorf("worker %d was owned in [%v, %v) and in [%v, %v)",
						worker, a.from, a.until, b.from, b.until)
				}
			}
		}
	}
	if reused == 0 {
		t.Error("no worker id was assigned twice, so the test shows nothing")
	}
}

// TestLeasedManyProcesses: many claim at once on few free worker ids. Nobody fails, nobody shares,
// and no new worker id is made while there is a free one.
func TestLeasedManyProcesses(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 24
	for _, c := range assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), processes) {
		release(t, c, time.Time{})
	}
	var wg sync.WaitGroup
	workers := make([]int64, processes)
	for i := range processes {
		wg.Go(func() {
			c, err := workernode.Leased(connect(t, srv.DSN(name)), nil).Assign(t.Context(), maxWorker)
			if err != nil {
				t.Error(err)
				return
			}
			workers[i] = c.Worker()
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, w := range workers {
		if w < 1 || w > processes || seen[w] {
			t.Errorf("workers = %v, want each of 1..%d once", workers, processes)
			break
		}
		seen[w] = true
	}
}

// TestLeasedLayout: the first claim settles a namespace's layout, also among processes that are
// first together.
func TestLeasedLayout(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 8
	var wg sync.WaitGroup
	errs := make([]error, processes)
	for i := range processes {
		wg.Go(func() {
			a := workernode.Leased(connect(t, srv.DSN(name)), nil)
			_, errs[i] = a.BindLayout(fmt.Sprintf("layout-%d", i%2)).Assign(t.Context(), maxWorker)
		})
	}
	wg.Wait()
	won := map[int]int{}
	for i, err := range errs {
		switch {
		case err == nil:
			won[i%2]++
		case !errors.Is(err, assigner.ErrLayoutMismatch):
			t.Errorf("Assign = %v, want a claim or ErrLayoutMismatch", err)
		default:
			wantError(t, err, `"layout-0"`, `"layout-1"`, "namespace")
		}
	}
	if len(won) != 1 || won[0]+won[1] != processes/2 {
		t.Errorf("claims by layout = %v, want %d of one", won, processes/2)
	}
	// Another namespace may have another layout.
	for i := range 2 {
		o := &workernode.LeasedOptions{Namespace: fmt.Sprintf("other-%d", i)}
		a := workernode.Leased(connect(t, srv.DSN(name)), o)
		if _, err := a.BindLayout(fmt.Sprintf("layout-%d", i)).Assign(t.Context(), maxWorker); err != nil {
			t.Error(err)
		}
	}
}

// TestMigration: from Disposable to Leased and back on a live table, with both at work meanwhile:
// no worker id is assigned twice.
func TestMigration(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	seen := map[int64]bool{}
	take := func(stage string, a assigner.Assigner) {
		for _, c := range assign(t, a, 3) {
			if seen[c.Worker()] {
				t.Errorf("%s: worker %d is assigned already", stage, c.Worker())
			}
			seen[c.Worker()] = true
		}
	}
	take("before", workernode.Disposable(db, nil))
	for range 3 {
		take("both", workernode.Leased(db, nil))
		take("both", workernode.Disposable(db, nil))
	}
	take("leased", workernode.Leased(db, nil))
	take("back", workernode.Disposable(db, nil))
}
