package main

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/number"
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
			// As after a restored backup that lacks the counter.
			b.check(t, exitOK, "", "", "segment", "set", "order@20261201@GZ", "--next", "20001", "--step", "100")
			b.check(t, exitOK, "GZ-20261201-020001-", "", "number", "next", "order", "GZ")
			b.check(t, exitUsage, "", "want 1..20261201", "number", "delete", "order", "--before", "202612010", "--yes")
			b.check(t, exitOK, "a dry run", "", "number", "delete", "order", "--before", "20261201")
			b.check(t, exitOK, "deleted 1 counters", "", "number", "delete", "order", "--before", "20261201", "--yes")
			b.now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			b.check(t, exitFailure, "", "over for good", "number", "next", "order", "BJ")
			b.check(t, exitUsage, "", "has no periods", "number", "list", "--source", "ticket")
			invoice(t, b.env["UID_DSN"])
			r = b.check(t, exitOK, "invoice  1         2026      2026      0         "+gapless+" UTC\n", "", "number",
				"list")
			if !strings.Contains(r.stdout, "\norder    2         20261201  20261201  20261201  ") {
				t.Errorf("list prints\n%s\nwant order as well", r.stdout)
			}
			r = b.check(t, exitOK, "", "", "number", "parse", "invoice", "BJ2026-0001")
			want := "shop     BJ\nperiod   begins 2026-01-01\ncount    1\ncounter  invoice@2026@BJ\n"
			if r.stdout != want {
				t.Errorf("parse prints\n%s\nwant\n%s", r.stdout, want)
			}
			b.check(t, exitFailure, "", "after its end", "number", "parse", "invoice", "BJ2026-0001X")
			b.check(t, exitUsage, "", "another format", "number", "parse", "invoice", "BJ2026-0001", "--zone",
				"Asia/Shanghai")
			b.check(t, exitUsage, "", "never used with --source leaf", "number", "next", "invoice", "BJ")
		})
	}
}

const gapless = "{shop upper 2}{2006}-{n 4 year gapless}"

// invoice takes a gapless number of the name invoice, of the year 2026.
func invoice(t *testing.T, name string) {
	t.Helper()
	s, db := opened(t, name)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	n, err := number.NewGapless(t.Context(), pool, s.Dialect, "invoice", gapless,
		&number.Options{Clock: func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Next(t.Context(), tx, "BJ"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
