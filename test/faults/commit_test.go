package faults

import (
	"database/sql"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// TestUncommitted: a generator extends its claim through an application's own pool, whose sessions
// leave a change uncommitted and lose it with the connection. The generator keeps its claim, and no
// id is repeated, while others claim whatever looks free.
func TestUncommitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, srv *dbtest.Server, pool *sql.DB) // called before each extension
	}{
		{"SET GLOBAL autocommit", func(t *testing.T, srv *dbtest.Server, _ *sql.DB) {
			srv.Exec(t, "SET GLOBAL autocommit = 0")
		}},
		{"BEGIN that nobody ends", func(_ *testing.T, _ *dbtest.Server, pool *sql.DB) {
			pool.Exec("BEGIN")
		}},
		{"XA transaction that nobody ends", func(_ *testing.T, _ *dbtest.Server, pool *sql.DB) {
			pool.Exec("XA START 'forgotten'")
		}},
		{"autocommit = 0 that nobody undoes", func(_ *testing.T, _ *dbtest.Server, pool *sql.DB) {
			pool.Exec("SET autocommit = 0")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := dbtest.MariaDB(t)
			name := migrated(t, srv)
			proxy := dbtest.NewProxy(t, srv.Addr())
			db, err := gorm.Open(mysql.Open(srv.DSNVia(proxy.Addr(), name)), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			pool.SetMaxOpenConns(1)
			l := newLedger(t)
			start := func(who string, a assigner.Assigner) *user {
				g, err := uid.NewCached(t.Context(), a, cached())
				if err != nil {
					t.Fatal(err)
				}
				return use(t, who, g, l)
			}
			leased := &workernode.LeasedOptions{Window: window}
			victim := start("victim", workernode.Leased(db, leased))
			worker := victim.g.Stats().Worker
			for i := range 8 {
				tt.spoil(t, srv, pool)
				time.Sleep(window/2 + time.Duration(i)*window/16) // the victim extends its claim
				// Cutting the connection undoes what was not committed, and unlocks the row.
				cut := time.AfterFunc(window/10, proxy.Cut)
				other := start("other", workernode.Leased(connect(t, srv.DSN(name)), leased))
				cut.Stop()
				proxy.Cut()
				goOn(t, []*user{other}, "of the other generator")
				time.Sleep(window / 4)
				other.end()
			}
			is := victim.g.Stats().Worker
			victim.end()
			noDuplicates(t, l)
			if is != worker {
				t.Errorf("the victim has lost its claim: worker id %d, want %d", is, worker)
			}
		})
	}
}
