package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestServeStopped: a server with a hundred tags and a request under way ends within its one
// deadline, whatever its database does. It prints what it could not give back, and that nothing need
// be done.
func TestServeStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start func(testing.TB, ...string) *dbtest.Server
		hurt  func(*dbtest.Server) error
	}{
		"MariaDB away":      {dbtest.MariaDB, (*dbtest.Server).Kill},
		"MariaDB frozen":    {dbtest.MariaDB, (*dbtest.Server).Pause},
		"PostgreSQL frozen": {dbtest.Postgres, (*dbtest.Server).Pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tt.start(t)
			db := server.CreateDB(t)
			b, s := hundred(t, server.DSN(db))
			if err := tt.hurt(server); err != nil {
				t.Fatal(err)
			}
			b.stopped(t, s)
		})
	}
	t.Run("SQLite locked", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "ids.db")
		b, s := hundred(t, "sqlite:"+file)
		hold(t, "sqlite", file, "BEGIN EXCLUSIVE")
		b.stopped(t, s)
	})
}

// hold runs a statement on a connection of its own, which stays open until the test ends. It returns the
// pool.
func hold(t *testing.T, driver, dsn, statement string) *sql.DB {
	t.Helper()
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return pool
}

// TestServeStoppedInOrder: the worker id is given back first, so it is free although the ranges hang
// until the deadline.
func TestServeStoppedInOrder(t *testing.T) {
	t.Parallel()
	server := dbtest.MariaDB(t)
	db := server.CreateDB(t)
	b, s := hundred(t, server.DSN(db))
	pool := hold(t, "mysql", server.DSN(db), "LOCK TABLES leaf_alloc WRITE")
	begin, free, ended := time.Now(), make(chan time.Duration, 1), make(chan struct{})
	go func() {
		defer close(free)
		for held := 1; ; time.Sleep(20 * time.Millisecond) {
			err := pool.QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM WORKER_LEASE WHERE OWNER <> ''").Scan(&held)
			if err == nil && held == 0 {
				free <- time.Since(begin)
				return
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	}()
	took := b.stopped(t, s)
	close(ended)
	at, ok := <-free
	if !ok || at > took-time.Second || took < stopTime-2*lateTime {
		t.Errorf("the worker id was given back (%v) after %v and the server ended after %v, want it first "+
			"and the ranges tried until the deadline of %v", ok, at, took, stopTime)
	}
	if said := s.stderr(); strings.Contains(said, "worker id 0") {
		t.Errorf("stderr is %s\nwant no complaint about the worker id", said)
	}
}

// hundred starts a server with a hundred tags in use on a new database.
func hundred(t *testing.T, dsn string) (*bench, *served) {
	t.Helper()
	b := newBench(t)
	b.env["UID_DSN"] = dsn
	b.check(t, exitOK, "", "", "segment", "init")
	for i := range 100 {
		b.check(t, exitOK, "", "", "segment", "set", fmt.Sprint("tag", i), "--step", "1000")
	}
	s := b.serve(t)
	for i := range 100 {
		s.ok(t, fmt.Sprint("/api/segment/get/tag", i))
	}
	return b, s
}

// stopped stops s while a request is under way that waits for the database. It checks that stopping
// keeps the deadline, and returns how long it took.
func (b *bench) stopped(t *testing.T, s *served) time.Duration {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if r, err := http.Post(s.base+"/api/segment/range/tag0", "", http.NoBody); err == nil {
			r.Body.Close()
		}
	})
	time.Sleep(100 * time.Millisecond) // until the request is under way
	begin := time.Now()
	code := s.stop()
	took := time.Since(begin)
	if took > stopTime+time.Second/2 { // on a busy machine
		t.Errorf("stopping took %v, want at most %v", took, stopTime)
	}
	t.Logf("stopping took %v", took)
	_, said, found := strings.Cut(s.stderr(), "uid: stopped, but not everything was given")
	if code != exitOK || !found || !strings.Contains(said, "nothing need be done") ||
		strings.Contains(said, "deadline") {
		t.Errorf("status %d, stderr %s, want 0 and a complaint", code, s.stderr())
	}
	return took
}
