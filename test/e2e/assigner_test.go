package e2e

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// kinds are the assigners that take worker ids from WORKER_NODE, each on one pool.
var kinds = map[string]func(*gorm.DB) assigner.Assigner{
	"disposable": func(db *gorm.DB) assigner.Assigner { return workernode.Disposable(db, nil) },
	"leased":     func(db *gorm.DB) assigner.Assigner { return workernode.Leased(db, nil) },
}

// allKinds returns kinds, and a namespace that counts for itself.
func allKinds() map[string]func(*gorm.DB) assigner.Assigner {
	all := maps.Clone(kinds)
	all["namespace"] = func(db *gorm.DB) assigner.Assigner {
		return workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
	}
	return all
}

// TestConformance runs the conformance suite of assigners on every dialect.
func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for name, kind := range allKinds() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				assignertest.Run(t, assignertest.Factory{Authority: func(tb testing.TB) func() assigner.Assigner {
					dsn := d.migrated(tb)
					return func() assigner.Assigner { return kind(d.connect(tb, dsn)) }
				}})
			})
		}
	})
}

// TestMigrateTogether: many processes that migrate at once all succeed, and none deletes a row of
// another.
func TestMigrateTogether(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.fresh(t)
		var wg sync.WaitGroup
		for range 8 {
			db := d.connect(t, dsn)
			wg.Go(func() {
				if err := workernode.Migrate(t.Context(), db); err != nil {
					t.Error(err)
					return
				}
				if _, err := workernode.Disposable(db, nil).Assign(t.Context(), 1<<22-1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		db := d.connect(t, dsn)
		for _, column := range []string{"CREATED", "MODIFIED"} {
			if got := d.recent(t, db, "WORKER_NODE", column); got != 8 {
				t.Errorf("%d rows whose %s is just now, want 8", got, column)
			}
		}
	})
}

// TestMissingTables: without tables Assign returns an error at once, which says what to do.
func TestMissingTables(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.fresh(t))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for name, kind := range allKinds() {
			_, err := kind(db).Assign(ctx, 31)
			if err == nil || !strings.Contains(err.Error(), "workernode.Migrate") {
				t.Errorf("%s: Assign = %v, want an error that advises Migrate", name, err)
			}
		}
		if ctx.Err() != nil {
			t.Error("a missing table was retried until the ctx ended")
		}
	})
}

// TestPostgresErrors: a refusal of PostgreSQL is an error at once, which does not show the password.
func TestPostgresErrors(t *testing.T) {
	t.Parallel()
	srv := servers.Postgres(t)
	d := dialects[1]
	dsn := d.migrated(t)
	name := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	srv.Query(t, name, "CREATE ROLE reader_"+name+" LOGIN PASSWORD '"+dbtest.Password+"'; "+
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_"+name)
	replace := func(old, new string) string { return strings.Replace(dsn, old, new, 1) }
	for _, tt := range []struct{ name, dsn, want string }{
		{"wrong password", replace(dbtest.Password, "x"+dbtest.Password), "password authentication failed"},
		{"no such database", replace("/"+name, "/nosuch"), `database "nosuch" does not exist`},
		{"read only account", replace(dbtest.User+":", "reader_"+name+":"), "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, err := d.open(tt.dsn)
			if err == nil {
				_, err = workernode.Disposable(db, nil).Assign(t.Context(), 31)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), dbtest.Password) {
				t.Errorf("error = %v, want one with %q and without the password", err, tt.want)
			}
		})
	}
}

// TestPostgresUnknownOutcome: a lease whose answer is lost is read back on PostgreSQL too.
func TestPostgresUnknownOutcome(t *testing.T) {
	t.Parallel()
	srv := servers.Postgres(t)
	d := dialects[1]
	dsn := d.migrated(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	db := d.connect(t, strings.Replace(dsn, srv.Addr(), proxy.Addr(), 1)+"&default_query_exec_mode=simple_protocol")
	c, err := workernode.Leased(db, nil).Assign(t.Context(), 31)
	if err != nil {
		t.Fatal(err)
	}
	_, until := c.Window()
	proxy.SetOnce(dbtest.CutBeforeReply, func(b []byte) bool {
		return strings.Contains(string(b), "UPDATE WORKER_LEASE")
	})
	got, err := c.Extend(t.Context(), until.Add(time.Hour))
	if err != nil || got.Before(until.Add(time.Hour)) {
		t.Errorf("Extend without an answer = %v, %v, want %v", got, err, until.Add(time.Hour))
	}
	if proxy.Hits() != 1 {
		t.Errorf("the fault was injected %d times, want 1", proxy.Hits())
	}
}
