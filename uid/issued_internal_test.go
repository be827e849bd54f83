package uid

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestIssuedAtClose counts the ids of a Default at the instant at which Close replaces its last
// position, again and again: the count is that of before. A reader that loaded final too early was
// wrong once in 50,000 rounds.
func TestIssuedAtClose(t *testing.T) {
	t.Parallel()
	const ids = 5
	stop := time.Now().Add(time.Second)
	var d Default
	var turn, done atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); !over.Load(); i++ {
			spin(func() bool { return turn.Load() >= i || over.Load() })
			for range 3 {
				if n := d.issued(); n != ids && !over.Swap(true) {
					t.Errorf("in round %d %d ids are counted while Close runs, want %d", i, n, ids)
				}
			}
			done.Store(i)
		}
	})
	for i := int64(1); !over.Load() && time.Now().Before(stop); i++ {
		d.last.Store(ids - 1)
		d.final.Store(0)
		turn.Store(i)
		for range i % 37 { // at each of the reader's instructions
			turn.Load()
		}
		d.jumping.Add(1) // what Close does
		d.final.Store(d.last.Swap(closedPosition))
		d.jumping.Add(-1)
		spin(func() bool { return done.Load() >= i || over.Load() })
	}
	over.Store(true)
	wg.Wait()
}
