package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// databases are the kinds of database, each with a fresh one's data source name in every form that it can be written in.
func databases(t *testing.T) map[string]func(t *testing.T) []string {
	t.Helper()
	return map[string]func(t *testing.T) []string{
		"MariaDB": func(t *testing.T) []string {
			s := servers.MariaDB(t)
			db := s.CreateDB(t)
			return []string{s.DSN(db), fmt.Sprintf("mysql://%s:%s@%s/%s", dbtest.User, dbtest.Password, s.Addr(), db)}
		},
		"PostgreSQL": func(t *testing.T) []string {
			s := servers.Postgres(t)
			db := s.CreateDB(t)
			host, port, _ := strings.Cut(s.Addr(), ":")
			return []string{s.DSN(db), fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=disable", host, port, dbtest.User, dbtest.Password, db)}
		},
		"SQLite": func(t *testing.T) []string {
			file := filepath.Join(t.TempDir(), "ids 100%&#.db")
			return []string{file, "sqlite:" + file}
		},
	}
}

// TestDatabases: the same story on every kind of database. No table at first; gen makes them; every run takes a worker id
// and gives it back; workers lists, reap reaps, doctor is content; and no id is there twice.
func TestDatabases(t *testing.T) {
	t.Parallel()
	for name, start := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsns := start(t)
			b := newBench(t)
			b.cache = "" // the embedded database must not be touched
			r := b.check(t, exitFailure, "fail", "", "doctor", "--dsn", dsns[0])
			if !strings.Contains(r.stdout, "uid schema --dialect") {
				t.Errorf("doctor without tables does not say how to make them:\n%s", r.stdout)
			}
			b.check(t, exitFailure, "", "WORKER_", "workers", "--dsn", dsns[0])

			var all []uid.ID
			for _, dsn := range dsns {
				for _, assigner := range []string{"leased", "disposable"} {
					for _, kind := range []string{"cached", "default"} {
						r := b.check(t, exitOK, "", "", "gen", "-n", "100", "--dsn", dsn, "--assigner", assigner, "--kind", kind)
						all = append(all, parseIDs(t, r, decimalForm)...)
					}
				}
			}
			unique(t, all)

			b.env["UID_DSN"] = dsns[len(dsns)-1]
			var w workersJSON
			if err := json.Unmarshal([]byte(b.check(t, exitOK, "", "", "workers", "--json").stdout), &w); err != nil {
				t.Fatal(err)
			}
			if len(w.Nodes) < 2*len(dsns) || len(w.Leases) == 0 || w.Leases[0].Owner != "" || w.Leases[0].Layout != mustLayout(t, "").alloc.Layout().String() {
				t.Errorf("workers: %+v, want a node for each disposable run and leases that were given back", w)
			}
			b.check(t, exitOK, "WORKER_LEASE: ", "", "workers", "--limit", "1")
			b.check(t, exitOK, w.Leases[0].Namespace, "", "workers", "--namespace", w.Leases[0].Namespace)
			b.check(t, exitOK, "WORKER_LEASE: no rows", "", "workers", "--namespace", "nobody's")
			b.check(t, exitOK, "0 reaped", "", "workers", "reap")
			b.check(t, exitOK, "no leases", "", "workers", "reap", "--namespace", "nobody's")

			r = b.check(t, exitOK, "worker ids", "", "doctor")
			for _, line := range r.lines() {
				// The shared servers trade durability for speed: TestDoctorDurability.
				if !strings.Contains(line, "durability") && (strings.HasPrefix(line, "fail") || strings.HasPrefix(line, "warn")) {
					t.Errorf("doctor finds fault:\n%s", r.stdout)
				}
			}
			var report doctorReport
			if err := json.Unmarshal([]byte(b.check(t, exitOK, "", "", "doctor", "--json").stdout), &report); err != nil || !report.OK || len(report.Findings) < 8 {
				t.Errorf("doctor --json: %+v, %v, want eight findings and OK", report, err)
			}
			b.check(t, exitFailure, "", "ran out", "gen", "--layout", "baidu")
			checkSegments(t, b)
			b.check(t, exitFailure, "runs out at 2024-11-20T13:24:16Z", "", "doctor", "--layout", "baidu")
		})
	}
}

// TestDoctorLeases: a worker id is free, held, or given back while the ids that were borrowed from the seconds to come last.
func TestDoctorLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Now()
	b.check(t, exitOK, "0 held, 0 free\n", "", "doctor")
	b.check(t, exitOK, "", "", "gen", "-n", "1000000")
	b.check(t, exitOK, "0 held, 0 free, 1 given back and free when their windows have passed\n", "", "doctor")
}

