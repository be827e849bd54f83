package workernode_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// TestSessions: whatever the application's sessions are set to, and whatever was begun on them and
// forgotten, what a claim says outlives the connection that it was said on.
func TestSessions(t *testing.T) {
	t.Parallel()
	srv, _ := maria(t)
	isolation, serializable := dbtest.Isolation(), dbtest.Isolation()+"='SERIALIZABLE'"
	for _, tt := range []struct{ params, forgotten string }{
		{"autocommit=0", "DO 0"},
		{"autocommit=0&" + isolation + "='READ-UNCOMMITTED'", "DO 0"},
		{isolation + "='READ-COMMITTED'", "BEGIN"},
		{serializable, "BEGIN"},
		{"autocommit=1", "BEGIN"},
		{"autocommit=1", "SET autocommit = 0"},
		{"autocommit=1", "START TRANSACTION READ ONLY"},
		{"autocommit=1", "XA START 'forgotten'"},
		{"completion_type=CHAIN", "BEGIN"},
	} {
		t.Run(tt.params+" "+tt.forgotten, func(t *testing.T) {
			t.Parallel()
			_, name := maria(t)
			db, err := gorm.Open(mysql.Open(srv.DSN(name)+"&"+tt.params), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			p := pool(t, db)
			p.SetMaxOpenConns(1) // the one that something was forgotten on
			defer p.Close()
			forget := func() {
				t.Helper()
				if _, err := p.Exec(tt.forgotten); err != nil && tt.forgotten != "XA START 'forgotten'" {
					t.Fatal(err)
				}
				// The transaction has a snapshot, if there is one.
				if _, err := p.Exec("SELECT * FROM WORKER_LEASE"); err != nil {
					t.Fatal(err)
				}
			}
			// check ends the connection, and compares what others see.
			check := func(what, query, want string) {
				t.Helper()
				p.SetMaxIdleConns(-1)
				p.SetMaxIdleConns(1)
				if got := srv.Query(t, name, query); got != want {
					t.Errorf("%s: %s = %q without the connection, want %q", what, query, got, want)
				}
			}
			forget()
			d := assign(t, workernode.Disposable(db, nil), 1)[0]
			check("Disposable", "SELECT MAX(ID) FROM WORKER_NODE", fmt.Sprint(d.Worker()))
			forget()
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			until := func() string { _, u := c.Window(); return fmt.Sprint(u.UnixMilli()) }
			ends := fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker())
			check("Leased", ends, until())
			for range 2 {
				forget()
				_, end := c.Window()
				if _, err := c.Extend(t.Context(), end.Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				check("Extend", ends, until())
			}
			forget()
			release(t, c, time.Time{})
			check("Release", ends, "0")
			forget()
			c = assign(t, workernode.Leased(db, nil), 1)[0] // a free row
			check("Leased, a free row", ends, until())

			// Another's change is seen from inside an old snapshot, and is not mistaken for a table that
			// went back.
			if tt.params != serializable { // where a forgotten read blocks others
				forget()
			}
			srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1, NONCE = 7 WHERE WORKER_ID >= 0")
			_, end := c.Window()
			if _, err := c.Extend(t.Context(),
				end.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) ||
				errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("Extend of a claim that somebody took = %v, want ErrClaimLost", err)
			}
		})
	}
}

