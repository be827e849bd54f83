package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// TestWorkersUnreadable: SQLite may store text in a column of numbers. Such rows are named one by one,
// the others are shown, and the run fails.
func TestWorkersUnreadable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "ids.db")
	for _, namespace := range []string{"orders", "users"} {
		b.check(t, exitOK, "", "", "gen", "--dsn", file, "--namespace", namespace)
	}
	for range 2 {
		b.check(t, exitOK, "", "", "gen", "--dsn", file, "--assigner", "disposable")
	}
	db, err := gorm.Open(sqlite.Open(file), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"INSERT INTO WORKER_LEASE SELECT NAMESPACE, 77, GENERATION, NONCE, 'me', 'soon', LAYOUT, " +
			"CREATED, MODIFIED FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND WORKER_ID = 0",
		"INSERT INTO WORKER_LEASE SELECT NAMESPACE, 'six\x1b', GENERATION, NONCE, 'me', 1, LAYOUT, " +
			"CREATED, MODIFIED FROM WORKER_LEASE WHERE NAMESPACE = 'users' AND WORKER_ID = 0",
		"UPDATE WORKER_NODE SET TYPE = 'tin' WHERE ID = 1",
		"UPDATE WORKER_LEASE SET OWNER = 'her', UNTIL_MS = 1 WHERE WORKER_ID = 0 AND NAMESPACE = 'orders'",
	} {
		if err := db.Exec(s).Error; err != nil {
			t.Fatal(err)
		}
	}
	if pool, err := db.DB(); err != nil || pool.Close() != nil {
		t.Fatal(err)
	}
	b.env["UID_DSN"] = file

	r := b.check(t, exitFailure, "WORKER_LEASE: 2 rows", "", "workers")
	for _, want := range []string{"WORKER_NODE: 1 row", "orders", "users"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the rows that can be read are not shown, want %q:\n%s", want, r.stdout)
		}
	}
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	for i, want := range [][]string{
		{`uid: WORKER_LEASE: the row of worker "77" in namespace "orders"`, "UNTIL_MS", `"soon"`},
		{`uid: WORKER_LEASE: the row of worker "six\x1b" in namespace "users"`, "WORKER_ID"},
		{`uid: WORKER_NODE: the row of worker "1"`, "TYPE", `"tin"`},
	} {
		for _, w := range want {
			if len(lines) != 3 || !strings.Contains(lines[i], w) {
				t.Errorf("stderr is\n%s\nwant 3 lines, line %d with %q", r.stderr, i+1, w)
			}
		}
	}

	r = b.run(t.Context(), "workers", "--json")
	var w workersJSON
	if err := json.Unmarshal([]byte(r.stdout), &w); err != nil || r.code != exitFailure {
		t.Fatalf("workers --json = %d, %v: %s", r.code, err, r.stdout)
	}
	if len(w.Leases) != 2 || len(w.Nodes) != 1 || len(w.Unreadable) != 3 ||
		w.Unreadable[0].Worker != "77" || w.Unreadable[0].Namespace != "orders" ||
		w.Unreadable[0].Table != "WORKER_LEASE" || !strings.Contains(w.Unreadable[0].Error, "soon") {
		t.Errorf("workers --json: %+v, want 2 leases, a node and 3 that cannot be read", w)
	}
	b.check(t, exitFailure, "orders: 1 reaped", `worker "77"`, "workers", "reap")
	b.check(t, exitFailure, `worker "77" in namespace "orders"`, "", "doctor")
	// With --namespace, the rows of other namespaces are not reported.
	r = b.run(t.Context(), "workers", "--namespace", "orders")
	if r.code != exitFailure || strings.Contains(r.stderr, "users") {
		t.Errorf("workers --namespace orders = %d: %s", r.code, r.stderr)
	}
}

