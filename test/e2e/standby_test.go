package e2e

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
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

// TestReadBackWaits: a COMMIT whose wait for a synchronous standby was broken off shows its row to
// everyone, although no standby has it. What the library reads it back with answers only when a
// standby has it, as the read of the header does, FOR SHARE. The same statement without FOR UPDATE
// answers at once, with what a promotion loses.
func TestReadBackWaits(t *testing.T) {
	t.Parallel()
	srv := dbtest.Postgres(t)
	for range 10 {
		if readBackWaits(t, srv.DSN(srv.CreateDB(t))) {
			return
		}
	}
	t.Error("the server never read its configuration within half a second")
}

// readBackWaits is TestReadBackWaits with an empty database. It returns false if the server took so
// long to begin waiting for the standby that the UPDATE may never have been sent.
func readBackWaits(t *testing.T, dsn string) bool {
	if err := workernode.Migrate(t.Context(), dialects[1].connect(t, dsn)); err != nil {
		t.Fatal(err)
	}
	connector, err := dbtest.Connector(stdlib.GetDefaultDriver(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := dialects[1].connect(t, dsn).WithContext(ctx)
	waiting := func(query string) bool {
		var n int64
		return other.Raw("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "+
			"query LIKE ?", query).Row().Scan(&n) == nil && n > 0
	}
	standby := func(name string) {
		for _, q := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'",
			"SELECT PG_RELOAD_CONF()"} {
			if err := other.Exec(q).Error; err != nil {
				t.Error(err)
			}
		}
	}
	var mu sync.Mutex
	read, head := "", "" // how a row and the header are read; guarded by mu
	var gone sync.Once
	var took time.Duration // until commits waited for the standby; written before released
	pool := sql.OpenDB(&dbtest.Interceptor{Connectors: []driver.Connector{connector},
		Around: func(query string, run func() error) error {
			if strings.HasPrefix(query, "UPDATE WORKER_LEASE") {
				gone.Do(func() {
					begin := time.Now()
					standby("gone")
					// The server reads its configuration when it gets to it.
					write, end := context.WithCancel(ctx)
					defer end()
					go func() {
						for i := 0; write.Err() == nil; i++ {
							other.WithContext(write).Exec(fmt.Sprintf("CREATE TABLE PROBE%d (A INT)", i))
						}
					}()
					for ctx.Err() == nil && !waiting("CREATE TABLE PROBE%") {
						time.Sleep(time.Millisecond)
					}
					took = time.Since(begin)
				})
			}
			return run()
		},
		Seen: func(query string, _ []driver.NamedValue) {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(query, "SELECT GENERATION") {
				read = query
			}
			if strings.HasPrefix(query, "SELECT LAYOUT") && strings.HasSuffix(query, " FOR SHARE") {
				head = query
			}
		}})
	defer pool.Close()
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := workernode.Leased(db, nil).Assign(ctx, 1<<16-1)
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() { released <- c.Release(ctx, time.Now()) }()
	// The UPDATE is given up after a second, and committed all the same.
	early := error(nil)
	seen := false
	waitFor(t, "read of the row that waits for the standby", func() bool {
		select {
		case early = <-released:
			return true
		default:
		}
		seen = waiting("SELECT GENERATION%")
		return seen
	})
	mu.Lock()
	statement, header := read, head
	mu.Unlock()
	go other.Exec(header, "", -1, "default", -1)
	waitFor(t, "read of the header that waits for the standby", func() bool {
		return waiting("SELECT LAYOUT%FOR SHARE")
	})
	var token, nonce, until, now int64
	var owner string
	plain := strings.TrimSuffix(statement, " FOR UPDATE")
	err = other.Raw(plain, "default", c.Worker()).Row().Scan(&token, &nonce, &until, &owner, &now)
	standby("")
	if seen {
		select {
		case <-released: // or its tries were over before
		case <-ctx.Done():
			t.Error("Release does not return when no standby is asked for")
		}
	}
	switch {
	case took > 500*time.Millisecond:
		return false
	case !seen:
		t.Errorf("Release = %v before any standby has the row", early)
	case err != nil || plain == statement || owner != "" || token != 2:
		t.Errorf("%q = token %d of owner %q, %v, want the row as it was released", plain, token, owner, err)
	}
	return true
}
