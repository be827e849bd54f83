package uid_test

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// guarded are the generators, with Default also as it is without a clock of the user's.
func guarded() map[string]func(context.Context, assigner.Assigner, *uid.Both, *uid.TestClock) (uid.Generator,
	error) {
	all := maps.Clone(kinds)
	all["ticks"] = func(ctx context.Context, a assigner.Assigner, o *uid.Both,
		clock *uid.TestClock) (uid.Generator, error) {
		return uid.NewDefaultTicksAt(ctx, a, o, clock)
	}
	return all
}

// TestGuardWrongReadings sets the clock wrong for one reading and for minutes of readings, and
// right again. An id's time stays near the real one, no call is refused or waits, and the position
// is where it should be afterwards. The one reading is that of a call which a Default makes an id of.
func TestGuardWrongReadings(t *testing.T) {
	t.Parallel()
	hours := func(h time.Duration) func(*uid.TestClock, int) {
		return func(c *uid.TestClock, sign int) { c.Step(time.Duration(sign) * h) }
	}
	years := func(n int) func(*uid.TestClock, int) {
		return func(c *uid.TestClock, sign int) { c.StepYears(sign * n) }
	}
	for name, tc := range map[string]struct {
		wrong   func(c *uid.TestClock, sign int)
		minutes int  // how long the clock is wrong; 0: one reading
		back    bool // Default refuses while the clock is behind
	}{
		"eleven minutes ahead once":   {hours(11 * time.Minute), 0, false},
		"an hour ahead once":          {hours(time.Hour), 0, false},
		"a day ahead once":            {hours(24 * time.Hour), 0, false},
		"a day ahead for minutes":     {hours(24 * time.Hour), 5, false},
		"year 2099 once":              {years(99), 0, false},
		"year 2099 for minutes":       {years(99), 5, false},
		"year 2262 for minutes":       {years(262), 5, false},
		"year 2300 once":              {years(300), 0, false},
		"year 2300 for minutes":       {years(300), 5, false},
		"year 9999 once":              {years(7999), 0, false},
		"year 9999 for minutes":       {years(7999), 9, false},
		"two hours behind once":       {hours(-2 * time.Hour), 0, true},
		"two hours behind for long":   {hours(-2 * time.Hour), 5, true},
		"year 1677 once":              {years(-323), 0, true},
		"year 1677 for minutes":       {years(-323), 5, true},
		"year 1 for minutes":          {years(-1999), 5, true},
		"eleven minutes behind again": {hours(-11 * time.Minute), 1, true},
	} {
		for kind, start := range guarded() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					clock := uid.NewTestClock()
					var once atomic.Bool
					clock.OnRead = func() {
						if once.CompareAndSwap(true, false) {
							tc.wrong(clock, -1)
						}
					}
					l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 13, Epoch: bubbleEpoch}
					g := uid.Open(t, start, claimtest.Static(1), uid.Both{Layout: l}, clock)
					near := func(when string) {
						t.Helper()
						before := time.Now()
						p := g.Parse(mustNext(t, g))
						if took := time.Since(before); took != 0 {
							t.Fatalf("%s: Next took %v", when, took)
						}
						// A lane and a ring of 8 ticks may lie ahead.
						if off := p.Time.Sub(before); off < -2*time.Second || off > 10*time.Second {
							t.Fatalf("%s: an id's time is %v off", when, off)
						}
					}
					for range 20 {
						near("before")
						time.Sleep(130 * time.Millisecond)
					}
					once.Store(tc.minutes == 0)
					switch tc.wrong(clock, 1); {
					case tc.minutes > 0:
					case kind == "cached":
						g.Stats() // has ids, for which no clock is read
					default:
						for range 3 { // the tick that the first one caches may be wrong
							near("wrong")
						}
					}
					if once.Load() {
						t.Fatal("the wrong clock was not read")
					}
					for range tc.minutes * 60 {
						switch {
						case !tc.back:
							near("wrong")
						case kind == "cached": // goes on where it is: the clock shows no better
							mustNext(t, g)
						default:
							if _, err := g.Next(t.Context()); err == nil {
								t.Fatal("a clock that is behind was not refused")
							}
						}
						time.Sleep(time.Second)
					}
					if tc.minutes > 0 {
						tc.wrong(clock, -1)
					}
					time.Sleep(300 * time.Millisecond) // the padder looks
					for range 20 * 60 {
						near("after")
						time.Sleep(time.Second)
					}
					if off := time.Until(g.Stats().Position); off < -2*time.Second || off > 20*time.Second {
						t.Errorf("the position is %v off", off)
					}
				})
			})
		}
	}
}

// TestGuardRealSteps steps the clock ahead for good: an id's time follows soon after the step has
// settled.
func TestGuardRealSteps(t *testing.T) {
	t.Parallel()
	for kind, start := range guarded() {
		for _, step := range []time.Duration{500 * time.Millisecond, 5 * time.Second, 10 * time.Minute, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				clock := uid.NewTestClock()
				g := uid.Open(t, start, claimtest.Static(1), uid.Both{}, clock)
				time.Sleep(10 * time.Second)
				mustNext(t, g)
				clock.Step(step)
				g.Stats() // the first reading of the step
				time.Sleep(400 * time.Millisecond)
				synctest.Wait()
				if lag := clock.Now().Sub(g.Parse(mustNext(t, g)).Time); lag > 2*time.Second || lag < -10*time.Second {
					t.Errorf("%s: 400 ms after a step of %v an id is %v behind", kind, step, lag)
				}
			})
		}
	}
}
