package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSegmentUsage: an invalid command line, or one that would change nothing, is refused before the
// database is opened.
func TestSegmentUsage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["UID_DSN"] = "mysql://127.0.0.1:1/ids"
	for _, c := range []struct {
		stderr string
		args   []string
	}{
		{"set changes nothing without --step or --next", []string{"set", "order"}},
		{"--step is 0, want 1..2147483647", []string{"set", "order", "--step", "0"}},
		{"--step is -1, want 1..2147483647", []string{"set", "order", "--step=-1"}},
		{"--step is 2147483648, want 1..2147483647", []string{"set", "order", "--step=2147483648"}},
		{"--next is 0, want 1..9223372036854775807", []string{"set", "order", "--next", "0"}},
		{"--next is -5, want 1..9223372036854775807", []string{"set", "order", "--step", "1", "--next=-5"}},
		{"--next: expected", []string{"set", "order", "--next=9223372036854775808"}},
		{"the tag is empty", []string{"next", ""}},
		{"the tag is empty", []string{"set", "", "--step", "1"}},
		{"-n is 0", []string{"next", "order", "-n", "0"}},
		{"--source must be one of", []string{"list", "--source", "files"}},
		{"--dsn is empty", []string{"list", "--dsn", ""}},
		{"argument 3 is not UTF-8", []string{"set", "caf\xe9", "--step", "1"}},
		{"argument 4 is not UTF-8", []string{"list", "--dsn", "caf\xe9.db"}},
	} {
		b.check(t, exitUsage, "", c.stderr, append([]string{"segment"}, c.args...)...)
	}
}

// TestSegmentSet: the step and the counter can be changed separately.
func TestSegmentSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitUsage, "", "Step is 0, want 1 or more for a new tag", "segment", "set", "订单", "--next", "10")
	b.check(t, exitOK, "", "", "segment", "set", "订单", "--step", "5")
	b.check(t, exitOK, "", "", "segment", "set", "订单", "--next", "10")
	b.check(t, exitOK, `[{"tag":"订单","next":"10","step":5,"left":"9223372036854775797"}]`, "",
		"segment", "list", "--json")
	b.check(t, exitOK, "10\n11\n", "", "segment", "next", "订单", "-n", "2")
}

// TestSegmentTables: on every kind of database, the error for a missing table says how to make it.
func TestSegmentTables(t *testing.T) {
	t.Parallel()
	for name, start := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.env["UID_DSN"] = start(t)[0]
			for _, args := range [][]string{
				{"segment", "list"}, {"segment", "next", "order"}, {"segment", "next", "order", "--source", "sequence"},
				{"segment", "set", "order", "--step", "1"},
			} {
				r := b.check(t, exitFailure, "", `"uid segment init" makes the tables`, args...)
				if strings.Contains(r.stderr, "with sqltable: ") {
					t.Errorf("no function has the name in %s", r.stderr)
				}
			}
			b.check(t, exitOK, "leaf_alloc: there, in ", "", "segment", "init")
			b.check(t, exitOK, "no tags", "", "segment", "list")
		})
	}
}

// TestSegmentUnknownTag: the error for an unknown tag says how to make it.
func TestSegmentUnknownTag(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, source := range []string{"leaf", "sequence"} {
		for _, want := range []string{"unknown tag", `"uid segment set TAG --step N" makes`} {
			b.check(t, exitFailure, "", want, "segment", "next", "order", "--source", source)
		}
	}
}

// TestSegmentNextSlow: --timeout bounds the wait for the database, not for the reader of the ids.
func TestSegmentNextSlow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10")
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		var stderr strings.Builder
		p := &program{
			stdin: strings.NewReader(""), stderr: &stderr, now: b.clock,
			getenv:   func(string) string { return "" },
			cacheDir: func() (string, error) { return b.cache, nil },
		}
		p.stdout = writeFunc(func(text []byte) (int, error) {
			time.Sleep(time.Minute)
			lines += strings.Count(string(text), "\n")
			return len(text), nil
		})
		code := p.run(t.Context(), []string{"segment", "next", "order", "-n", "100000"})
		if code != exitOK || lines != 100_000 || stderr.Len() > 0 {
			t.Errorf("status %d with %d lines, stderr %q, want 0 with 100000 and nothing", code, lines, &stderr)
		}
	})
}

// TestSegmentListMarks: list says of each row that no range can be fetched from why.
func TestSegmentListMarks(t *testing.T) {
	t.Parallel()
	server := servers.MariaDB(t)
	name := server.CreateDB(t)
	b := newBench(t)
	b.env["UID_DSN"] = server.DSN(name)
	b.check(t, exitOK, "", "", "segment", "init")
	for _, tag := range []string{"good", "null", "minus", "full"} {
		b.check(t, exitOK, "", "", "segment", "set", tag, "--step", "10")
	}
	server.Exec(t, "USE "+name, "UPDATE "+name+".leaf_alloc SET step = 0 WHERE biz_tag = 'null'",
		"UPDATE "+name+".leaf_alloc SET step = -7 WHERE biz_tag = 'minus'",
		"UPDATE "+name+".leaf_alloc SET max_id = 9223372036854775800 WHERE biz_tag = 'full'")
	r := b.check(t, exitOK, "", "", "segment", "list")
	for tag, want := range map[string]string{
		"null": "<- step is 0, want 1..2147483648", "minus": "<- step is -7, want 1..2147483648",
		"full": "<- no range left", "good": "",
	} {
		for _, line := range r.lines() {
			marked := strings.Contains(line, "<-")
			if strings.HasPrefix(line, tag+" ") && (!strings.Contains(line, want) || marked != (want != "")) {
				t.Errorf("list prints %q, want %q", line, want)
			}
		}
	}
	b.check(t, exitOK, `"problem":"step is -7, want 1..2147483648"`, "", "segment", "list", "--json")
}

// TestMismatchFlags: the error about layouts names the flags that decide on them.
func TestMismatchFlags(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitFailure, "", "or a --namespace apart", "serve", "--addr", "127.0.0.1:0", "--only", "snowflake",
		"--namespace", "default")
	b.check(t, exitFailure, "", "use the --layout, --epoch and --tick", "gen", "--layout", "leaf")
}
