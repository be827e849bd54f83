package main

import (
	"database/sql"
	"fmt"
	"net/http"
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
			b, s, _ := hundred(t, server)
			if err := tt.hurt(server); err != nil {
				t.Fatal(err)
			}
			b.stopped(t, s)
		})
	}
}

// TestServeStoppedInOrder: the worker id is given back first, so it is free although the ranges hang
// until the deadline.
func TestServeStoppedInOrder(t *testing.T) {
	t.Parallel()
	server := dbtest.MariaDB(t)
	b, s, db := hundred(t, server)
	pool, err := sql.Open("mysql", server.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	lock, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "LOCK TABLES leaf_alloc WRITE"); err != nil {
		t.Fatal(err)
	}
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
	if !ok || at > took-time.Second || took < stopTime-time.Second {
		t.Errorf("the worker id was given back (%v) after %v and the server ended after %v, want it first "+
			"and the ranges tried until the deadline of %v", ok, at, took, stopTime)
	}
	if said := s.stderr(); strings.Contains(said, "worker id 0") {
		t.Errorf("stderr is %s\nwant no complaint about the worker id", said)
	}
}

// hundred starts a server with a hundred tags in use on a new database of server.
func hundred(t *testing.T, server *dbtest.Server) (*bench, *served, string) {
	t.Helper()
	b := newBench(t)
	db := server.CreateDB(t)
	b.env["UID_DSN"] = server.DSN(db)
	b.check(t, exitOK, "", "", "segment", "init")
	rows := make([]string, 100)
	for i := range rows {
		rows[i] = fmt.Sprintf("('tag%d', 1, 1000)", i)
	}
	server.Query(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES "+strings.Join(rows, ", "))
	s := b.serve(t)
	for i := range rows {
		s.ok(t, fmt.Sprint("/api/segment/get/tag", i))
	}
	return b, s, db
}

// stopped stops s while a request is under way that waits for the database. It checks that stopping
// keeps the deadline, and returns how long it took.
func (b *bench) stopped(t *testing.T, s *served) time.Duration {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if r, err := http.Get(s.base + "/api/segment/range/tag0"); err == nil {
			r.Body.Close()
		}
	})
	time.Sleep(100 * time.Millisecond) // until the request is under way
	begin := time.Now()
	code := s.stop()
	took := time.Since(begin)
	if took > stopTime+time.Second { // and the time to give up
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
