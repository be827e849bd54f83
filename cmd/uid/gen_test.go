package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/uid"
)

// parseIDs parses the output of gen, one id a line, and checks that no id occurs twice.
func parseIDs(t *testing.T, r result, form idForm) []uid.ID {
	t.Helper()
	var ids []uid.ID
	for _, line := range r.lines() {
		id, _, _, err := parseID(line, form, false)
		if err != nil {
			t.Fatalf("gen printed %q: %v", line, err)
		}
		ids = append(ids, id)
	}
	unique(t, ids)
	return ids
}

// unique fails the test if an id is in ids twice.
func unique(t *testing.T, ids []uid.ID) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			t.Fatalf("id %d was repeated", sorted[i])
		}
	}
}

// TestGenFormats: gen makes as many ids as it is asked for, and every text form can be parsed.
func TestGenFormats(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []uid.ID
	for _, form := range []idForm{decimalForm, base32Form, base62Form} {
		for _, n := range []int{1, 2, batch, batch + 1, 10_000} {
			r := b.check(t, exitOK, "", "", "gen", "-n", strconv.Itoa(n), "--format", string(form))
			ids := parseIDs(t, r, form)
			if len(ids) != n || !slices.IsSorted(ids) {
				t.Errorf("gen -n %d --format %s made %d ids, increasing: %v, want %d that increase",
					n, form, len(ids), slices.IsSorted(ids), n)
			}
			all = append(all, ids...)
		}
	}
	unique(t, all)
}

// TestGenJSON: each line is an object with an id and its parts.
func TestGenJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.check(t, exitOK, "", "", "gen", "-n", "3", "-f", "json", "--zone", "UTC",
		"--layout", "shardgene", "--worker", "33", "--gene", "7")
	var ids []uid.ID
	for _, line := range r.lines() {
		var j idJSON
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		id, err := uid.ParseID(j.ID)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if j.DataCentre == nil || *j.DataCentre != 1 || j.Worker != 1 || j.Gene == nil || *j.Gene != 3 ||
			j.Base32 != uid.Base32.Text(id) || j.Base62 != uid.Base62.Text(id) {
			t.Errorf("%s: want data centre 1, worker 1, gene 3 and the text forms of the id", line)
		}
		if at, err := time.Parse(time.RFC3339Nano, j.Time); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("%s: time %v, %v, want about now", line, at, err)
		}
	}
	if unique(t, ids); len(ids) != 3 {
		t.Errorf("%d ids, want 3", len(ids))
	}
}

// TestGenTable: the columns line up below the heading, over many rows.
func TestGenTable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lines := b.check(t, exitOK, "", "", "gen", "-n", "2000", "-f", "table").lines()
	if len(lines) != 2001 {
		t.Fatalf("%d lines, want a heading and 2000 rows", len(lines))
	}
	for _, title := range []string{"BASE32", "BASE62", "TIME", "WORKER", "SEQ"} {
		at := strings.Index(lines[0], title)
		for _, row := range lines[1:] {
			if at <= 0 || row[at] == ' ' || row[at-1] != ' ' {
				t.Fatalf("%q does not line up with %s:\n%s", row, title, lines[0])
			}
		}
	}
}

// TestGenWorkers: concurrent runs, the first on this folder, share no id. With disposable worker ids
// they share no worker id either.
func TestGenWorkers(t *testing.T) {
	t.Parallel()
	for _, assigner := range []string{"leased", "disposable"} {
		b := newBench(t)
		const runs = 8
		var wg sync.WaitGroup
		got := make([]result, runs)
		for i := range runs {
			wg.Go(func() { got[i] = b.run(t.Context(), "gen", "-n", "1000", "--assigner", assigner) })
		}
		wg.Wait()
		alloc := mustLayout(t, "").alloc
		workers := map[int64]bool{}
		var all []uid.ID
		for _, r := range got {
			if r.code != exitOK {
				t.Fatalf("%s: a run of %d at once failed: %s", assigner, runs, r.stderr)
			}
			ids := parseIDs(t, r, decimalForm)
			all = append(all, ids...)
			workers[uid.ParseParts(alloc, ids[0]).Worker] = true
		}
		if unique(t, all); len(all) != runs*1000 {
			t.Errorf("%s: %d ids, want %d", assigner, len(all), runs*1000)
		}
		if assigner == "disposable" && len(workers) != runs {
			t.Errorf("%d workers in %d runs, want one each", len(workers), runs)
		}
	}
}

// TestGenReuse: runs one after the other do not use up worker ids, although each has to leave out a
// worker id whose last tick is not over.
func TestGenReuse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []uid.ID
	alloc := mustLayout(t, "45-10-8/1ms").alloc
	for range 20 {
		ids := parseIDs(t, b.check(t, exitOK, "", "", "gen", "-n", "10", "--layout", "45-10-8/1ms"), decimalForm)
		if w := uid.ParseParts(alloc, ids[0]).Worker; w > 2 {
			t.Errorf("worker id %d, want 1, or 2 if 1 was not free yet", w)
		}
		all = append(all, ids...)
	}
	unique(t, all)
}

// TestGenKindDefault: the generator that waits for the clock stamps no id ahead of it.
func TestGenKindDefault(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.check(t, exitOK, "", "", "gen", "-n", "3000", "--kind", "default", "--worker", "1",
		"--layout", "39-10-10-0/1ms@2026-01-01T00:00:00Z")
	ids := parseIDs(t, r, decimalForm)
	last := uid.ParseParts(mustLayout(t, "39-10-10-0/1ms@2026-01-01T00:00:00Z").alloc, ids[len(ids)-1])
	if len(ids) != 3000 || last.Time.After(time.Now()) {
		t.Errorf("%d ids up to %v, want 3000 and none ahead of the clock", len(ids), last.Time)
	}
}

// TestGenErrors: a run that cannot work fails with the reason, and prints nothing on stdout.
func TestGenErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ args, want string }{
		{"gen --layout baidu --epoch 2000-01-01", "no ticks left"},
		{"gen --dsn mysql://127.0.0.1:1/ids", "mysql at 127.0.0.1:1/ids: "},
		{"gen --dsn postgres://127.0.0.1:1/ids", "postgres at 127.0.0.1:1/ids: "},
		{"gen --dsn sqlite:/nonexistent/folder/ids.db", "no such file"},
	} {
		if r := b.check(t, exitFailure, "", c.want, strings.Fields(c.args)...); r.stdout != "" {
			t.Errorf("uid %s prints %q, want nothing", c.args, r.stdout)
		}
	}
	// A command line that can never work is a usage error, before the database is opened.
	b.cache = ""
	b.check(t, exitUsage, "", "--gene: the layout", "gen", "--gene", "5")
	b.check(t, exitUsage, "", "--worker is -1, want 0..4194303", "gen", "--worker=-1")
	b.check(t, exitUsage, "", "--worker is 1024, want 0..1023", "gen", "--worker", "1024", "--layout",
		"28-22-13,40-10-13@2030-01-01T00:00:00Z")
	b.check(t, exitUsage, "", "begins at 2200-01-01T00:00:00Z", "gen", "--epoch", "2200-01-01")
}

func mustLayout(t *testing.T, text string) namedLayout {
	t.Helper()
	n, err := (&layoutFlags{Layout: text}).resolve()
	if err != nil {
		t.Fatal(err)
	}
	return n
}
