package e2e

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// TestReadBackLocks: on PostgreSQL a row is read back FOR UPDATE after a lost answer. Its
// commit waits for a synchronous standby, where a plain SELECT answers with what may be lost.
func TestReadBackLocks(t *testing.T) {
	t.Parallel()
	dsn := dialects[1].migrated(t)
	connector, err := dbtest.Connector(stdlib.GetDefaultDriver(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	lost, read := false, 0
	pool := sql.OpenDB(&dbtest.Interceptor{Connectors: []driver.Connector{connector},
		Around: func(query string, run func() error) error {
			if err := run(); err != nil || lost || !strings.HasPrefix(query, "UPDATE WORKER_LEASE") {
				return err
			}
			lost = true
			return context.Canceled
		},
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SELECT GENERATION") {
				if read++; !strings.HasSuffix(query, " FOR UPDATE") {
					t.Errorf("a row is read by %q, want FOR UPDATE", query)
				}
			}
		}})
	t.Cleanup(func() { pool.Close() })
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := workernode.Leased(db, nil).Assign(t.Context(), 1<<16-1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), time.Now()); err != nil || !lost || read != 2 {
		t.Errorf("Release = %v, its answer lost: %v, %d reads of the row, want 2", err, lost, read)
	}
}
