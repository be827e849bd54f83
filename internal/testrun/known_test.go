package main

import (
	"strings"
	"testing"
)

// TestKnown leaves out the reports of go-zookeeper's own race, and no others.
func TestKnown(t *testing.T) {
	t.Parallel()
	report := func(at string) string {
		return "==================\nWARNING: DATA RACE\nWrite at 0x1 by goroutine 2:\n  " + at +
			"()\n      conn.go:1\n==================\n"
	}
	theirs, ours := report("github.com/go-zookeeper/zk.(*Conn).sendSetWatches"), report("uid.(*Cached).Next")
	if got := known(theirs + "FAIL\n"); final.MatchString(got) || !strings.Contains(got, "FAIL") {
		t.Errorf("known leaves %q", got)
	}
	if !final.MatchString(known(theirs + ours)) {
		t.Error("known hides a race of ours")
	}
}
