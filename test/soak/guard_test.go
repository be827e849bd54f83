package main

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/uid"
)

// TestGuard: ids of ticks that lie wholly inside a window of their worker id pass, and no others.
func TestGuard(t *testing.T) {
	t.Parallel()
	alloc, err := bitsalloc.New(layout())
	if err != nil {
		t.Fatal(err)
	}
	at := func(tick int64, d time.Duration) time.Time { return alloc.TimeAt(tick).Add(d) }
	var g guard
	want := func(what string, tick, worker int64, outside bool) {
		t.Helper()
		id, err := alloc.Compose(tick, worker, 7)
		if err != nil {
			t.Fatal(err)
		}
		ids := []uid.ID{uid.ID(id), uid.ID(id + 1)}
		n, first := g.outside(alloc, ids)
		if outside && (n != 2 || first != ids[0]) || !outside && n != 0 {
			t.Errorf("%s: %d ids outside, the first is %d, want outside: %v", what, n, first,
				outside)
		}
	}
	want("no window", 100, 3, true)
	g.window(winlog.Window{Claim: 1, Worker: 3, From: at(100, 1), Until: at(105, 0)})
	want("a tick that had begun", 100, 3, true)
	want("the first whole tick", 101, 3, false)
	want("the last whole tick", 104, 3, false)
	want("another worker", 104, 4, true)
	want("the last whole tick", 104, 3, false)
	want("the tick at the end", 105, 3, true)
	g.window(winlog.Window{Claim: 1, Worker: 3, From: at(100, 1),
		Until: at(106, 50*time.Millisecond)})
	want("the tick at the end, extended", 105, 3, false)
	want("a tick that is cut", 106, 3, true)
	g.window(winlog.Window{Claim: 2, Worker: 4, From: at(90, 0)})
	want("another claim without an end", 5000, 4, false)
	want("the first claim", 105, 3, false)
	g.window(winlog.Window{Claim: 1, Worker: 3, From: at(100, 1), Until: at(103, 0)})
	want("after the release", 104, 3, true)
	g.window(winlog.Window{Claim: 3, Worker: 5})
	want("all of time", 1, 5, false)
}
