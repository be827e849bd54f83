package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestSegmentDelete: nothing is deleted without --yes. The command that is printed makes the tag again
// without repeating an id.
func TestSegmentDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitFailure, "", "unknown tag", "segment", "delete", "order")
	b.check(t, exitUsage, "", "--source ticket has no tags to delete",
		"segment", "delete", "order", "--source", "ticket", "--yes")
	b.check(t, exitUsage, "", "the tag is empty", "segment", "delete", "")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10")
	b.check(t, exitOK, "1\n2\n3\n", "", "segment", "next", "order", "-n", "3")
	const again = `uid segment set order --source leaf --step 10 --next 4`
	b.check(t, exitOK, "a dry run: nothing is changed", "", "segment", "delete", "order")
	b.check(t, exitOK, `"order"`, "", "segment", "list", "--json")
	b.check(t, exitOK, again, "", "segment", "delete", "order", "--yes")
	b.check(t, exitOK, "no tags", "", "segment", "list")
	b.check(t, exitOK, "", "", strings.Fields(again)[1:]...)
	b.check(t, exitOK, "4\n", "", "segment", "next", "order")
	b.check(t, exitOK, "", "", "segment", "set", "$(id)`id`", "--step", "10")
	b.check(t, exitOK, "\nuid segment set '$(id)`id`' --source leaf ", "", "segment", "delete", "$(id)`id`")
}

// TestShellWord: a shell reads each word as the tag that it was made of, and runs nothing.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"order": "order", "a.b:c/d_1-2": "a.b:c/d_1-2", "订单": "'订单'", "a b": "'a b'",
		"it's": `'it'\''s'`, "$(echo 1)": "'$(echo 1)'", "`echo 1`": "'`echo 1`'", `\"$HOME"`: `'\"$HOME"'`,
		"'$(echo 1)'": `''\''$(echo 1)'\'''`, "!1;*?#~&|<>": "'!1;*?#~&|<>'",
		"\x1b[2J\n'$(echo 1)\\": `$'\033[2J\012\047$(echo 1)\134'`, "\u009b": `$'\302\233'`,
	} {
		word := shellWord(tag)
		if word != want {
			t.Errorf("shellWord(%q) = %s, want %s", tag, word, want)
		}
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+word).Output()
		if err != nil || string(out) != tag {
			t.Errorf("the shell reads %s as %q, %v, want %q", word, out, err, tag)
		}
	}
}

// TestSegmentPace: --pace shows the ids claimed between two checks. A new tag has no pace.
func TestSegmentPace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitUsage, "", "--pace is -1s", "segment", "list", "--pace=-1s")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10")
	b.check(t, exitOK, "LEFT", "", "segment", "list")
	done := make(chan result)
	go func() { done <- b.run(t.Context(), "segment", "list", "--pace", "2s", "--json") }()
	b.check(t, exitOK, "", "", "segment", "next", "order", "-n", "1000")
	b.check(t, exitOK, "", "", "segment", "set", "new", "--step", "10")
	r := <-done
	if !strings.Contains(r.stdout, `"ids_per_second":`) || strings.Count(r.stdout, "ids_per_second") > 2 {
		t.Errorf("list --pace = %+v, want the pace of the tag that was there", r)
	}
	r = b.check(t, exitOK, "IDS/S  LASTS", "", "segment", "list", "--pace", "1ms")
	if !strings.Contains(r.stdout, "  0      -") {
		t.Errorf("list --pace without claims is\n%s\nwant a pace of 0", r.stdout)
	}
}

// TestSegmentExpand: a dry run changes nothing, a run carries the plan out, and a second run finds
// nothing to do. No password is shown.
func TestSegmentExpand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var names []string
	for i := range 2 {
		s := dbtest.MariaDB(t, fmt.Sprint("--auto-increment-increment=", i+1),
			fmt.Sprint("--auto-increment-offset=", i+1))
		names = append(names, s.DSN(s.CreateDB(t)))
		b.env["UID_DSN"] = names[i]
		b.check(t, exitOK, "", "", "segment", "init")
	}
	next := func(want string, servers ...string) {
		t.Helper()
		args := []string{"segment", "next", "a", "--source", "ticket", "--dsn", servers[0]}
		for _, s := range servers[1:] {
			args = append(args, "--server", s)
		}
		b.check(t, exitOK, want, "", args...)
	}
	next("1\n", names[0])
	args := append([]string{"segment", "expand"}, names...)
	b.check(t, exitUsage, "", "1 servers, want 2 or more", args[:3]...)
	b.check(t, exitUsage, "", "which is another server of the list", append(args, names[0])...)
	b.check(t, exitUsage, "", "Step is 1, want 2", append(args, "--step", "1")...)
	b.check(t, exitUsage, "", "--server is for --source ticket", "segment", "next", "a", "--server", names[1])
	r := b.check(t, exitOK, "-- a dry run: nothing is changed", "", args...)
	if !strings.Contains(r.stdout, "REPLACE INTO `ticket` (stub) VALUES ('uid-ticket-plan 2/1/") ||
		strings.Contains(r.stdout, dbtest.Password) {
		t.Errorf("the dry run prints\n%s\nwant the statements and no password", r.stdout)
	}
	// One server by two names is refused before a plan is written. Elder plans are taken back.
	alias := strings.Replace(names[0], "127.0.0.1", "localhost", 1)
	b.check(t, exitUsage, "", "ticket servers 0 and 1 are one server", "segment", "expand", names[0], alias, "--yes")
	b.check(t, exitUsage, "", "--abandon takes a plan back", append(args, "--abandon", "--yes")...)
	b.check(t, exitOK, "-- 0 plans taken back", "", append(args, "--abandon")...)
	query(t, names[0], "REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan 3/1/3000000')")
	b.check(t, exitFailure, "", "a plan for step 3 that is not carried out", append(args, "--yes")...)
	b.check(t, exitOK, `{"abandoned":1}`, "", append(args, "--abandon", "--json")...)
	next("3\n", names[0])
	b.env["UID_DSN"] = strings.Join(names, " ")
	b.check(t, exitOK, "auto_increment_increment=2 auto_increment_offset=2", "", "segment", "expand", "--yes")
	b.check(t, exitOK, "-- nothing is left to do", "", "segment", "expand")
	b.check(t, exitOK, `"announce":[],"change":[]`, "", "segment", "expand", "--json")
	next("100000", names[0]) // a program with the old list goes on
	next("100000", names...)
}

// TestServeListed: with --listed, a tag that is added later is unknown. --max-step 1 keeps each tag's
// own step.
func TestServeListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitUsage, "", "--max-step is -1", "serve", "--max-step", "-1")
	b.check(t, exitUsage, "", "--wait is 0s", "serve", "--wait", "0s")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10")
	s := b.serve(t, "--listed", "--max-step", "1", "--wait", "5s", "--only", "segment")
	b.check(t, exitOK, "", "", "segment", "set", "late", "--step", "10")
	if status, body := s.get(t, "/api/segment/get/late"); status != 404 {
		t.Errorf("a tag that is not listed yet: %d %s, want 404", status, body)
	}
	for range 51 {
		s.ok(t, "/api/segment/get/order")
	}
	list := b.check(t, exitOK, "", "", "segment", "list", "--json").stdout
	var rows []rowJSON
	if err := json.Unmarshal([]byte(list), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("list = %v, %v", rows, err)
	}
	if next, err := strconv.Atoi(rows[1].Next); err != nil || next > 81 {
		t.Errorf("after 51 ids by 10 the counter of %s is at %d, %v, want at most 81", rows[1].Tag, next, err)
	}
}
