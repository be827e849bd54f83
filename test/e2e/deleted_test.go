package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/workertable"
	"github.com/uidring/uidring/uid"
	"gorm.io/gorm"
)

// TestDeletedRow: the row of a worker id that is in use is deleted by hand. Its worker id is not
// given out again, in no namespace, so no id is repeated.
func TestDeletedRow(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
			for _, earlier := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, of an earlier version: %v", namespace, earlier), func(t *testing.T) {
					t.Parallel()
					deletedRow(t, d, namespace, earlier)
				})
			}
		}
	})
}

func deletedRow(t *testing.T, d dialect, namespace string, earlier bool) {
	dsn := d.migrated(t)
	db := d.connect(t, dsn)
	start := func(db *gorm.DB) *uid.Default {
		g, err := uid.NewDefault(t.Context(), workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace}),
			&uid.DefaultOptions{Layout: bitsalloc.Layout{TimeBits: 34, WorkerBits: 16, SeqBits: 13}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close() }) // its row is gone
		return g
	}
	if earlier { // a process of an earlier version inserts no note, and this one has its worker id next
		if err := start(db).Close(); err != nil {
			t.Fatal(err)
		}
		execAll(t, db, "DELETE FROM WORKER_LEASE WHERE WORKER_ID < -1")
	}
	generators := []*uid.Default{start(db)}
	execAll(t, db, fmt.Sprintf("DELETE FROM WORKER_LEASE WHERE WORKER_ID = %d", generators[0].Stats().Worker))
	for range 2 {
		generators = append(generators, start(d.connect(t, dsn)))
	}
	seen, twice := map[uid.ID]int{}, 0
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		for _, g := range generators {
			id, err := g.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if seen[id]++; seen[id] > 1 {
				twice++
			}
		}
	}
	if twice > 0 {
		t.Errorf("%d of %d ids were repeated", twice, len(seen)+twice)
	}
}
