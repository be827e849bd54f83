package main

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// readOnlyMariaDB makes a server's database ids refuse changes, and returns a DSN for it.
func readOnlyMariaDB(t *testing.T, s *dbtest.Server) string {
	t.Helper()
	// Read-only does not bind an account that has every privilege.
	s.Exec(t, "CREATE DATABASE ids", "CREATE USER app@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE, CREATE ON ids.* TO app@'%'", "SET GLOBAL read_only = ON")
	return "app:" + dbtest.Password + "@tcp(" + s.Addr() + ")/ids"
}

// TestReadOnlyServer: a server that is read-only is said to be, in its own words, and not to give no
// answer.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		dsn := readOnlyMariaDB(t, dbtest.MariaDB(t))
		r := newBench(t).check(t, exitFailure, "", "no success within 8s (--timeout)", "gen", "--timeout=8s",
			"--dsn", dsn)
		if !strings.Contains(r.stderr, "1290") || !strings.Contains(r.stderr, "the server is read-only") {
			t.Errorf("gen on a read-only server: %s, want why", r.stderr)
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := dbtest.Postgres(t, "-cdefault_transaction_read_only=on")
		r := newBench(t).check(t, exitFailure, "", "no success within 8s (--timeout)", "gen", "--timeout=8s",
			"--dsn", s.DSN(""))
		if !strings.Contains(r.stderr, "25006") || !strings.Contains(r.stderr, "the server is read-only") {
			t.Errorf("gen on a read-only server: %s, want why", r.stderr)
		}
	})
}

// TestPostgresHosts: of several hosts the one that can be written to is used, wherever it stands, and
// an error has a reason for each.
func TestPostgresHosts(t *testing.T) {
	t.Parallel()
	one := dbtest.Postgres(t, "-cdefault_transaction_read_only=on")
	two := dbtest.Postgres(t)
	silent := silentServer(t)
	b := newBench(t)
	for _, hosts := range []string{silent + "," + one.Addr() + "," + two.Addr(), two.Addr() + "," + silent} {
		b.check(t, exitOK, "", "", "gen", "--timeout=30s", "--dsn",
			strings.Replace(two.DSN(""), two.Addr(), hosts, 1))
	}
	r := b.check(t, exitFailure, "", "no host can be written to", "gen", "--timeout=8s", "--dsn",
		strings.Replace(two.DSN(""), two.Addr(), silent+","+one.Addr(), 1))
	if !strings.Contains(r.stderr, one.Addr()) || strings.Contains(r.stderr, dbtest.Password) {
		t.Errorf("gen with no host that can be written to: %s", r.stderr)
	}
}
