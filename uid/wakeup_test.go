package uid_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// hookedClock returns a clock whose n-th reading after arm is called runs f, before the reader gets to see what it read.
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

// TestWakeUpOfStarving runs the padder between a caller's look at the empty ring and its wait: there will be no other
// wake-up for a second.
func TestWakeUpOfStarving(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		policy  uid.TakePolicy
		reading int64 // the one that the bound is computed of
	}{{"wait", uid.Wait, 1}, {"pad", uid.Pad, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *uid.Cached
				clock, arm := hookedClock(func(clock *uid.TestClock) {
					clock.Step(time.Second)
					c.PadLocked()
				})
				c = cachedAt(t, uid.Options{MaxLead: time.Nanosecond, SeqStart: 1, TakePolicy: tc.policy}, clock)
				defer c.Close()
				if _, err := c.Fill(t.Context(), make([]uid.ID, 8192)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the padder sleeps at the bound
				arm(tc.reading)
				start := time.Now()
				mustNext(t, c)
				if took := time.Since(start); took != 0 {
					t.Errorf("Next() took %v to see a ring that was filled at once", took)
				}
			})
		})
	}
}

// slowAssigner makes claims whose Extend does not return before the test says so, and then gives an hour more than was asked for.
type slowAssigner struct {
	scriptedAssigner
	extend chan struct{}
}

func (s *slowAssigner) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := s.scriptedAssigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	return &slowClaim{c, s.extend}, nil
}

type slowClaim struct {
	assigner.Claim
	extend chan struct{}
}

func (c *slowClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	select {
	case <-c.extend:
		return c.Claim.Extend(ctx, until.Add(time.Hour))
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// TestWakeUpAtWindowEnd extends the window between a caller's look at its end and the caller's wait: the next extension, and with it the
// next wake-up, is an hour away.
func TestWakeUpAtWindowEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowAssigner{scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(8 * time.Second)}, make(chan struct{})}
		clock, arm := hookedClock(func(*uid.TestClock) {
			close(a.extend)
			synctest.Wait() // the keeper has published the new window, and sleeps
		})
		d, err := uid.NewDefaultAt(t.Context(), a, &uid.Options{Layout: bubbleLayout()}, clock)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		time.Sleep(9 * time.Second) // the keeper has been at work since the window's middle
		arm(1)
		start := time.Now()
		mustNext(t, d)
		if took := time.Since(start); took != 0 {
			t.Errorf("Next() took %v to see a window that was extended at once", took)
		}
	})
}

// TestWakeUpByClose closes a generator between a caller's look at a tick that is used up and its wait.
func TestWakeUpByClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d *uid.Default
		clock, arm := hookedClock(func(*uid.TestClock) { d.Close() })
		d = defaultAt(t, uid.Options{}, clock)
		start := time.Now()
		for d.Parse(mustNext(t, d)).Seq != 8191 { // the last of its second: who comes next waits
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
