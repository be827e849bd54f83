package workernode_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

const maxWorker = 1<<22 - 1

// maria returns the shared server and a database of the test's own with the tables in it.
func maria(t testing.TB) (srv *dbtest.Server, name string) {
	t.Helper()
	srv = servers.MariaDB(t)
	name = srv.CreateDB(t)
	if err := workernode.Migrate(t.Context(), connect(t, srv.DSN(name))); err != nil {
		t.Fatal(err)
	}
	return srv, name
}

// connect opens a pool of its own, as a process would.
func connect(t testing.TB, dsn string) *gorm.DB {
	t.Helper()
	db, err := workernode.OpenMySQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool, err := db.DB()
		if err != nil {
			t.Error(err)
			return
		}
		pool.Close()
	})
	return db
}

// pool returns the pool behind db.
func pool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	p, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// authority adapts an Assigner's constructor to the conformance suite: a database each, and a pool for each process.
func authority(process func(*gorm.DB) assigner.Assigner) func(testing.TB) func() assigner.Assigner {
	return func(tb testing.TB) func() assigner.Assigner {
		srv, name := maria(tb)
		return func() assigner.Assigner { return process(connect(tb, srv.DSN(name))) }
	}
}

// within returns a ctx that ends after d, and is no longer than the test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// statement matches a request that contains a text.
func statement(text string) func([]byte) bool {
	return func(request []byte) bool { return strings.Contains(string(request), text) }
}

// wantError checks an error's text, and that the password is not in it.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("error = nil, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error = %q, want it to contain %q", err, part)
		}
	}
	if strings.Contains(err.Error(), dbtest.Password) {
		t.Errorf("error shows the password: %q", err)
	}
}

// assigners returns one of each kind.
func assigners(db *gorm.DB) map[string]assigner.Assigner {
	return map[string]assigner.Assigner{"disposable": workernode.Disposable(db, nil), "leased": workernode.Leased(db, nil)}
}

func assign(t *testing.T, a assigner.Assigner, n int) []assigner.Claim {
	t.Helper()
	claims := make([]assigner.Claim, n)
	for i := range claims {
		var err error
		if claims[i], err = a.Assign(t.Context(), maxWorker); err != nil {
			t.Fatal(err)
		}
	}
	return claims
}

func release(t *testing.T, c assigner.Claim, used time.Time) {
	t.Helper()
	if err := c.Release(t.Context(), used); err != nil {
		t.Fatal(err)
	}
}
