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

// TestDefaultCapacityOfWindow takes more ids than a tick has, in a window that begins with that
// tick: the current tick is the window's, so that the surplus waits for the clock instead of running
// ahead of it. It waits to the nanosecond.
func TestDefaultCapacityOfWindow(t *testing.T) {
	t.Parallel()
	for _, early := range []time.Duration{time.Second, 300 * time.Millisecond, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			d := uid.Open(t, uid.NewDefaultAt, newPlace(time.Hour), uid.Both{SeqStart: 1}, uid.NewTestClock())
			time.Sleep(time.Second - early)
			ctx := within(t, time.Minute)
			start := time.Now()
			if _, err := d.Fill(ctx, make([]uid.ID, 8193)); err != nil || time.Since(start) != early {
				t.Errorf("%v before a tick's begin: a tick's ids and one took %v, %v", early, time.Since(start), err)
			}
		})
	}
}

// TestDefaultAheadIsWhole borrows from a window that begins hours ahead of the clock: every
// position comes, in order, and at the window's end the keeper is called to extend it, long before
// its timer.
func TestDefaultAheadIsWhole(t *testing.T) {
	t.Parallel()
	a := newMemory(20 * time.Second)
	a.From = bubbleStart.Add(3 * time.Hour)
	bubble(t, "default", a, uid.Both{SeqStart: 1}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		first := g.Parse(mustNext(t, g))
		for i := int64(1); i < 50*8192/scale; i++ {
			p := g.Parse(mustNext(t, g))
			if at := (p.Tick-first.Tick)*8192 + p.Seq - first.Seq; at != i {
				t.Fatalf("the %dth id is %+v, the %dth position behind the first", i, p, at)
			}
		}
		if took := time.Since(bubbleStart); took != 0 {
			t.Errorf("the ids took %v", took)
		}
	})
}

// TestDefaultBackBehindWindow sets the clock back behind the start of the window: how far it is
// behind the newest id counts, not how far the window is.
func TestDefaultBackBehindWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		a := newPlace(time.Hour)
		a.From = bubbleStart.Add(5 * time.Second)
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{Rollback: uid.RollbackHold(6 * time.Second)}, clock)
		time.Sleep(10 * time.Second)
		mustNext(t, d)
		clock.Step(-8 * time.Second)
		var back *uid.ClockBackError
		if id, err := d.Next(t.Context()); !errors.As(err, &back) || back.By != 8*time.Second {
			t.Errorf("Next() = %d, %v, want a refusal for 8 s", id, err)
		}
	})
}

// TestDefaultWaitsToTheTick sets the clock back in the middle of a tick: the wait is over when the
// newest id's tick begins.
func TestDefaultWaitsToTheTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Rollback: uid.RollbackWait(time.Minute)}, clock)
		time.Sleep(10*time.Second + 700*time.Millisecond)
		mustNext(t, d)
		clock.Step(-3 * time.Second) // 7.7
		const left = 2300 * time.Millisecond
		nextIn(t, d, left, left, "then the newest id's tick begins")
	})
}

// TestDefaultFirstTick takes the very first ids of a layout: the first tick has all of its numbers.
func TestDefaultFirstTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: bitsalloc.Layout{Epoch: time.Now()}, SeqStart: 1},
			uid.NewTestClock())
		start := time.Now()
		ids := make([]uid.ID, 8192)
		if _, err := d.Fill(t.Context(), ids); err != nil || time.Since(start) != 0 {
			t.Errorf("the first tick's ids took %v, %v", time.Since(start), err)
		}
		if p := d.Parse(ids[0]); p.Tick != 0 || p.Seq != 0 {
			t.Errorf("the first id of all is %+v", p)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the first id alone
		start := time.Now()
		a := newPlace(2 * time.Hour)
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{SeqStart: 1,
			Layout: bitsalloc.Layout{Epoch: start}}, uid.NewTestClock())
		mustNext(t, d)
		time.Sleep(time.Hour)
		if at := d.Stats().Position; !at.Equal(start) {
			t.Errorf("the newest id is of %v, want %v", at, start)
		}
		mustClose(t, d)
		if used := a.Calls(claimtest.OpRelease)[0].Asked; !used.Equal(start.Add(time.Second)) {
			t.Errorf("released from %v on, want the end of the first tick", used)
		}
	})
}

// TestDefaultPosition: before the first id, the position is the tick that it would have now.
func TestDefaultPosition(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-time.Hour, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			a := newPlace(claimtest.Endless)
			a.From = bubbleStart.Add(ahead)
			d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{}, uid.NewTestClock())
			if off := time.Until(d.Stats().Position); off != max(0, ahead) {
				t.Errorf("a window from %v on: the position is %v ahead", ahead, off)
			}
		})
	}
}

// TestDefaultTickEndsMeanwhile uses a tick up, and lets it end between the two readings of a call
// that finds it used up: the call takes the next tick's first id at once.
func TestDefaultTickEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for _, over := range []time.Duration{0, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			clock, arm := hookedClock(func(clock *uid.TestClock) { clock.Step(500*time.Millisecond + over) })
			d := defaultAt(t, uid.Both{SeqStart: 1}, clock)
			ids := make([]uid.ID, 8192)
			mustFill(t, d, ids)
			time.Sleep(500 * time.Millisecond)
			arm(1)
			start := time.Now()
			p := d.Parse(mustNext(t, d))
			if last := d.Parse(ids[8191]); p.Tick != last.Tick+1 || p.Seq != 0 || time.Since(start) > 1 {
				t.Errorf("%v into the next tick: %+v came after %+v, in %v", over, p, last, time.Since(start))
			}
		})
	}
}

// TestDefaultSpreadAfterBusyTick leaves a busy tick for a pause: the tick after the pause starts at
// a spread number, as any that does not follow a busy one.
func TestDefaultSpreadAfterBusyTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{}, uid.NewTestClock())
		starts := map[int64]bool{}
		for range 20 {
			ids := make([]uid.ID, 4097) // the last one is in the second half, wherever the first is
			mustFill(t, d, ids)
			starts[d.Parse(ids[0]).Seq] = true
			time.Sleep(10 * time.Second)
		}
		if len(starts) < 15 {
			t.Errorf("20 ticks after a pause start at %d numbers", len(starts))
		}
	})
}

// TestDefaultUnused closes a generator that made no id: it says that nothing was stamped.
func TestDefaultUnused(t *testing.T) {
	t.Parallel()
	a := newPlace(time.Hour)
	mustClose(t, uid.Open(t, uid.NewDefaultAt, a, uid.Both{}, uid.NewTestClock()))
	if released := a.Calls(claimtest.OpRelease); len(released) != 1 || !released[0].Asked.IsZero() {
		t.Errorf("released %+v, want the zero time once", released)
	}
}
