package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/cmd/uid/internal/doctor"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// databases returns a function for each kind of database, which creates a database and returns its data
// source name in every form.
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
			return []string{s.DSN(db), fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=disable",
				host, port, dbtest.User, dbtest.Password, db)}
		},
		"SQLite": func(t *testing.T) []string {
			file := filepath.Join(t.TempDir(), "ids 100%&#.db")
			return []string{file, "sqlite:" + file}
		},
	}
}

// TestDatabases runs the commands on every kind of database, which has no table at first. gen makes the
// tables, every run takes a worker id and gives it back, and no id occurs twice. workers lists, reap
// reaps, and the doctor finds no fault.
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
						r := b.check(t, exitOK, "", "",
							"gen", "-n", "100", "--dsn", dsn, "--assigner", assigner, "--kind", kind)
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
			if len(w.Nodes) < 2*len(dsns) || len(w.Leases) == 0 || w.Leases[0].Owner != "" ||
				w.Leases[0].Layout != mustLayout(t, "").alloc.Layout().String() {
				t.Errorf("workers: %+v, want a node for each disposable run and leases that were given back", w)
			}
			b.check(t, exitOK, "WORKER_LEASE: ", "", "workers", "--limit", "1")
			b.check(t, exitOK, w.Leases[0].Namespace, "", "workers", "--namespace", w.Leases[0].Namespace)
			b.check(t, exitOK, "WORKER_LEASE: no rows", "", "workers", "--namespace", "nobody's")
			b.check(t, exitOK, "0 reaped", "", "workers", "reap")
			b.check(t, exitOK, "no leases", "", "workers", "reap", "--namespace", "nobody's")

			r = b.check(t, exitOK, "worker ids", "", "doctor")
			for _, line := range r.lines() {
				// The shared servers trade durability for speed, and an old InnoDB forgets keys. See
				// TestDoctorDurability.
				if !strings.Contains(line, "durability") && !strings.Contains(line, recomputes) &&
					(strings.HasPrefix(line, "fail") || strings.HasPrefix(line, "warn")) {
					t.Errorf("doctor finds fault:\n%s", r.stdout)
				}
			}
			out := b.check(t, exitOK, "", "", "doctor", "--json").stdout
			var report doctor.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK || len(report.Findings) < 8 {
				t.Errorf("doctor --json: %+v, %v, want eight findings and OK", report, err)
			}
			b.check(t, exitFailure, "", "ran out", "gen", "--layout", "baidu")
			checkSegments(t, b)
			b.check(t, exitFailure, "runs out at 2024-11-20T13:24:16Z", "", "doctor", "--layout", "baidu")
		})
	}
}

// recomputes is a part of the doctor's finding about InnoDB before MySQL 8.0.
const recomputes = "recomputes the next key from the rows at each restart"

// checkSegments makes tags and takes ids from every source. No id occurs twice, and if the source can
// count in any step, the ids are consecutive and none is left over.
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
			r := b.check(t, exitOK, "", "", "segment", "next", "order", "-n", strconv.Itoa(n), src)
			all = append(all, parseIDs(t, r, decimalForm)...)
		}
		if unique(t, all); len(all) != 3*n {
			t.Errorf("%s: %d ids, want %d", source, len(all), 3*n)
		}
		if source == "ticket" {
			next := fmt.Sprintf("\"next\":\"%d\"", all[59]+1)
			b.check(t, exitOK, next, "", "segment", "list", "--json", src)
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

// TestSchemaRuns: on real servers, the statements of schema make tables in which the doctor finds no
// fault.
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
			r := b.check(t, exitOK, "CREATE TABLE IF NOT EXISTS WORKER_NODE", "", "schema", "--dialect", c.dialect)
			s.Query(t, db, r.stdout)
			b.check(t, exitOK, "", "", "doctor", "--dsn", s.DSN(db))
		})
	}
}
