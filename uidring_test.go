package uidring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

var _ uid.Generator = (*uidring.Generator)(nil)

// TestOpen opens generators on a database without tables: each has a worker id of its own, Close
// gives it back, and closes the connections.
func TestOpen(t *testing.T) {
	srv := dbtest.MariaDB(t)
	name := srv.CreateDB(t)
	url := "mysql://" + dbtest.User + ":" + dbtest.Password + "@" + srv.Addr() + "/" + name
	open := func(dsn string) *uidring.Generator {
		t.Helper()
		g, err := uidring.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first, second := open(url), open(srv.DSN(name))
	a, errA := first.Next(t.Context())
	b, errB := second.Next(t.Context())
	if a == b || errA != nil || errB != nil || first.Stats().Worker == second.Stats().Worker {
		t.Errorf("Next() = %v, %v and %v, %v", a, errA, b, errB)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if _, err := first.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
		t.Errorf("Next() after Close = %v", err)
	}
	owner := fmt.Sprintf("SELECT OWNER FROM WORKER_LEASE WHERE WORKER_ID = %d", first.Stats().Worker)
	if got := strings.TrimSpace(srv.Query(t, name, owner)); got != "" {
		t.Errorf("after Close the worker id is still %q's", got)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	connections := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '" + name + "'"
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n := strings.TrimSpace(srv.Query(t, "mysql", connections))
		if n == "0" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s connections are open after Close, want 0", n)
		}
	}

	t.Run("NoMigrate", func(t *testing.T) {
		empty := srv.CreateDB(t)
		_, err := uidring.Open(t.Context(), srv.DSN(empty), &uidring.Options{NoMigrate: true})
		if err == nil || !strings.Contains(err.Error(), "workernode.Migrate") {
			t.Errorf("Open() without tables = %v", err)
		}
		if tables := strings.TrimSpace(srv.Query(t, empty, "SHOW TABLES")); tables != "" {
			t.Errorf("tables %q, want none", tables)
		}
	})

	t.Run("OpenEnv", func(t *testing.T) {
		t.Setenv("UID_DSN", srv.DSN(name))
		t.Setenv("UID_NAMESPACE", "orders")
		t.Setenv("UID_WINDOW", "3m")
		t.Setenv("UID_LAYOUT", "31-14-18")
		t.Setenv("UID_MIGRATE", "no")
		if _, err := uidring.OpenEnv(t.Context(), nil); err == nil ||
			!strings.Contains(err.Error(), `UID_MIGRATE is "no"`) {
			t.Errorf("OpenEnv() = %v, want an error about UID_MIGRATE", err)
		}
		t.Setenv("UID_MIGRATE", "false")
		g, err := uidring.OpenEnv(t.Context(), &uidring.Options{Lease: workernode.LeasedOptions{Window: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		s := g.Stats()
		if left := time.Until(s.WindowUntil); left > 4*time.Minute || s.Layout.SeqBits != 18 {
			t.Errorf("the window ends in %v, layout %v, want those of the environment", left, s.Layout)
		}
		query := "SELECT COUNT(*) FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND WORKER_ID >= 0"
		if n := strings.TrimSpace(srv.Query(t, name, query)); n != "1" {
			t.Errorf("%s leases of the namespace, want 1", n)
		}
	})

	t.Run("MaxConns", func(t *testing.T) {
		t.Setenv("UID_DSN", srv.DSN(name))
		t.Setenv("UID_MAX_CONNS", "1")
		t.Setenv("UID_TIMEOUT", "20s")
		g, err := uidring.OpenEnv(t.Context(), &uidring.Options{MaxConns: 3})
		if err != nil {
			t.Fatal(err)
		}
		if n := uidring.MaxConns(g); n != 1 {
			t.Errorf("the pool has up to %d connections, want 1", n)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("OpenDB", func(t *testing.T) {
		db, err := workernode.OpenMySQL(srv.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		g, err := uidring.OpenDB(t.Context(), db, &uidring.Options{
			Generator: uid.Options{Layout: bitsalloc.Layout{Epoch: time.Now().Add(time.Hour)}},
			Lease:     workernode.LeasedOptions{Namespace: "later"},
		})
		if g != nil || !errors.Is(err, uid.ErrOptions) {
			t.Errorf("OpenDB() with an epoch ahead = %v", err)
		}
		if g, err = uidring.OpenDB(t.Context(), db, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Close(), pool.PingContext(t.Context())); err != nil {
			t.Errorf("after Close: %v, want the caller's pool open", err)
		}
	})
}

// TestOpenWaits: a database that is down is waited for as long as ctx lasts, and the log says so.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var log logged
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	const password = "hunter2"
	_, err = uidring.Open(ctx, "app:"+password+"@tcp("+l.Addr().String()+")/shop",
		&uidring.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Open() = %v, want the deadline and its cause", err)
	}
	if text := log.String(); strings.Count(text, "waiting for the database, to lease") != 1 ||
		!strings.Contains(text, "creating table WORKER_NODE") || !strings.Contains(text, "refused") ||
		strings.Contains(text+err.Error(), password) {
		t.Errorf("the log is %s", text)
	}
}

// TestOpenTimeout: Timeout ends the wait before a later deadline of ctx does.
func TestOpenTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("UID_DSN", "app@tcp("+l.Addr().String()+")/shop")
	t.Setenv("UID_TIMEOUT", "50ms")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := uidring.OpenEnv(ctx, nil); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("OpenEnv() = %v, want the timeout, and ctx alive", err)
	}
}

// TestOpenErrors: a configuration that cannot work is an error at once. Of several variables the first
// in OpenEnv's list is reported.
func TestOpenErrors(t *testing.T) {
	t.Setenv("UID_DSN", "app@tcp(127.0.0.1:1)/shop")
	names := []string{"UID_WINDOW", "UID_LAYOUT", "UID_MIGRATE", "UID_TIMEOUT", "UID_MAX_CONNS"}
	for _, name := range names {
		t.Setenv(name, "bad")
	}
	for _, name := range names {
		if _, err := uidring.OpenEnv(t.Context(), nil); err == nil || !strings.Contains(err.Error(), name+` is "bad"`) {
			t.Errorf("OpenEnv() = %v, want an error about %s", err, name)
		}
		os.Unsetenv(name) // t.Setenv restores it
	}
	t.Setenv("UID_LAYOUT", "")
	if _, err := uidring.OpenEnv(t.Context(), nil); !errors.Is(err, bitsalloc.ErrLayout) ||
		!strings.Contains(err.Error(), `UID_LAYOUT is ""`) {
		t.Errorf("OpenEnv() with an empty UID_LAYOUT = %v, want an error that names it", err)
	}
	os.Unsetenv("UID_LAYOUT")
	for want, o := range map[string]*uidring.Options{
		"MaxConns is -1, want 0 or more":  {MaxConns: -1},
		"Timeout is -1s, want 0s or more": {Timeout: -time.Second},
	} {
		if _, err := uidring.OpenEnv(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenEnv(%+v) = %v, want %q", o, err, want)
		}
	}
	t.Setenv("UID_DSN", "")
	if _, err := uidring.OpenEnv(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "UID_DSN is empty") {
		t.Errorf("OpenEnv() = %v", err)
	}
	if _, err := uidring.Open(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "the DSN is empty") {
		t.Errorf("Open() = %v", err)
	}
	for dsn, want := range map[string]string{
		"postgres://app:secret@127.0.0.1/shop":    "gorm.Open(postgres.Open(dsn), nil)\n\tgen, err := uidring.OpenDB(",
		"host=127.0.0.1 user=app password=secret": "gorm.Open(postgres.Open(dsn), nil)\n\tgen, err := uidring.OpenDB(",
		"sqlite:///secret.db":                     "gorm.Open(sqlite.Open(dsn), nil)\n\tgen, err := uidring.OpenDB(",
		"secret":                                  "OpenDB takes PostgreSQL",
	} {
		_, err := uidring.Open(t.Context(), dsn, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v, want an error with %q", dsn, err, want)
		}
	}
}

// TestOpenEnvPool opens a generator from the environment on a pool of the test's, which stays open.
func TestOpenEnvPool(t *testing.T) {
	srv := dbtest.MariaDB(t)
	db, err := workernode.OpenMySQL(srv.DSN(srv.CreateDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	t.Setenv("UID_DSN", "")
	t.Setenv("UID_NAMESPACE", "orders")
	g, err := uidring.OpenEnv(t.Context(), &uidring.Options{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	if at := g.Stats().Authority; !strings.Contains(at, "orders") {
		t.Errorf("worker ids come from %s, want the namespace orders", at)
	}
	if _, err := g.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := pool.Ping(); err != nil {
		t.Errorf("the caller's pool after Close: %v", err)
	}
	_, err = uidring.Open(t.Context(), "app@tcp(127.0.0.1:1)/shop", &uidring.Options{DB: db})
	if !errors.Is(err, uid.ErrOptions) {
		t.Errorf("Open with a DSN and a DB = %v, want ErrOptions", err)
	}
}

// logged is what a logger wrote.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
