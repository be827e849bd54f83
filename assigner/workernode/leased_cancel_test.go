package workernode_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestLeasedCancelled: a ctx that ends in the middle of any statement of Assign ends it at once,
// whether the statement is carried out later or not; a claim made then gets a worker id that nobody
// has, and a window that follows the last one.
func TestLeasedCancelled(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"COMMIT", "SELECT LAYOUT", "SELECT WORKER_ID", "UPDATE WORKER_LEASE", "SELECT MAX(ID)",
		"INSERT INTO WORKER_NODE",
		"INSERT INTO WORKER_LEASE",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			proxy := dbtest.NewProxy(t, srv.Addr())
			a := workernode.Leased(connect(t, srv.DSNVia(proxy.Addr(), name)+"&interpolateParams=true"), nil)
			direct := workernode.Leased(connect(t, srv.DSN(name)), nil)
			used := time.Now().Add(-time.Second).Truncate(time.Millisecond)
			if text == "UPDATE WORKER_LEASE" { // which takes a row that is free
				release(t, assign(t, direct, 1)[0], used)
			}
			proxy.SetMatching(dbtest.BlackHole, statement(text))
			// On a busy machine the time may be over before the statement is sent.
			for limit := 200 * time.Millisecond; limit < time.Minute && proxy.Hits() == 0; limit *= 4 {
				begin := time.Now()
				c, err := a.Assign(within(t, limit), maxWorker)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("Assign into a black hole = %v, %v, want the ctx's error", c, err)
				}
				if d := time.Since(begin); d > limit+5*time.Second {
					t.Errorf("Assign took %v with a ctx of %v", d, limit)
				}
			}
			if proxy.Hits() == 0 {
				t.Fatal("no statement was held back, so the test shows nothing")
			}
			proxy.Set(dbtest.None)
			// What was held back is too late, or its row rests for a window. Either way no more than one
			// worker id is used up by it.
			seen := map[int64]bool{}
			for _, next := range []assigner.Assigner{a, direct} {
				c := assign(t, next, 1)[0]
				from, until := c.Window()
				if w := c.Worker(); w < 1 || w > 3 || seen[w] {
					t.Errorf("worker = %d, want one of 1 to 3 that has no owner", w)
				}
				if c.Worker() == 1 && text == "UPDATE WORKER_LEASE" && !from.Equal(used) || !from.Before(until) {
					t.Errorf("window of worker %d = [%v, %v), want it after %v, where the last "+
						"owner ended", c.Worker(), from, until, used)
				}
				seen[c.Worker()] = true
			}
		})
	}
}
