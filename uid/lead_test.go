package uid_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// cutOff returns options with ticks of a minute and an era that begins 58 seconds into the first
// one, counted from the bubble's begin: that minute has no tick of the first era.
func cutOff() uid.Both {
	l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 8, Tick: time.Minute, Epoch: bubbleEpoch}
	next := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 8, Tick: time.Minute}
	return uid.Both{Layout: l, SeqStart: 1, Eras: []bitsalloc.Era{
		{From: bubbleStart.Add(58 * time.Second), Layout: next}}}
}

// TestMaxLeadAtCutOff takes ids where an era cuts a tick off: the era's first tick begins 58 s ahead
// of the clock, further than MaxLead permits, and the generators wait for it. It is the next tick,
// so they are up.
func TestMaxLeadAtCutOff(t *testing.T) {
	t.Parallel()
	o := cutOff()
	o.MaxLead = time.Second
	for kind := range kinds {
		bubble(t, kind, claimtest.Static(1), o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			if err := g.Stats().Err; err != nil {
				t.Errorf("%s: at a bound that the next tick ends Err = %v", kind, err)
			}
			id := mustNext(t, g)
			if lead := time.Until(g.Parse(id).Time); lead > o.MaxLead {
				t.Errorf("%s: an id is %v ahead of the clock, want %v at most", kind, lead, o.MaxLead)
			}
			if took := time.Since(bubbleStart); took != 58*time.Second {
				t.Errorf("%s: the era's first id came after %v, want 58s", kind, took)
			}
		})
	}
}

// TestUpAtCutOff uses the era's first tick up while it is ahead of the clock: a Default waits for
// the next one, and no clock has gone back.
func TestUpAtCutOff(t *testing.T) {
	t.Parallel()
	bubble(t, "default", claimtest.Static(1), cutOff(), func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		mustFill(t, g, make([]uid.ID, 256))
		if err := g.Stats().Err; err != nil {
			t.Errorf("before the next tick Err = %v", err)
		}
		nextIn(t, g, 118*time.Second, 118*time.Second, "the era's second tick")
	})
}

// TestHealthInShorterTicks sets the clock back in an era of 10 ms ticks that follows one of minutes: a
// call that waits for most of a minute is no call that waits for the next tick.
func TestHealthInShorterTicks(t *testing.T) {
	t.Parallel()
	layout := bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 8, Tick: time.Minute, Epoch: bubbleEpoch}
	shorter := bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 8, Tick: 10 * time.Millisecond}
	o := uid.Both{Layout: layout, Rollback: uid.RollbackWait(time.Minute), MaxLead: 20 * time.Millisecond,
		Eras: []bitsalloc.Era{{From: bubbleStart.Add(-time.Hour), Layout: shorter}}}
	for kind := range kinds {
		bubble(t, kind, claimtest.Static(1), o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			mustNext(t, g)
			clock.Step(-45 * time.Second)
			for n := 0; kind == "cached" && n < 100_000; n++ { // what is there already
				if _, err := g.Next(within(t, time.Millisecond)); err != nil {
					break
				}
			}
			if h, err := callAndHealth(t, g, time.Second); h.Status != uid.Down {
				t.Errorf("%s: Health() = %+v, Next() = %v with the clock 45 s back", kind, h, err)
			}
		})
	}
}

// TestRollbackWaitUsedUp sets the clock back behind a tick that has no id left: a caller waits for
// the tick after it, and Stats says so where that is longer than a tick.
func TestRollbackWaitUsedUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		used int // of the tick's 8 ids
		wait time.Duration
	}{{8, 1900 * time.Millisecond}, {7, 900 * time.Millisecond}} {
		o := uid.Both{SeqStart: 1, Rollback: uid.RollbackWait(time.Minute),
			Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 3, Epoch: bubbleEpoch}}
		bubble(t, "default", claimtest.Static(1), o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			time.Sleep(10*time.Second + 100*time.Millisecond)
			mustFill(t, g, make([]uid.ID, tc.used))
			clock.Step(-time.Second)
			err := g.Stats().Err
			if down := tc.wait > time.Second; errors.Is(err, uid.ErrClockBack) != down || (err != nil) != down {
				t.Errorf("%d ids used: Err = %v before a wait of %v", tc.used, err, tc.wait)
			}
			before := g.Stats().Waits
			nextIn(t, g, tc.wait, tc.wait, "the clock went back")
			if n := g.Stats().Waits - before; n > 2 {
				t.Errorf("%d ids used: %d waits", tc.used, n)
			}
		})
	}
}

// TestLeadOfEmptyRing uses a tick up at a bound that permits no other: the ids are of the clock's
// tick, so they are ahead of it by nothing, although the next ones will be of the next tick.
func TestLeadOfEmptyRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: time.Nanosecond, BoostPower: uid.NoBoost},
			uid.NewTestClock())
		for range 3 {
			mustFill(t, c, make([]uid.ID, 8192))
			synctest.Wait()
			if s := c.Stats(); s.Lead != 0 || s.Len != 0 {
				t.Errorf("%d ids in the ring, Lead = %v at MaxLead 1ns", s.Len, s.Lead)
			}
			time.Sleep(time.Second)
		}
	})
	synctest.Test(t, func(t *testing.T) { // without a bound the lead is the borrowed time
		c := cachedAt(t, uid.Both{SeqStart: 1, BoostPower: uid.NoBoost}, uid.NewTestClock())
		mustFill(t, c, make([]uid.ID, 3*8192+1))
		if lead := c.Stats().Lead; lead != 3*time.Second {
			t.Errorf("an id of the fourth tick: Lead = %v, want 3s", lead)
		}
	})
}
