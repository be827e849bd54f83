package uid_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/uid"
)

// TestDefaultCapacityOfWindow takes more ids than a tick has, in a window that begins with that
// tick: the current tick is the window's, so that the surplus waits for the clock instead of running
// ahead of it. It waits to the nanosecond.
func TestDefaultCapacityOfWindow(t *testing.T) {
	t.Parallel()
	for _, early := range []time.Duration{time.Second, 300 * time.Millisecond, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			d := uid.Open(t, uid.NewDefaultAt, newPlace(time.Hour), uid.Options{SeqStart: 1}, uid.NewTestClock())
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
	bubble(t, "default", a, uid.Options{SeqStart: 1}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
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

// TestDefaultBackBehindWindow sets the clock back behind the begin of the window: how far it is
// behind the newest id counts, not how far the window is.
func TestDefaultBackBehindWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		a := newPlace(time.Hour)
		a.From = bubbleStart.Add(5 * time.Second)
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Options{Rollback: uid.RollbackHold(6 * time.Second)}, clock)
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
		d := defaultAt(t, uid.Options{Rollback: uid.RollbackWait(time.Minute)}, clock)
		time.Sleep(10*time.Second + 700*time.Millisecond)
		mustNext(t, d)
		clock.Step(-3 * time.Second) // 7.7
		const left = 2300 * time.Millisecond
		nextIn(t, d, left, left, "then the newest id's tick begins")
	})
}
