package workernode_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/driver/mysql"
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

// connectors returns the drivers' connectors for the DSNs.
func connectors(t *testing.T, dsns ...string) (all []driver.Connector) {
	t.Helper()
	for _, dsn := range dsns {
		c, err := dbtest.Connector(mysqldriver.MySQLDriver{}, dsn+"&interpolateParams=true&time_zone='%2B00:00'")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// intercept opens a pool whose statements pass i.
func intercept(t *testing.T, i *dbtest.Interceptor) *gorm.DB {
	t.Helper()
	p := sql.OpenDB(i)
	t.Cleanup(func() { p.Close() })
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: p, SkipInitializeWithVersion: true}),
		&gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// stepClock is a database whose clock is moved: each statement gets a session of its own, with the
// clock as it is then.
type stepClock struct {
	dsn   string
	shift atomic.Int64
}

func (s *stepClock) step(d time.Duration)  { s.shift.Add(int64(d)) }
func (s *stepClock) Driver() driver.Driver { return mysqldriver.MySQLDriver{} }

func (s *stepClock) Connect(ctx context.Context) (driver.Conn, error) {
	now := time.Now().Add(time.Duration(s.shift.Load()))
	c, err := dbtest.Connector(mysqldriver.MySQLDriver{},
		fmt.Sprintf("%s&timestamp=%d.%03d", s.dsn, now.Unix(), now.Nanosecond()/1e6))
	if err != nil {
		return nil, err
	}
	return c.Connect(ctx)
}

// connect opens a pool of its own, as a process would.
func (s *stepClock) connect(t testing.TB) *gorm.DB {
	t.Helper()
	p := sql.OpenDB(s)
	p.SetMaxIdleConns(-1)
	t.Cleanup(func() { p.Close() })
	cfg, err := mysqldriver.ParseDSN(s.dsn) // for the address in messages
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: p, DSNConfig: cfg, SkipInitializeWithVersion: true}),
		&gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// authority adapts an Assigner's constructor to the conformance suite: a database each, and a pool
// for each process.
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

// commitOf matches the COMMIT after a request with a text in it.
func commitOf(text string) func([]byte) bool {
	var armed atomic.Bool
	return func(request []byte) bool {
		if strings.Contains(string(request), text) {
			armed.Store(true)
		}
		return strings.Contains(string(request), "COMMIT") && armed.Swap(false)
	}
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

// wantLog checks that each part stands in the log, and forgets the log.
func wantLog(t *testing.T, log *bytes.Buffer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(log.String(), part) {
			t.Errorf("log = %q, want it to contain %q", log, part)
		}
	}
	log.Reset()
}

// assigners returns one of each kind.
func assigners(db *gorm.DB) map[string]assigner.Assigner {
	return map[string]assigner.Assigner{"disposable": workernode.Disposable(db, nil),
		"leased": workernode.Leased(db, nil)}
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
