package uid

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
)

// TestCloseEndsLooking closes a generator while its padder, or its keeper, stands at a reading of
// the clock, with a kick that waits for it. It does not look once more: the padder could call a
// PutFunc, and the keeper the authority, and Close would wait for that.
func TestCloseEndsLooking(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kick  func(*Cached)
		reads int64         // of the clock that the look makes before it stands
		d     time.Duration // how long it stands
	}{
		"padder": {(*Cached).kick, 0, 0},
		// It has seen that nothing is due, and then the claim is to be extended.
		"keeper": {func(c *Cached) { c.keeper.kick() }, 3, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Layout: bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}}
			for range 20 { // select takes any
				var held atomic.Pointer[chan struct{}]
				var reads atomic.Int64
				clock := NewTestClock()
				clock.OnRead = func() {
					if stand := held.Load(); stand != nil && reads.Add(1) > tc.reads {
						<-*stand
					}
				}
				authority := &assignertest.Memory{Length: time.Minute}
				c := Open(t, NewCachedAt, authority, o, clock)
				time.Sleep(time.Millisecond)
				stand := make(chan struct{})
				held.Store(&stand)
				for range 2 {
					tc.kick(c)
					synctest.Wait()
				}
				time.Sleep(tc.d)
				looks, asked := c.runs.Load(), len(authority.Calls(assignertest.OpExtend))
				done := make(chan error)
				go func() { done <- c.Close() }()
				synctest.Wait()
				held.Store(nil)
				close(stand)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				looks = c.runs.Load() - looks
				asked = len(authority.Calls(assignertest.OpExtend)) - asked
				if looks != 0 || asked != 0 {
					t.Fatalf("%s: after Close began the padder looked %d times, the keeper asked %d times", name,
						looks, asked)
				}
			}
		})
	}
}
