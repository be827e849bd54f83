package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/storekind"
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

// TestDeletedPages: a move asks for deleted rows a page of 65,536 worker ids at a time. It finds all of
// them, at the ends of a page too, beside rows without a note and rows of another namespace.
func TestDeletedPages(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.migrated(t))
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		name := map[string]string{"MariaDB": "mysql", "PostgreSQL": "postgres", "SQLite": "sqlite"}[d.name]
		s, err := sqlstore.New(pool, name, &sqlstore.Options{Namespace: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		insert := func(namespace string, worker int64) {
			execAll(t, db, fmt.Sprintf(`INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER,
				UNTIL_MS, LAYOUT, CREATED, MODIFIED)
				VALUES ('%s', %d, 0, 0, '', 0, '', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)`, namespace, worker))
		}
		const page = 1 << 16
		noted := []int64{0, 1, 2, 3, 70_000, 70_001, 70_002, 200_000, 200_000 + page - 1, 200_000 + page}
		for _, worker := range noted {
			insert("orders", worker)
			insert("orders", -2-worker) // its note
			insert("others", worker)
		}
		for _, worker := range []int64{4, 69_999, 70_003} {
			insert("orders", worker)
		}
		deleted := [][]int64{nil, {1, 70_001}, noted}
		for i := range noted {
			deleted = append(deleted, noted[i:i+1])
		}
		for _, gone := range deleted {
			for _, worker := range gone {
				execAll(t, db, fmt.Sprintf(
					"DELETE FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND WORKER_ID = %d", worker))
			}
			var found []int64
			for next, calls := int64(0), 0; next > 0 || calls == 0; calls++ {
				var ids []int64
				ids, next, err = s.(storekind.Mover[lease.Entry]).Deleted(t.Context(), next)
				if err != nil || calls > len(noted) {
					t.Fatalf("Deleted = next %d, %v, after %d calls", next, err, calls)
				}
				found = append(found, ids...)
			}
			slices.Sort(found)
			if !slices.Equal(found, gone) {
				t.Errorf("Deleted finds %v, want %v", found, gone)
			}
			for _, worker := range gone {
				insert("orders", worker)
			}
		}
	})
}