// TestOwnSnapshot: an extension through another connection is known to the claim, and the row that
// an old snapshot shows is not mistaken for a table that went back.
func TestOwnSnapshot(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db, err := gorm.Open(mysql.Open(srv.DSN(name)), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	p := pool(t, db)
	defer p.Close()
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	old, err := p.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"BEGIN", "SELECT * FROM WORKER_LEASE"} {
		if _, err := old.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	extend := func() {
		t.Helper()
		_, end := c.Window()
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	extend()
	p.SetMaxIdleConns(-1)
	p.SetMaxIdleConns(1)
	old.Close() // the connection with the snapshot is the pool's only one
	extend()
}

// TestOldSnapshot: a pooled connection that is inside a forgotten transaction shows old rows, and a
// worker id that somebody has leased since is passed over all the same.
func TestOldSnapshot(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	for kind, a := range map[string]func(*gorm.DB) assigner.Assigner{
		"disposable": func(db *gorm.DB) assigner.Assigner { return workernode.Disposable(db, nil) },
		"leased": func(db *gorm.DB) assigner.Assigner {
			return workernode.Leased(db, &workernode.LeasedOptions{Namespace: "another"})
		},
	} {
		db, err := gorm.Open(mysql.Open(srv.DSN(name)), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		p := pool(t, db)
		p.SetMaxOpenConns(1)
		defer p.Close()
		for _, s := range []string{"BEGIN", "SELECT * FROM WORKER_LEASE"} {
			if _, err := p.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		leased := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0]
		// The next key is the worker id again.
		srv.Query(t, name, fmt.Sprintf("DELETE FROM WORKER_NODE WHERE ID >= %d; ALTER TABLE "+
			"WORKER_NODE AUTO_INCREMENT = 1", leased.Worker()))
		if c := assign(t, a(db), 1)[0]; c.Worker() == leased.Worker() {
			t.Errorf("%s: worker %d has a second owner", kind, c.Worker())
		}
	}
}

// TestDirtyRead: a claim whose sessions read uncommitted changes and do not commit their own does
// not take its own for made while they may still be rolled back.
func TestDirtyRead(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	db := connect(t, srv.DSNVia(proxy.Addr(), name)+"&"+dbtest.Isolation()+"='READ-UNCOMMITTED'&autocommit=0")
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	_, end := c.Window()
	// COMMIT does not arrive, so that the server keeps the transaction open after the client gave up.
	proxy.SetMatching(dbtest.BlackHole, commitOf("UPDATE WORKER_LEASE"))
	for range 2 {
		if until, err := c.Extend(within(t, 300*time.Millisecond), end.Add(time.Hour)); err == nil {
			t.Errorf("Extend without COMMIT = %v, want an error", until)
		}
		if _, until := c.Window(); !until.Equal(end) {
			t.Errorf("the window ends at %v without COMMIT, want %v", until, end)
		}
	}
	proxy.Cut() // which rolls back
	proxy.Set(dbtest.None)
	until, err := c.Extend(within(t, 20*time.Second), end.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if got := srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE "+
		"WORKER_ID = 1"); got != fmt.Sprint(until.UnixMilli()) {
		t.Errorf("UNTIL_MS = %s, want %d, the window's end", got, until.UnixMilli())
	}
}

// TestVanished: a process that vanishes after any statement of an extension, without its connection
// being closed, leaves no row locked behind.
func TestVanished(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"SELECT GENERATION", "UPDATE WORKER_LEASE"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			proxy := dbtest.NewProxy(t, srv.Addr())
			c := assign(t, workernode.Leased(connect(t, srv.DSNVia(proxy.Addr(), name)), nil), 1)[0]
			_, end := c.Window()
			var passed atomic.Bool
			proxy.SetMatching(dbtest.BlackHole, func(request []byte) bool {
				if passed.Load() {
					return true
				}
				passed.Store(strings.Contains(string(request), text))
				return false
			})
			if until, err := c.Extend(within(t, 300*time.Millisecond), end.Add(time.Hour)); err == nil {
				t.Errorf("Extend = %v, want an error", until)
			}
			if !passed.Load() {
				t.Error("the statement was not seen")
			}
			srv.Query(t, name, "SET SESSION innodb_lock_wait_timeout = 1; UPDATE WORKER_LEASE "+
				"SET OWNER = 'x' WHERE WORKER_ID = 1")
		})
	}
}

// TestOpenMySQLCommits: what the DSN says of autocommit does not count: a worker id outlives the
// connection that took it.
func TestOpenMySQLCommits(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name)+"&autocommit=0")
	one := assign(t, workernode.Leased(db, nil), 1)[0]
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != "1" {
		t.Errorf("rows of worker %d that others see = %s, want 1", one.Worker(), got)
	}
}
