package workerlist_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/dbtest"
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
	migrated(t, srv.DSN(name))
	return srv, name
}

// onEach runs a test on every kind of database. fresh returns a pool on new tables.
func onEach(t *testing.T, test func(t *testing.T, fresh func(testing.TB) *gorm.DB)) {
	t.Helper()
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{
		"MariaDB": func(t testing.TB) string {
			srv := servers.MariaDB(t)
			return srv.DSN(srv.CreateDB(t))
		},
		"PostgreSQL": func(t testing.TB) string {
			srv := servers.Postgres(t)
			return srv.DSN(srv.CreateDB(t))
		},
		"SQLite": func(t testing.TB) string { return filepath.Join(t.TempDir(), "uid.db") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(t testing.TB) *gorm.DB { return migrated(t, dsn(t)) })
		})
	}
}

// migrated makes the tables and returns a pool.
func migrated(t testing.TB, name string) *gorm.DB {
	t.Helper()
	db := connect(t, name)
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// connect opens a pool of its own, as a process would.
func connect(t testing.TB, name string) *gorm.DB {
	t.Helper()
	s, err := dsn.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	db, err := s.Pool()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dsn.Close(db) })
	return db
}

// execAll runs statements, and fails the test if one of them fails.
func execAll(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// intercept opens a pool whose statements pass i.
func intercept(t *testing.T, dsn string, i *dbtest.Interceptor) *gorm.DB {
	t.Helper()
	c, err := dbtest.Connector(mysqldriver.MySQLDriver{}, dsn+"&interpolateParams=true&time_zone='%2B00:00'")
	if err != nil {
		t.Fatal(err)
	}
	i.Connectors = []driver.Connector{c}
	return open(t, i, "mysql")
}

// open opens a pool of connections as a database of a dialect.
func open(t *testing.T, c driver.Connector, name string) *gorm.DB {
	t.Helper()
	p := sql.OpenDB(c)
	t.Cleanup(func() { p.Close() })
	db, err := gorm.Open(dialect{mysql.New(mysql.Config{Conn: p, SkipInitializeWithVersion: true}), name},
		&gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// dialect is a dialector with the name of another one.
type dialect struct {
	gorm.Dialector
	name string
}

func (d dialect) Name() string { return d.name }

// within returns a ctx that ends after d, and is no longer than the test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
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
