package uid_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// eachWait runs f in a bubble for the two policies that wait at the bound.
func eachWait(t *testing.T, f func(t *testing.T, policy uid.TakePolicy)) {
	t.Parallel()
	for name, policy := range map[string]uid.TakePolicy{"pad": uid.TakePad, "wait": uid.TakeWait} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, policy) })
		})
	}
}

// TestBoundOpens waits at MaxLead for one tick after the other: each opens at its instant, whatever
// the padder's interval, and a caller is woken for it once.
func TestBoundOpens(t *testing.T) {
	for _, lead := range []time.Duration{time.Nanosecond, 10 * time.Second} {
		t.Run(fmt.Sprint(lead), func(t *testing.T) {
			eachWait(t, func(t *testing.T, policy uid.TakePolicy) {
				c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: lead, TakePolicy: policy,
					ScheduleInterval: 230 * time.Millisecond}, uid.NewTestClock())
				mustFill(t, c, make([]uid.ID, 8192*int(1+lead/time.Second)))
				synctest.Wait()
				start := time.Now()
				for i := range 10 {
					before := c.Stats().Waits
					mustFill(t, c, make([]uid.ID, 8192))
					if took, want := time.Since(start), time.Duration(i+1)*time.Second; took != want {
						t.Fatalf("tick %d came after %v, want %v", i, took, want)
					}
					if n := c.Stats().Waits - before; n != 1 {
						t.Errorf("tick %d took %d waits, want one", i, n)
					}
				}
			})
		})
	}
}

// TestBoundSteps sets the clock back while callers wait for it, and ten seconds later forward: they
// see it soon, not when the clock would have got there.
func TestBoundSteps(t *testing.T) {
	const back = 50 * time.Minute
	check := func(t *testing.T, g uid.Generator, clock *uid.TestClock, limit time.Duration) {
		clock.Step(-back)
		go func() {
			time.Sleep(10 * time.Second)
			clock.Step(back)
		}()
		nextIn(t, g, 10*time.Second, limit, "the clock steps forward after 10 s")
	}
	t.Run("cached", func(t *testing.T) {
		eachWait(t, func(t *testing.T, policy uid.TakePolicy) {
			clock := uid.NewTestClock()
			c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: time.Nanosecond, TakePolicy: policy}, clock)
			mustFill(t, c, make([]uid.ID, 8192))
			check(t, c, clock, 10*time.Second+250*time.Millisecond)
		})
	})
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			d := defaultAt(t, uid.Both{Rollback: uid.RollbackWait(time.Hour)}, clock)
			mustNext(t, d)
			check(t, d, clock, 11*time.Second)
		})
	})
}

// TestBoundIdle leaves a generator of millisecond ticks alone at its bound: the padder looks at its
// interval, not at every tick that opens.
func TestBoundIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := uid.Both{MaxLead: time.Nanosecond,
			Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12,
				Tick: time.Millisecond, Epoch: bubbleEpoch}}
		c := cachedAt(t, o, uid.NewTestClock())
		time.Sleep(10 * time.Second)
		if n := c.Stats().PadderRuns; n < 30 || n > 100 {
			t.Errorf("the padder looked %d times in ten idle seconds, want about four times a second", n)
		}
	})
}

