package uid

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
)

// TestTopByOneCaller leaves a ring low while another goroutine composes: callers take what is there
// and queue nothing. The next one composes a single batch.
func TestTopByOneCaller(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, assignertest.Static(1), Options{RunLength: 1, MaxLag: time.Hour}, NewTestClock())
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
