package uid

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// TestTopByOneCaller leaves a ring low while another goroutine composes: callers take what is there
// and queue nothing. The next one composes a single batch.
func TestTopByOneCaller(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{RunLength: 1, MaxLag: time.Hour}, NewTestClock())
	c.StopPadder()
	p := c.composer
	p.mu.Lock()
	pos := p.pos.Load()
	const below = 1000
	for range 1<<15 + below { // half of the ring, and more
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p.pos.Load() != pos || !p.isLow() {
		t.Fatalf("%d ids were composed while another goroutine was at it", p.pos.Load()-pos)
	}
	p.mu.Unlock()
	if _, err := c.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.pos.Load() - pos; got != uint64(len(p.heads)) {
		t.Errorf("the next caller composed %d runs, want one batch of %d", got, len(p.heads))
	}
	if len(c.wake) != 1 {
		t.Error("the padder was not asked for the rest")
	}
}

// TestPositionAboveRing takes runs while they are put: each lies below the position, so that
// nobody judges what has been handed out by an older position.
func TestPositionAboveRing(t *testing.T) {
	t.Parallel()
	c, err := NewCached(t.Context(), claimtest.Static(1), &Options{RunLength: 1, MaxLag: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.StopPadder()
	c.Empty()
	p := c.composer
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		for range 1000 {
			if _, err := p.fill(); err != nil {
				t.Error(err)
			}
			for p.ring.Len() > 0 && !t.Failed() { // the next run is the newest
				runtime.Gosched()
			}
		}
	})
	numbers := c.timeline.of(p.pos.Load()).number(0, 1) // what a number has above its position
	for !done.Load() {
		n, ok := p.ring.TryTake()
		if !ok {
			runtime.Gosched()
		} else if pos := p.pos.Load(); uint64(n)&^numbers >= pos {
			t.Errorf("the run %d was put before the position went from %d on", n, pos)
			break
		}
	}
	wg.Wait()
}
