package uid

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// TestBatchOfOneWindow has the keeper replace the window all the time, by one of another worker id:
// every batch is of one of them. Otherwise ring and lanes would hold runs of two, in no order.
func TestBatchOfOneWindow(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{RunLength: 1}, NewTestClock())
	c.StopPadder()
	p := c.composer
	one := c.keeper.window.Load()
	two := *one
	two.worker++
	var done atomic.Bool
	var keeper sync.WaitGroup
	keeper.Go(func() {
		for !done.Load() {
			c.keeper.window.Store(&two)
			c.keeper.window.Store(one)
		}
	})
	heads := make([]int64, len(p.heads))
	// On a busy machine the two may take turns for long, which shows nothing.
	met, stop := 0, time.Now().Add(2*time.Second)
	for met < 2000/slow && time.Now().Before(stop) {
		p.ring.DropBelow(1<<63 - 1)
		before := c.keeper.window.Load()
		if _, err := p.fill(); err != nil {
			t.Error(err)
			break
		}
		if c.keeper.window.Load() != before {
			met++
		}
		n := p.ring.TryTakeN(heads)
		var of [3]int
		for _, head := range heads[:n] {
			of[uint64(head)&p.timeline.of(uint64(head)).tickMask>>p.timeline.of(uint64(head)).seqBits]++
		}
		if n == 0 || of[1] != n && of[2] != n {
			t.Errorf("a batch of %d runs has %d of worker id 1 and %d of worker id 2", n, of[1], of[2])
			break
		}
	}
	done.Store(true)
	keeper.Wait()
}
