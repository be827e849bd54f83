package uid_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestPaceOfClaims loses each claim at once: the pause to the next one grows from a tenth of a
// second to ten seconds and what the back-off adds to that, and no further.
func TestPaceOfClaims(t *testing.T) {
	t.Parallel()
	a := losing(time.Second)
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		time.Sleep(10 * time.Minute)
		var assigns []time.Duration
		for _, c := range a.Calls(claimtest.OpAssign) {
			assigns = append(assigns, c.At.Sub(bubbleStart))
		}
		if len(assigns) < 25 || assigns[4] > 10*time.Second {
			t.Fatalf("worker ids were claimed at %v, want a few at first and then more slowly", assigns)
		}
		least := 100 * time.Millisecond
		for i := range assigns[1:] {
			pause := assigns[i+1] - assigns[i]
			if i >= 1 && i < 8 { // the first one has lasted for minutes, and later one has again
				if pause < least {
					t.Errorf("claim %d came %v after the one before, want %v", i+1, pause, least)
				}
				least *= 2
			}
			if pause > 28*time.Second {
				t.Errorf("claim %d came %v after the one before, want 28s at the most", i+1, pause)
			}
		}
	})
}

// TestPaceOfSmallExtensions has an authority that lets the window grow by a millisecond: it is asked
// each time when half of what is left is over, and a hundred times a second at the most, also where ticks
// are short and callers wait.
func TestPaceOfSmallExtensions(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{time.Second, time.Millisecond} {
		var asked, until atomic.Int64
		a := newMemory(time.Second)
		until.Store(int64(time.Second))
		a.Before = before(claimtest.OpExtend, func(ctx context.Context) error {
			if asked.Add(1) > 1000 {
				<-ctx.Done() // or the bubble's time stands still for ever
			}
			return nil
		})
		a.Grant = func(time.Time) time.Time {
			return bubbleStart.Add(time.Duration(until.Add(int64(time.Millisecond))))
		}
		l := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: tick, Epoch: bubbleEpoch}
		bubble(t, "default", a, uid.Both{Layout: l}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			ctx, stop := context.WithCancel(t.Context())
			var callers sync.WaitGroup
			defer callers.Wait()
			defer stop()
			for range 3 {
				callers.Go(func() {
					for ctx.Err() == nil {
						_, _ = g.Next(ctx) // fails while the window is over
						time.Sleep(100 * time.Microsecond)
					}
				})
			}
			for second := range int64(2) {
				time.Sleep(time.Second)
				if n := asked.Load(); n < 5 || n > 100*(second+1)+1 {
					t.Errorf("ticks of %v: the authority was asked %d times by second %d, want 5 to 100 a second",
						tick, n, second+1)
				}
			}
		})
	}
}

// TestPaceOfShortSpan has a claim say that its windows are a nanosecond long: two ticks beyond the
// current one are asked for, because a shorter window may have no whole tick.
func TestPaceOfShortSpan(t *testing.T) {
	t.Parallel()
	a := newMemory(time.Second)
	a.Span = time.Nanosecond
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		time.Sleep(time.Second)
		extends := extensions(a)
		if len(extends) == 0 || extends[0].asked != extends[0].at.Truncate(time.Second)+3*time.Second {
			t.Errorf("extended %v, want three seconds after the tick's begin", extends)
		}
	})
}

// TestPaceOfSecondOutage has an outage of an hour and another one later: the attempts of the second one
// begin as close together as those of any, so that a fail-over is followed at once.
func TestPaceOfSecondOutage(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		var got []extension
		for range 2 {
			time.Sleep(time.Hour)
			known := len(extensions(a))
			a.Fail(errDown, claimtest.OpExtend)
			time.Sleep(time.Hour)
			a.Fail(nil)
			got = extensions(a)[known:]
		}
		if pause := got[1].at - got[0].at; pause > 150*time.Millisecond {
			t.Errorf("the second attempt of the second outage came after %v", pause)
		}
		for i := range got[1:] {
			pause := got[i+1].at - got[i].at
			if got[i].at-got[0].at < time.Minute && pause > 1500*time.Millisecond {
				t.Errorf("an attempt of the second outage's first minute came after %v", pause)
			}
		}
	})
}

// TestPaceOfBurst has an authority grant ten seconds at a time, which a burst uses up at once: more is
// asked for after a second, not when half of the ten have passed by the clock.
func TestPaceOfBurst(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Second)
	a.Span = 10 * time.Minute
	a.Grant = func(asked time.Time) time.Time { return asked.Add(10*time.Second - a.Span) }
	o := uid.Both{ScheduleInterval: 400 * time.Millisecond}
	bubble(t, "cached", a, o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		time.Sleep(100 * time.Millisecond)
		begin := time.Now()
		mustFill(t, g, make([]uid.ID, 32*8192))
		if took, n := time.Since(begin), len(extensions(a)); took > 2*time.Second || n != 3 {
			t.Errorf("32 ticks took %v and %d extensions, want 1.9 seconds and three", took, n)
		}
	})
}

// TestPaceBehindClock has the authority's windows end in the past: the pause to the next attempt grows
// from two seconds to ten, half of it more or less.
func TestPaceBehindClock(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		a := &claimtest.Memory{Length: 10*time.Minute + time.Duration(i)*time.Second}
		a.Step(-2 * time.Hour)
		until := bubbleStart.Add(a.Length - 2*time.Hour)
		a.Grant = func(time.Time) time.Time {
			until = until.Add(time.Second)
			return until
		}
		bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			time.Sleep(2 * time.Minute)
			extends := extensions(a)
			for j, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second,
				10 * time.Second} {
				if pause := extends[j+1].at - extends[j].at; pause < want/2 || pause >= want*3/2 {
					t.Errorf("attempt %d came after %v, want %v, half of it more or less", j+1, pause, want)
				}
			}
		})
	}
}