// TestBoundWithoutPadder lets two callers meet at a ring that the padder does not fill. The first
// waits for the clock, which moves on; the second fills the ring itself, takes what it filled
// although the bound is met again, and wakes the first: nobody else will.
func TestBoundWithoutPadder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ run, boost int }{{1, uid.NoBoost}, {512, uid.NoBoost}, {512, 1}} {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			o := uid.Both{SeqStart: 1, MaxLead: time.Second, RunLength: tc.run, BoostPower: tc.boost}
			c := cachedAt(t, o, clock)
			c.StopPadder()
			time.Sleep(300 * time.Millisecond)
			if n, err := c.Fill(t.Context(), make([]uid.ID, 2*8192)); n != 2*8192 || err != nil {
				t.Fatalf("Fill() = %d, %v", n, err)
			}
			type result struct {
				at  time.Time
				err error
			}
			first := make(chan result, 1)
			ctx := within(t, time.Minute)
			go func() {
				_, err := c.Next(ctx)
				first <- result{time.Now(), err}
			}()
			synctest.Wait() // the first waits
			clock.Step(time.Second)
			start := time.Now()
			if _, err := c.Next(ctx); err != nil || time.Since(start) != 0 {
				t.Errorf("runs of %d: the second caller: %v, %v after the tick's begin",
					tc.run, err, time.Since(start))
			}
			if r := <-first; r.err != nil || !r.at.Equal(start) {
				t.Errorf("runs of %d: the first caller: %v, %v after the tick's begin", tc.run, r.err, r.at.Sub(start))
			}
		})
	}
}

// TestBoundBecomesAnEnd sets the clock ahead, over the end of the time bits, while a caller waits
// for a tick to open: it will not.
func TestBoundBecomesAnEnd(t *testing.T) {
	eachWait(t, func(t *testing.T, policy uid.TakePolicy) {
		clock := uid.NewTestClock()
		// Ends in seven.
		l := bitsalloc.Layout{TimeBits: 10, WorkerBits: 10, SeqBits: 10,
			Epoch: time.Now().Add(-10 * time.Minute)}
		c := cachedAt(t, uid.Both{Layout: l, SeqStart: 1, MaxLead: time.Nanosecond, TakePolicy: policy}, clock)
		mustFill(t, c, make([]uid.ID, 1024))
		go func() {
			time.Sleep(500 * time.Millisecond)
			clock.Step(30 * time.Minute)
		}()
		ctx := within(t, 10*time.Second)
		if _, err := c.Next(ctx); !errors.Is(err, uid.ErrExhausted) {
			t.Errorf("Next() = %v, want ErrExhausted", err)
		}
		time.Sleep(time.Hour)
		if s := c.Stats(); !s.Position.Equal(s.Expires) {
			t.Errorf("the position is %v, want it to stay at the end, %v", s.Position, s.Expires)
		}
	})
}

// TestFullRing says once that the ring is full, and what was to be put: the run that is composed
// next.
func TestFullRing(t *testing.T) {
	t.Parallel()
	for _, gene := range []int{0, 4} {
		synctest.Test(t, func(t *testing.T) {
			logger, log := newLogged()
			var first, calls atomic.Int64
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 6, SeqBits: 8, GeneBits: gene, Epoch: bubbleEpoch}
			c := cachedAt(t, uid.Both{Layout: l, RunLength: 16, SeqStart: 1,
				BoostPower: uid.NoBoost, PaddingFactor: 100, Logger: logger,
				PutFunc: func(id uid.ID) error {
					if calls.Add(1) == 1 {
						first.Store(int64(id))
					}
					return fmt.Errorf("no room for %d", id)
				}}, uid.NewTestClock())
			synctest.Wait()
			if n := calls.Load(); n != 0 {
				t.Errorf("the put function was called %d times before the padder looked", n)
			}
			next := c.Parse(mustNext(t, c)) // the caller refills the ring by the run that it takes
			time.Sleep(250 * time.Millisecond)
			synctest.Wait()
			if p := c.Parse(uid.ID(first.Load())); p.Tick != next.Tick+1 || p.Worker != 1 ||
				p.Seq != 16 || p.Gene != 0 {
				t.Errorf("genes of %d bits: the put function got %+v, want the second run of the "+
					"tick after %v", gene, p, next.Time)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n, counted, logs := calls.Load(), c.Stats().RejectsPut,
				log.of("ring is full"); n < 100 || counted != n || logs != 1 {
				t.Errorf("%d complaints, %d counted, %d logged, want hundreds, all counted, "+
					"one logged", n, counted, logs)
			}
		})
	}
}
