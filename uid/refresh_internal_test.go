package uid

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestRefreshRingFirst holds a refresh up at the first lane: the ring has no old run any more, so
// that a lane which is refilled before or after refresh looks at it gets none.
func TestRefreshRingFirst(t *testing.T) {
	t.Parallel()
	for _, follow := range []func(c *Cached){
		func(c *Cached) { c.composer.follow() },
		func(c *Cached) { _, _ = c.composer.fill() },
	} {
		clock := NewTestClock()
		c := Open(t, NewCachedAt, claimtest.Static(1), Both{SeqStart: 1, Lanes: 2}, clock)
		c.StopPadder()
		for range 20 { // steps that are believed at once
			clock.Step(500 * time.Millisecond)
			c.clock.now()
		}
		limit := c.composer.oldestAllowed(c.clock.now())
		if oldest := c.composer.oldest(); oldest >= limit {
			t.Fatal("the ring has no old run")
		}
		c.lanes[0].mu.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			follow(c)
		}()
		heldUp("uid.(*composer).refresh(", "uid.(*composer).refresh(")
		oldest := c.composer.oldest()
		c.lanes[0].mu.Unlock()
		<-done
		if oldest < limit {
			t.Errorf("refresh looks at the lanes while the ring has a run of %v, the limit is %v",
				c.timeline.time(oldest), c.timeline.time(limit))
		}
	}
}

// TestFillReadsClock lets time pass while rings are filled, a tick with every reading of the clock:
// what is composed late is composed by a late reading, so MaxLead, which forbids a second tick at
// first, does not keep the ring from being filled.
func TestFillReadsClock(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 6, Tick: 10 * time.Millisecond,
		Epoch: time.Now().Add(-time.Hour)}
	for _, policy := range []TakePolicy{TakePad, TakeReject} {
		clock := NewTestClock()
		clock.OnRead = func() { clock.Step(10 * time.Millisecond) }
		c := Open(t, NewCachedAt, claimtest.Static(1), Both{Layout: l, RunLength: 1, MaxLag: time.Hour,
			MaxLead: time.Nanosecond, BoostPower: 3, SeqStart: 1, TakePolicy: policy}, clock)
		c.StopPadder()
		if n := c.composer.ring.Len(); n < 8*64/2 {
			t.Errorf("policy %d: the ring has %d ids after it was filled, want its %d or nearly", policy, n,
				c.composer.ring.Cap())
		}
	}
}
