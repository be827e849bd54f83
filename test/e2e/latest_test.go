package e2e

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestLatestWhileReleased: the row whose window ends last is given back while Latest waits for it.
// PostgreSQL then answers with that row as it has become, and not with the one that ends last now.
// An era that begins in between must not be settled on that answer.
func TestLatestWhileReleased(t *testing.T) {
	t.Parallel()
	for _, d := range dialects[:2] { // SQLite has one writer, and readers wait for none
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.migrated(t)
			db := d.connect(t, dsn)
			for _, window := range []time.Duration{time.Hour, 2 * time.Hour} {
				_, err := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", Window: window}).
					Assign(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
			}
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			store, err := sqlstore.New(pool, dialectOf(d), &sqlstore.Options{Namespace: "orders"})
			if err != nil {
				t.Fatal(err)
			}
			held := db.Begin()
			defer held.Rollback()
			err = held.Exec("UPDATE WORKER_LEASE SET OWNER = '', UNTIL_MS = 1, GENERATION = GENERATION + 1 " +
				"WHERE WORKER_ID = 1").Error
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(300 * time.Millisecond)
				held.Commit()
			})
			defer wg.Wait()
			for {
				e, err := store.(lease.Index).Latest(t.Context())
				if errors.Is(err, lease.ErrConflict) {
					continue
				}
				var row struct {
					Until int64 `json:"until_ms"`
				}
				if err = errors.Join(err, json.Unmarshal(e.Value, &row)); err != nil {
					t.Fatal(err)
				}
				if left := time.Until(time.UnixMilli(row.Until)); e.Name != "slot-0" || left < time.Minute {
					t.Errorf("Latest = %s, which ends in %v, want worker 0, in an hour", e.Name, left)
				}
				break
			}
		})
	}
}

// dialectOf returns the name by which package sqlstore knows a dialect.
func dialectOf(d dialect) string {
	return map[string]string{"MariaDB": "mysql", "PostgreSQL": "postgres", "SQLite": "sqlite"}[d.name]
}
