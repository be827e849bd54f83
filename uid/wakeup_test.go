package uid_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// hookedClock returns a clock whose n-th reading after arm is called runs f, before the reader gets
// to see what it read.
func hookedClock(f func(clock *uid.TestClock)) (clock *uid.TestClock, arm func(n int64)) {
	var countdown atomic.Int64
	clock = uid.NewTestClock()
	clock.OnRead = func() {
		if countdown.Load() > 0 && countdown.Add(-1) == 0 {
			f(clock)
		}
	}
	return clock, countdown.Store
}

// TestWakeUpOfStarving runs the padder between a caller's look at the empty ring and its wait:
// there will be no other wake-up for a second.
func TestWakeUpOfStarving(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		policy  uid.TakePolicy
		reading int64 // the one that the bound is computed of
	}{{"wait", uid.TakeWait, 1}, {"pad", uid.TakePad, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *uid.Cached
				clock, arm := hookedClock(func(clock *uid.TestClock) {
					clock.Step(time.Second)
					c.PadLocked()
				})
				c = cachedAt(t, uid.Both{MaxLead: time.Nanosecond, SeqStart: 1, TakePolicy: tc.policy}, clock)
				defer c.Close()
				mustFill(t, c, make([]uid.ID, 8192))
				synctest.Wait() // the padder sleeps at the bound
				arm(tc.reading)
				nextIn(t, c, 0, 0, "the ring is filled at once")
			})
		})
	}
}

// TestWakeUpAtWindowEnd extends the window between a caller's look at its end and the caller's
// wait: the next extension, and with it the next wake-up, is an hour away.
func TestWakeUpAtWindowEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(8 * time.Second)
		extend := a.slow()
		clock, arm := hookedClock(func(*uid.TestClock) {
			close(extend)
			synctest.Wait() // the keeper has published the new window, and sleeps
		})
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{}, clock)
		time.Sleep(9 * time.Second) // the keeper has been at work since the window's middle
		arm(1)
		nextIn(t, d, 0, 0, "the window is extended at once")
	})
}

// TestWakeUpByClose closes a generator between a caller's look at a tick that is used up and its
// wait.
func TestWakeUpByClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d *uid.Default
		clock, arm := hookedClock(func(*uid.TestClock) { d.Close() })
		d = defaultAt(t, uid.Both{}, clock)
		start := time.Now()
		for d.Parse(mustNext(t, d)).Seq != 8191 { // the last of its second: the next caller waits
		}
		arm(1)
		if _, err := d.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
			t.Errorf("Next() = %v, want ErrClosed", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("Next() took %v to see that the generator was closed", took)
		}
	})
}

// TestWakeUpAfterStepBack has the clock go back while a caller waits for an extension that hangs:
// the caller's own timer finds that the window covers the clock again.
func TestWakeUpAfterStepBack(t *testing.T) {
	t.Parallel()
	a := newMemory(20 * time.Second)
	a.Before = before(claimtest.OpExtend, hangs)
	o := uid.Both{Rollback: uid.RollbackHold(time.Hour)}
	bubble(t, "default", a, o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
		time.Sleep(9 * time.Second)
		mustNext(t, g)
		for range 25 { // small steps, which are believed at once, to the window's end
			clock.Step(500 * time.Millisecond)
			g.Stats()
		}
		time.AfterFunc(500*time.Millisecond, func() { clock.Step(-5 * time.Second) })
		nextIn(t, g, 500*time.Millisecond, time.Second, "the clock steps back, and the second has a rest")
	})
}

// TestWakeUpOfPadder has callers meet the bound on the lead while the padder sleeps for long: they
// wait for the clock, not for the padder's timer.
func TestWakeUpOfPadder(t *testing.T) {
	t.Parallel()
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Both{TakePolicy: policy, SeqStart: 1, BoostPower: uid.NoBoost,
				MaxLead: time.Nanosecond, MaxLag: time.Hour, ScheduleInterval: 10 * time.Minute},
				uid.NewTestClock())
			start, ids := time.Now(), make([]uid.ID, 8192)
			for range 5 {
				mustFill(t, c, ids)
			}
			if took := time.Since(start); took != 4*time.Second {
				t.Errorf("policy %d: five ticks' ids took %v, want 4 s", policy, took)
			}
		})
	}
}

// TestKeeperSleepsThroughBatches composes batches before and after extensions: none of them wakes
// the keeper, because the position is far from where it has to be at work.
func TestKeeperSleepsThroughBatches(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	bubble(t, "cached", a, uid.Both{}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
		readings := func() int64 {
			if err := g.(*uid.Cached).LatePad(); err != nil { // drops what is too old
				t.Fatal(err)
			}
			synctest.Wait()
			before := clock.Reads.Load()
			if err := g.(*uid.Cached).LatePad(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return clock.Reads.Load() - before
		}
		want := readings()
		for range 20 {
			time.Sleep(3 * time.Minute)
			if got := readings(); got != want {
				t.Fatalf("after %d extensions a batch reads the clock %d times, before them %d times",
					len(extensions(a)), got, want)
			}
		}
		if n := len(extensions(a)); n < 5 {
			t.Errorf("%d extensions in an hour, want more", n)
		}
	})
}