// checkSegments makes tags and takes ids from every source: consecutive, none twice, none left over where the source can
// count in any step.
func checkSegments(t *testing.T, b *bench) {
	t.Helper()
	b.check(t, exitOK, "leaf_alloc", "", "segment", "init")
	for _, source := range []string{"leaf", "sequence", "ticket"} {
		src := "--source=" + source
		if source != "ticket" {
			b.check(t, exitFailure, "", "order", "segment", "next", "order", src)
			b.check(t, exitUsage, "", "Step is 0", "segment", "set", "order", "--next", "5", src)
			b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "100", src)
		}
		n := 250
		if source == "ticket" {
			n = 20 // each is a transaction, except on MySQL
		}
		var all []uid.ID
		for range 3 {
			all = append(all, parseIDs(t, b.check(t, exitOK, "", "", "segment", "next", "order", "-n", strconv.Itoa(n), src), decimalForm)...)
		}
		if unique(t, all); len(all) != 3*n {
			t.Errorf("%s: %d ids, want %d", source, len(all), 3*n)
		}
		if source == "ticket" {
			b.check(t, exitUsage, "", "no list of tags", "segment", "list", src)
			continue
		}
		if all[749] != all[0]+749 {
			t.Errorf("%s: ids %d to %d, want 750 in a row", source, all[0], all[749])
		}
		b.check(t, exitOK, fmt.Sprintf("\"next\":\"%d\"", all[749]+1), "", "segment", "list", "--json", src)
		b.check(t, exitFailure, "", "went back", "segment", "set", "order", "--next", "1", src)
	}
	b.check(t, exitUsage, "", "-n is 0", "segment", "next", "order", "-n", "0")
}

// TestSchemaRuns: what schema prints makes the tables that gen then finds, on real servers.
func TestSchemaRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect string
		server  func(testing.TB) *dbtest.Server
	}{{"mysql", servers.MariaDB}, {"postgres", servers.Postgres}} {
		t.Run(c.dialect, func(t *testing.T) {
			t.Parallel()
			s := c.server(t)
			db := s.CreateDB(t)
			b := newBench(t)
			s.Query(t, db, b.check(t, exitOK, "CREATE TABLE IF NOT EXISTS WORKER_NODE", "", "schema", "--dialect", c.dialect).stdout)
			b.check(t, exitOK, "", "", "doctor", "--dsn", s.DSN(db))
		})
	}
}

// TestDoctorMySQL: settings and accounts that hurt are found.
func TestDoctorMySQL(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t, "--auto-increment-increment=10")
	db := s.CreateDB(t)
	b := newBench(t)
	dsn := func(user string) string { return fmt.Sprintf("mysql://%s:hunter2@%s/%s", user, s.Addr(), db) }
	s.Exec(t,
		"CREATE USER reader IDENTIFIED BY 'hunter2'", "GRANT SELECT ON "+db+".* TO reader",
		"CREATE USER worker IDENTIFIED BY 'hunter2'", "GRANT SELECT, INSERT, UPDATE ON "+db+".* TO worker",
		"CREATE USER nobody IDENTIFIED BY 'hunter2'")
	b.check(t, exitOK, "", "", "gen", "--dsn", s.DSN(db))

	b.check(t, exitOK, "every start uses up 10 worker ids", "", "doctor", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "every start uses up 10 worker ids", "", "doctor", "--strict", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "the account needs INSERT on WORKER_NODE", "", "doctor", "--dsn", dsn("reader"))
	for _, user := range []string{"nobody", "stranger"} {
		r := b.check(t, exitFailure, "fail", "", "doctor", "--dsn", dsn(user))
		if strings.Contains(r.stdout+r.stderr, "hunter2") {
			t.Errorf("doctor shows the password:\n%s%s", r.stdout, r.stderr)
		}
	}
	// An account that may not create tables makes ids from those that exist.
	b.check(t, exitOK, "", "", "gen", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "", "denied", "gen", "--dsn", dsn("reader"))

	s.Exec(t, "INSERT INTO "+db+".WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (4194303, 'h', 'p', 2, '2026-01-01')")
	b.check(t, exitFailure, "0 of 4,194,303 left", "", "doctor", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "", "worker ids exhausted", "gen", "--assigner", "disposable", "--dsn", dsn("worker"))

	s.Exec(t, "SET GLOBAL read_only = 1")
	b.check(t, exitFailure, "read-only", "", "doctor", "--dsn", dsn("worker"))
}

// TestDoctorDurability: a server that forgets commits when its machine crashes is found, by each setting that makes it so,
// and a server that does not is left alone.
func TestDoctorDurability(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		s := dbtest.MariaDB(t, "--log-bin", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
		b := newBench(t)
		b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict")
		for _, c := range []struct{ off, on, want string }{
			{"innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is 2: a crash"},
			{"innodb_flush_log_at_trx_commit = 0", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is 0: a crash"},
			{"sync_binlog = 0", "sync_binlog = 1", "sync_binlog is 0: a crash"},
			{"autocommit = 0", "autocommit = 1", "autocommit is off for new sessions"},
		} {
			s.Exec(t, "SET GLOBAL "+c.off)
			b.check(t, exitFailure, c.want, "", "doctor", "--strict")
			b.check(t, exitOK, "warn  durability", "", "doctor")
			s.Exec(t, "SET GLOBAL "+c.on)
		}
		b.check(t, exitOK, "ok  durability", "", "doctor", "--strict")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := dbtest.Postgres(t, "-cfsync=on")
		b := newBench(t)
		db := s.CreateDB(t)
		b.env["UID_DSN"] = s.DSN(db)
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict")
		s.Exec(t, "ALTER DATABASE "+db+" SET synchronous_commit = off")
		b.check(t, exitFailure, "synchronous_commit is off: a crash", "", "doctor", "--strict")

		shared := servers.Postgres(t)
		b.env["UID_DSN"] = shared.DSN(shared.CreateDB(t))
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitFailure, "fsync is off: a crash", "", "doctor", "--strict")
	})
}
