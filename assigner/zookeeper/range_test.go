package zookeeper_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

// TestRange: the slots of a range have its worker ids, through takeover, extension and a start from
// the cache file.
func TestRange(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	o := zookeeper.Options{Instance: "one", First: 512, Last: 513}
	a := open(t, s.addr, o)
	c := claim(t, a)
	wantWorker(t, c, 512)
	extend(t, c, until(c).Add(time.Minute))
	used := time.Now().Add(-time.Second)
	release(t, c, used)
	if _, stored, err := a.ReadSlot(t.Context(), 512); err != nil || stored.After(used.Add(time.Second)) {
		t.Errorf("slot of worker 512 is reserved until %v, %v, want %v", stored, err, used)
	}
	o.CacheFile = t.TempDir() + "/cache"
	again := open(t, s.addr, o)
	c = claim(t, again)
	wantWorker(t, c, 512) // its own slot, whose window has passed
	release(t, c, time.Now())
	again.Close()
	o.SessionTimeout = 200 * time.Millisecond
	wantWorker(t, claim(t, open(t, "127.0.0.1:1", o)), 512)

	wantWorker(t, claim(t, open(t, s.addr, zookeeper.Options{Instance: "two", First: 512, Last: 513})), 513)
	_, err := open(t, s.addr, zookeeper.Options{Instance: "three", First: 512, Last: 513}).
		Assign(within(t, 10*time.Second), maxWorker)
	if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), "all 2 slots of 512..513") {
		t.Errorf("a third claim of two: error %v, want ErrWorkersExhausted with the range", err)
	}
}

// TestRangeOfRoot: all slots of a root count from the same worker id.
func TestRangeOfRoot(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for _, firsts := range [][2]int64{{0, 512}, {512, 0}, {512, 513}} {
		root := root(t) + "/" + strings.Repeat("x", int(firsts[0]/256+firsts[1]%256+1))
		claim(t, open(t, s.addr, zookeeper.Options{Root: root, First: firsts[0]}))
		_, err := open(t, s.addr, zookeeper.Options{Root: root, First: firsts[1]}).
			Assign(within(t, 10*time.Second), maxWorker)
		if !errors.Is(err, zookeeper.ErrOptions) ||
			!strings.Contains(err.Error(), "give each range a root of its own") {
			t.Errorf("First %d after %d: error %v, want ErrOptions", firsts[1], firsts[0], err)
		}
	}
}
