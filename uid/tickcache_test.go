package uid

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// withTickCache runs f in a bubble with a Default that reads the clock as NewDefault's does:
// through the tick cache. reads counts the readings of the clock.
func withTickCache(t *testing.T, o Both,
	f func(t *testing.T, d *Default, clock *TestClock, reads *atomic.Int64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		clock := NewTestClock()
		clock.OnRead = func() { reads.Add(1) }
		o.Layout.Epoch = time.Now().Add(-time.Hour)
		d, err := newDefault(t.Context(), claimtest.Static(1), o.Cached(), clock.read, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		f(t, d, clock, &reads)
	})
}

// stamp returns the time of a new id.
func stamp(t *testing.T, d *Default) time.Time {
	t.Helper()
	id, err := d.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d.Parse(id).Time
}

// TestTickCacheStep steps the clock by almost a tick, forwards and backwards: for a millisecond the
// wall clock is not read, and then the step is seen.
func TestTickCacheStep(t *testing.T) {
	t.Parallel()
	withTickCache(t, Both{SeqStart: 1, Rollback: RollbackHold(time.Hour)},
		func(t *testing.T, d *Default, clock *TestClock, reads *atomic.Int64) {
			time.Sleep(100 * time.Millisecond)
			begin := stamp(t, d)
			clock.Step(950 * time.Millisecond)
			before := reads.Load()
			for range 1000 {
				if at := stamp(t, d); !at.Equal(begin) {
					t.Fatalf("within the cached millisecond an id is of %v, want %v", at, begin)
				}
			}
			time.Sleep(time.Millisecond - 1)
			stamp(t, d)
			if n := reads.Load() - before; n != 0 {
				t.Errorf("the clock was read %d times within a millisecond, want never", n)
			}
			time.Sleep(time.Nanosecond)
			if at := stamp(t, d); !at.Equal(begin.Add(time.Second)) {
				t.Errorf("a millisecond after the step an id is of %v, want the next tick, %v",
					at, begin.Add(time.Second))
			}
		})
}

// TestTickCacheContended refreshes the cache while another goroutine reads it: neither gets the tick
// that was there before.
func TestTickCacheContended(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	c, least := &d.clockTick, d.timeline.at(time.Now())
	const rounds = 500_000 / slow
	stop := time.Now().Add(time.Second) // on one processor a round takes two changes of thread
	var turn, done atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); i <= rounds; i++ {
			spin(func() bool { return turn.Load() >= i })
			for range 6 {
				if got := c.load(); got < least {
					t.Errorf("a reader got the position %d, want %d or above", got, least)
				}
			}
			done.Store(i)
		}
	})
	for i := int64(1); i <= rounds && !t.Failed() && time.Now().Before(stop); i++ {
		c.until.Store(0)
		c.tick.Store(0) // as after a long time without a call
		turn.Store(i)
		if got := c.load(); got < least {
			t.Errorf("a refresh got the position %d, want %d or above", got, least)
		}
		spin(func() bool { return done.Load() >= i })
	}
	turn.Store(rounds)
	wg.Wait()
}

// TestTickCacheJump has the clock jump while the cache is used: the refresh that sees it logs it.
func TestTickCacheJump(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	o := Both{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	withTickCache(t, o, func(t *testing.T, d *Default, clock *TestClock, _ *atomic.Int64) {
		stamp(t, d)
		clock.Step(5 * time.Hour)
		time.Sleep(2 * time.Millisecond)
		stamp(t, d)
		synctest.Wait()
		if text := log.String(); strings.Count(text, "clock jumped ahead") != 1 {
			t.Errorf("the clock jumped ahead; the log is %s", text)
		}
	})
}

// TestTickCacheEnd reads the clock in the middle of ticks of a millisecond: the cached tick ends
// with the clock's tick.
func TestTickCacheEnd(t *testing.T) {
	t.Parallel()
	o := Both{Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12,
		Tick: time.Millisecond}}
	withTickCache(t, o, func(t *testing.T, d *Default, clock *TestClock, _ *atomic.Int64) {
		for range 100 {
			time.Sleep(300 * time.Microsecond)
			if at, want := stamp(t, d), clock.Now().Truncate(time.Millisecond); !at.Equal(want) {
				t.Fatalf("at %v an id is of %v, want %v", clock.Now(), at, want)
			}
		}
	})
}

// TestTickCacheRollback sets the clock back and forward again while the cache shows the time
// between: the rollback policy is applied to a fresh reading.
func TestTickCacheRollback(t *testing.T) {
	t.Parallel()
	withTickCache(t, Both{},
		func(t *testing.T, d *Default, clock *TestClock, _ *atomic.Int64) {
			time.Sleep(10 * time.Second)
			stamp(t, d)
			clock.Step(-5 * time.Second)
			time.Sleep(time.Millisecond)
			if _, err := d.Next(t.Context()); !Temporary(err) {
				t.Fatalf("Next() = %v after a step back, want ErrClockBack", err)
			}
			clock.Step(5 * time.Second)
			stamp(t, d)
		})
}

// TestTickCacheOrder has goroutines read a tick of a microsecond all the time: none gets one that
// was over when it asked. A refresh that stored until before tick could show it to some.
func TestTickCacheOrder(t *testing.T) {
	t.Parallel()
	o := DefaultOptions{Layout: bitsalloc.Layout{TimeBits: 52, WorkerBits: 4, SeqBits: 4,
		Tick: time.Microsecond, Epoch: time.Now().Add(-time.Hour).Truncate(time.Second)}}
	d, err := NewDefault(t.Context(), claimtest.Static(1), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200_000 / slow {
				before := d.timeline.at(time.Now())
				if tick := d.clockTick.load(); tick < before {
					t.Errorf("the tick is %d and was %d before", tick, before)
					return
				}
			}
		})
	}
	wg.Wait()
}
