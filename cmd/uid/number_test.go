package main

import (
	"strings"
	"testing"
	"time"
)

// TestNumber: a name's format is given once. Numbers are taken and taken apart, old counters are listed
// and deleted, and a deleted period does not begin anew.
func TestNumber(t *testing.T) {
	t.Parallel()
	for name := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.env["UID_DSN"] = databases(t)[name](t)[0]
			b.now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			const format = "{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}"
			b.check(t, exitOK, "", "", "segment", "init")
			b.check(t, exitUsage, "", "want --format", "number", "next", "order", "BJ")
			b.check(t, exitOK, "BJ-20261122-000001-G\nBJ-20261122-000002-E\n", "",
				"number", "next", "order", "BJ", "-n", "2", "--format", format, "--zone", "Asia/Shanghai")
			b.check(t, exitOK, "BJ-20261122-000003-C\n", "", "number", "next", "order", "BJ")
			b.check(t, exitUsage, "", "another format", "number", "next", "order", "BJ", "--zone", "UTC")
			b.check(t, exitUsage, "", "want 1: shop", "number", "next", "order", "BJ", "SH")
			b.check(t, exitUsage, "", "want 1..100000", "number", "next", "order", "BJ", "-n", "0")
			r := b.check(t, exitOK, "", "", "number", "parse", "order", "BJ-20261122-000002-E")
			for _, want := range []string{"shop     BJ", "begins 2026-11-22", "count    2", "order@20261122@BJ"} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("parse prints\n%s\nwant %q", r.stdout, want)
				}
			}
			b.check(t, exitFailure, "", "does not fit", "number", "parse", "order", "BJ-20261122-000020-E")
			b.now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
			b.check(t, exitOK, "SH-20261201-000001-", "", "number", "next", "order", "SH")
			b.check(t, exitOK, "order  2         20261122  20261201  0      "+format, "", "number", "list")
			b.check(t, exitUsage, "", "want 1..20261201", "number", "delete", "order", "--before", "202612010", "--yes")
			b.check(t, exitOK, "a dry run", "", "number", "delete", "order", "--before", "20261201")
			b.check(t, exitOK, "deleted 1 counters", "", "number", "delete", "order", "--before", "20261201", "--yes")
			b.now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			b.check(t, exitFailure, "", "over for good", "number", "next", "order", "BJ")
			b.check(t, exitUsage, "", "has no periods", "number", "list", "--source", "ticket")
		})
	}
}
