package uid_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/ringbuffer"
	"github.com/uidring/uidring/uid"
)

// slowRing has a ring that takes longer to fill than its runs may grow old, because each batch of 64
// of its 4,096 runs takes a millisecond of a clock that reads that slowly.
func slowRing() (uid.Both, *uid.TestClock) {
	clock := uid.NewTestClock()
	clock.OnRead = func() { time.Sleep(time.Millisecond) }
	return uid.Both{RunLength: 1, BoostPower: uid.NoBoost, MaxLag: 5 * time.Millisecond,
		Layout: bitsalloc.Layout{TimeBits: 44, WorkerBits: 7, SeqBits: 12, Tick: time.Millisecond,
			Epoch: bubbleEpoch}}, clock
}

// TestRingCannotStayFresh fills a ring that it never gets full: the constructor returns when it has
// composed a ring's worth, the padder rests most of the time, and the log says so once.
func TestRingCannotStayFresh(t *testing.T) {
	t.Parallel()
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
		synctest.Test(t, func(t *testing.T) {
			logger, log := newLogged()
			o, clock := slowRing()
			o.Logger, o.TakePolicy = logger, policy
			c := uid.Open(t, uid.NewCachedAt, claimtest.Static(1), o, clock)
			if took := time.Since(bubbleStart); took > 100*time.Millisecond {
				t.Errorf("the constructor took %v, want 64 batches of 1 ms", took)
			}
			reads := clock.Reads.Load()
			time.Sleep(10 * time.Second)
			if n := clock.Reads.Load() - reads; n > 8000 {
				t.Errorf("the padder read the clock for %d ms of 10 s in which nobody took ids", n)
			}
			if n := log.of("ring cannot be kept full: runs grow older than MaxLag first"); n != 1 {
				t.Errorf("the log says %d times that the ring cannot be kept full, want once", n)
			}
			for range 100 {
				mustNext(t, c)
			}
			if lag := c.Stats().Lag; lag > o.MaxLag+2*time.Millisecond {
				t.Errorf("an id in the ring is %v old, want %v at most", lag, o.MaxLag)
			}
		})
	}
}

// TestConstructorHeedsCtx ends the ctx while the constructor fills the ring: it returns the ctx's
// error and gives the claim back.
func TestConstructorHeedsCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, clock := slowRing()
		a := &claimtest.Memory{}
		_, err := uid.NewCachedAt(within(t, 10*time.Millisecond), a, &o, clock)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(bubbleStart) > 20*time.Millisecond {
			t.Errorf("NewCached: %v after %v, want the ctx's error after 10 ms", err, time.Since(bubbleStart))
		}
		if n := len(a.Calls(claimtest.OpRelease)); n != 1 {
			t.Errorf("the claim was given back %d times, want once", n)
		}
	})
}

// TestBoundIsNotFull has MaxLead keep the ring from being full: it is not said to be.
func TestBoundIsNotFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{MaxLead: time.Nanosecond, PutPolicy: ringbuffer.PutFail}, uid.NewTestClock())
		for range 60 {
			time.Sleep(time.Second)
			mustNext(t, c)
		}
		if s := c.Stats(); s.RejectsPut != 0 || s.Len == s.Cap {
			t.Errorf("%d of %d ids are in the ring, and it was said to be full %d times", s.Len, s.Cap, s.RejectsPut)
		}
	})
}

// TestSlowFillIsNoNews has the padder fill a ring in many turns, and nothing grows too old meanwhile.
func TestSlowFillIsNoNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		o, clock := slowRing()
		o.MaxLag, o.ScheduleInterval, o.Logger = time.Hour, time.Millisecond, logger
		o.TakePolicy = uid.TakeWait
		c := uid.Open(t, uid.NewCachedAt, claimtest.Static(1), o, clock)
		mustFill(t, c, make([]uid.ID, 4096))
		time.Sleep(time.Second)
		if n := log.of("ring cannot be kept full: runs grow older than MaxLag first"); n != 0 || c.Stats().Len != 4096 {
			t.Errorf("%d runs are in the ring, and the log says %d times that it cannot be kept full", c.Stats().Len, n)
		}
	})
}
