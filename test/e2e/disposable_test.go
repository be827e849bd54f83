package e2e

import (
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/uid"
)

// TestDisposableBesideLeases: after rows of WORKER_NODE were deleted the server counts on from the
// rows that are left. Disposable then passes over the worker ids that have a lease in the namespace
// "default", and generators on both assigners make different ids.
func TestDisposableBesideLeases(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.migrated(t))
		seen := map[uid.ID]bool{}
		workers := map[int64]bool{}
		generate := func(a assigner.Assigner) {
			t.Helper()
			g, err := uid.NewCached(t.Context(), a, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			if w := g.Stats().Worker; workers[w] {
				t.Errorf("worker %d has two owners", w)
			}
			workers[g.Stats().Worker] = true
			ids := make([]uid.ID, 3000)
			if n, err := g.Fill(t.Context(), ids); n < len(ids) {
				t.Fatalf("Fill = %d, %v", n, err)
			}
			twice := 0
			for _, id := range ids {
				if seen[id] {
					twice++
				}
				seen[id] = true
			}
			if twice > 0 {
				t.Errorf("%d of %d ids were repeated", twice, len(ids))
			}
		}
		for _, namespace := range []string{"default", "default", "orders"} {
			generate(workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace}))
		}
		execAll(t, db, wayBack[d.name][0], wayBack[d.name][2])
		for range 2 {
			generate(workernode.Disposable(db, nil))
		}
	})
}