// TestWorkersTakeBack takes an era of one namespace back, and leaves the others.
func TestWorkersTakeBack(t *testing.T) {
	t.Parallel()
	const list = "28-22-13-0/1s@2026-01-01T00:00:00Z"
	longer := list + ",36-14-13@" + time.Now().AddDate(1, 0, 0).UTC().Format(time.DateOnly) + "T00:00:00Z"
	for name, start := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.env["UID_DSN"] = start(t)[0]
			for _, namespace := range []string{"default", "users"} {
				b.check(t, exitOK, "", "", "gen", "--namespace", namespace, "--layout", longer)
			}
			take := []string{"workers", "take-back", "--layout", list, "--namespace"}
			b.check(t, exitFailure, "", "layout mismatch", append(take, "nobody")...)
			b.check(t, exitOK, "done: the layouts are "+list+"\n", "", append(take, "users")...)
			b.check(t, exitOK, "done", "", append(take, "users")...)
			var w workersJSON
			out := b.check(t, exitOK, "", "", "workers", "--json").stdout
			if err := json.Unmarshal([]byte(out), &w); err != nil {
				t.Fatal(err)
			}
			for _, l := range w.Leases {
				if cut := l.Layout == list; cut != (l.Namespace == "users") {
					t.Errorf("namespace %s has layout %s", l.Namespace, l.Layout)
				}
			}
			b.check(t, exitOK, "", "", "gen", "--namespace", "users", "--layout", list)
		})
	}
}

// TestWorkersRestored: a dry run prints statements and changes nothing. The run itself keeps worker ids
// that were in use from being used again, after which the doctor finds no fault.
func TestWorkersRestored(t *testing.T) {
	t.Parallel()
	for name, start := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.env["UID_DSN"] = start(t)[0]
			b.check(t, exitOK, "", "", "gen", "--assigner", "disposable")
			for _, namespace := range []string{"default", "users"} {
				b.check(t, exitOK, "", "", "gen", "--namespace", namespace)
			}
			for _, args := range [][]string{
				{"--reach", "25m"}, {"--highest", "0", "--reach", "25m"}, {"--highest", "-1", "--reach", "25m"},
				{"--highest", "9"}, {"--highest", "9", "--reach", "-1s"},
				{"--highest", "9", "--reach", "1s", "--layout-of", "default"},
			} {
				b.check(t, exitUsage, "", "--", append([]string{"workers", "restored"}, args...)...)
			}
			b.check(t, exitFailure, "", "want at least 2", "workers", "restored", "--highest", "1", "--reach", "25m")
			nodes := func() (w workersJSON) {
				t.Helper()
				out := b.check(t, exitOK, "", "", "workers", "--json").stdout
				if err := json.Unmarshal([]byte(out), &w); err != nil {
					t.Fatal(err)
				}
				return w
			}
			const list = "28-22-13-0/1s@2026-01-01T00:00:00Z"
			b.check(t, exitFailure, "", `"default=`+list+`", "users=`+list+`"`,
				"workers", "restored", "--highest", "9", "--reach", "25m")
			b.check(t, exitFailure, "", `"default=`+list+`"`,
				"workers", "restored", "--highest", "9", "--reach", "25m", "--layout-of", "users="+list)
			b.check(t, exitFailure, "", "layout mismatch", "workers", "restored", "--highest", "9", "--reach", "25m",
				"--layout", list, "--layout-of", "users=36-14-13-0/1s@2026-01-01T00:00:00Z")
			dry := b.check(t, exitOK, "a dry run", "",
				"workers", "restored", "--highest", "9", "--reach", "25m", "--layout", list, "--dry-run")
			if w := nodes(); len(w.Nodes) != 2 || !w.Leases[0].Free && w.Leases[0].LeftSeconds > 60 {
				t.Errorf("after a dry run the tables have %+v", w)
			}
			done := b.check(t, exitOK, "-- done", "", "workers", "restored", "--highest", "9", "--reach", "25m",
				"--layout", list)
			_, ran, _ := strings.Cut(done.stdout, "INSERT")
			if _, planned, _ := strings.Cut(dry.stdout, "INSERT"); planned != ran || ran == "" {
				t.Errorf("the dry run prints\n%s\nthe run\n%s", dry.stdout, done.stdout)
			}
			w := nodes()
			if w.Nodes[0].Worker != 9 || w.Nodes[0].Host != "restored" || len(w.Leases) != 2 {
				t.Errorf("the tables have %+v, want worker 9, restored, and 2 leases", w)
			}
			for _, l := range w.Leases {
				if l.LeftSeconds < 24*60 || l.Owner != "" {
					t.Errorf("lease %+v, want no owner and 25 minutes left", l)
				}
			}
			b.check(t, exitOK, `"highest_node":9`, "",
				"workers", "restored", "--highest", "9", "--reach", "25m", "--layout", list, "--json", "--dry-run")
			b.check(t, exitOK, "", "", "doctor")

			query(t, b.env["UID_DSN"], "DELETE FROM WORKER_NODE WHERE ID > 1")
			b.check(t, exitFailure, "worker 2 is leased and WORKER_NODE ends at 1", "", "doctor")
		})
	}
}
