package uid_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// counters looks at a generator's counters again and again, and reports those that fall. It also
// reports an Issued that is less than the ids that callers had before the check, or more than those
// that they have or were asking for after it.
type counters struct {
	g           *uid.Cached
	got, asking atomic.Int64
	last        uid.Stats
}

// look takes one snapshot and reports whether it is right.
func (c *counters) look(t *testing.T) bool {
	got := c.got.Load()
	s, last := c.g.Stats(), c.last
	asking := c.asking.Load()
	c.last = s
	if s.Issued < last.Issued || s.RunsTaken < last.RunsTaken || s.RunsStale < last.RunsStale {
		t.Errorf("Issued went from %d to %d, RunsTaken from %d to %d, RunsStale from %d to %d", last.Issued,
			s.Issued, last.RunsTaken, s.RunsTaken, last.RunsStale, s.RunsStale)
		return false
	}
	if s.Issued < got || s.Issued > asking+asking/100 { // some numbers are skipped
		t.Errorf("Issued is %d, %d ids were handed out before and %d asked for after it", s.Issued, got, asking)
		return false
	}
	return true
}

// TestIssuedWhileBusy reads the counters while others take ids one by one and in slices, from one
// lane and from eight. Every number of the runs that were taken is an id, or skipped.
func TestIssuedWhileBusy(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 8} {
		c := &counters{g: newCached(t, &uid.Both{Lanes: lanes, RunLength: 64,
			Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 6, SeqBits: 12, Tick: time.Millisecond}})}
		var stop atomic.Bool
		var wg sync.WaitGroup
		for k := range 3 {
			wg.Go(func() {
				ids := make([]uid.ID, 1+k*150)
				for !stop.Load() {
					c.asking.Add(int64(len(ids)))
					n := 1
					if k == 0 {
						mustNext(t, c.g)
					} else if n, _ = c.g.Fill(t.Context(), ids); n < len(ids) {
						t.Error("Fill set fewer ids than asked for")
					}
					c.got.Add(int64(n))
				}
			})
		}
		looks := 0
		for end := time.Now().Add(time.Second); time.Now().Before(end) && c.look(t); looks++ {
		}
		stop.Store(true)
		wg.Wait()
		got, issued := c.got.Load(), c.g.Stats().Issued
		if issued < got || issued > got+got/100 || lanes == 1 && c.g.Stats().RunsTaken*64 < issued {
			t.Errorf("%d lanes: Issued is %d, %d ids were handed out", lanes, issued, got)
		}
		t.Logf("%d lanes: %d looks, %d ids, %d skipped", lanes, looks, got, issued-got)
	}
}

// TestIssuedWhileIdle reads the counters while the ring of a generator goes stale, of which nobody
// takes an id after the first one.
func TestIssuedWhileIdle(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 8} {
		c := &counters{g: newCached(t, &uid.Both{Lanes: lanes, MaxLag: 6 * time.Millisecond,
			Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 6, SeqBits: 12, Tick: time.Millisecond}})}
		mustNext(t, c.g)
		c.got.Add(1)
		c.asking.Add(1)
		for end := time.Now().Add(time.Second); time.Now().Before(end) && c.look(t); {
		}
		if s := c.g.Stats(); s.RunsStale == 0 || s.Issued != 1 {
			t.Errorf("%d lanes: %d runs were dropped, Issued is %d, want some and 1", lanes, s.RunsStale, s.Issued)
		}
	}
}

// TestIssuedOfLateCaller has a caller add after a refill that it did not see: the number that it
// skips counts.
func TestIssuedOfLateCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{RunLength: 4, SeqStart: 1}, uid.NewTestClock())
		mustNext(t, c)
		late := c.Late()
		for range 4 {
			mustNext(t, c)
		}
		if late() != 0 {
			t.Fatal("the late caller got an id")
		}
		if got := c.Stats().Issued; got != 6 {
			t.Errorf("Issued is %d, want 5 ids and a skipped number", got)
		}
	})
}
