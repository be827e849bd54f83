package uid

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestCloseEndsLooking closes a generator while its padder stands at a reading of the clock, with a
// kick that waits for it: it does not look once more, and call a PutFunc that Close waits for.
func TestCloseEndsLooking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Both{Layout: bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}}
		for range 20 { // select takes any
			var held atomic.Pointer[chan struct{}]
			clock := NewTestClock()
			clock.OnRead = func() {
				if stand := held.Load(); stand != nil {
					<-*stand
				}
			}
			c := Open(t, NewCachedAt, claimtest.Static(1), o, clock)
			time.Sleep(time.Millisecond)
			stand := make(chan struct{})
			held.Store(&stand)
			for range 2 {
				c.kick()
				synctest.Wait()
			}
			looks, done := c.runs.Load(), make(chan error)
			go func() { done <- c.Close() }()
			synctest.Wait()
			held.Store(nil)
			close(stand)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := c.runs.Load() - looks; n != 0 {
				t.Fatalf("the padder has looked %d times after Close began", n)
			}
		}
	})
}

// TestKeeperEnds: a keeper that has been stopped does not ask the authority once more, though a kick
// waits for it and its claim is to be extended.
func TestKeeperEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Both{Layout: bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}}
		authority := &claimtest.Memory{Length: time.Minute}
		k := Open(t, NewCachedAt, authority, o, NewTestClock()).keeper
		k.stop()
		k.wg.Wait()
		time.Sleep(40 * time.Second)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		for range 20 { // select takes any
			k.kick()
			k.loop(ctx)
		}
		if n := len(authority.Calls(claimtest.OpExtend)); n != 0 {
			t.Errorf("the keeper asked %d times after it had been stopped", n)
		}
	})
}
