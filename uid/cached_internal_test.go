package uid

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// stoppedCached returns a Cached of worker 1 whose padder is stopped, in a bubble.
func stoppedCached(t *testing.T, o Both) *Cached {
	t.Helper()
	if o.Layout.Epoch.IsZero() {
		o.Layout.Epoch = time.Now().Add(-time.Hour)
	}
	c, err := newCached(t.Context(), claimtest.Static(1), o.Cached(), NewTestClock().read)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	c.StopPadder()
	return c
}

// TestNextKeepsItsLane seats all callers on the second lane: the first one stays untouched.
func TestNextKeepsItsLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{Lanes: 2, RunLength: 16})
		for i := range c.seats.table {
			c.seats.table[i].Store(&c.lanes[1])
		}
		for range 1000 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if next := c.lanes[0].next.Load(); next != usedUp {
			t.Errorf("the lane of no caller went from %d to %d", uint64(usedUp), next)
		}
	})
}

// TestPads has a caller compose all that the bound allows: it does not wait, and makes nobody
// believe that it does. A caller that finds the ring filled by others looks again and counts
// nothing.
func TestPads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLead: time.Nanosecond, SeqStart: 1})
		c.Empty()
		time.Sleep(time.Second)
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Pads != 1 || c.gate.awaited() || s.Waits != 0 {
			t.Errorf("%d pads, %d waits, the gate is awaited: %v, want one, none and no",
				s.Pads, s.Waits, c.gate.awaited())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{})
		if _, reason := c.waitForRun(); reason != nil || c.Stats().Pads != 0 {
			t.Errorf("with a full ring the reason is %v, and there are %d pads", reason, c.Stats().Pads)
		}
	})
}

// TestTopAsksForMore: a caller that left the ring low composes one batch, and asks for the padder
// only if another batch fits and nothing forbids it.
func TestTopAsksForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{RunLength: 16})
		for _, tc := range []struct {
			missing int
			more    bool
		}{{64, false}, {127, false}, {128, true}} {
			if err := c.composer.fillAll(); err != nil {
				t.Fatal(err)
			}
			c.composer.ring.TryTakeN(make([]int64, tc.missing))
			if more := c.composer.top(); more != tc.more {
				t.Errorf("%d runs are missing: more is %v, want %v", tc.missing, more, tc.more)
			}
		}
		c.composer.ring.TryTakeN(make([]int64, 128))
		c.composer.mu.Lock()
		if c.composer.top() {
			t.Error("while another goroutine composes the padder is asked for more")
		}
		c.composer.mu.Unlock()
		c = stoppedCached(t, Both{RunLength: 16, MaxLead: time.Nanosecond})
		c.Empty()
		if c.composer.top() {
			t.Error("at the bound the padder is asked for more")
		}
		c = stoppedCached(t, Both{RunLength: 512, MaxLead: time.Nanosecond})
		c.Empty()
		time.Sleep(time.Second)
		if more := c.composer.top(); more || c.composer.ring.Len() != 16 {
			t.Errorf("the bound has cut a batch down to %d runs, want 16, and more is %v", c.composer.ring.Len(), more)
		}
	})
}

// TestFillWhileEnds fills a ring in one ring's worth of runs: it is full then, and is filled no further
// where it has been emptied meanwhile.
func TestFillWhileEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{RunLength: 512})
		for _, emptied := range []bool{false, true} {
			batches := 0
			c.Empty()
			full, err := c.composer.fillWhile(func() bool {
				if batches++; emptied {
					c.Empty()
				}
				return true
			})
			if full == emptied || err != nil || batches != 2 {
				t.Errorf("emptied %v: full is %v, %v, after %d batches, want 2", emptied, full, err, batches)
			}
		}
	})
}

// TestJumpWithinWindow has the clock reach the end of a window: the position does not jump there.
func TestJumpWithinWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLead: time.Nanosecond})
		time.Sleep(10 * time.Second)
		p, w := c.composer, *c.keeper.window.Load()
		w.end = c.timeline.at(time.Now())
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.jump(&w, time.Now()); p.pos.Load() >= w.end {
			t.Errorf("the position is %v, where the window ends", c.timeline.time(p.pos.Load()))
		}
	})
}

// TestFirstTickIsNow starts generators in the first tick of a layout, which may be numbered from
// above 0: the ids begin there, and none is too old.
func TestFirstTickIsNow(t *testing.T) {
	t.Parallel()
	for _, first := range []int64{0, 7} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{Epoch: time.Now(), FirstTick: first}
			c, err := newCached(t.Context(), claimtest.Static(0), &Options{Layout: l, seqStart: 1},
				NewTestClock().read)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.composer.follow()
			id, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p := c.Parse(id); p.Tick != first || p.Seq != 0 || !p.Time.Equal(l.Epoch) {
				t.Errorf("the first id is %+v, want that of tick %d at %v", p, first, l.Epoch)
			}
			if n := c.Stats().RunsStale; n != 0 {
				t.Errorf("%d runs of the first tick were too old", n)
			}
		})
	}
}

// TestFollowKeepsWhatIsFresh looks at a ring that begins in an older tick, which is not too old
// yet: neither ring nor position moves. When it is too old, the next run begins in its middle.
func TestFollowKeepsWhatIsFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLead: time.Nanosecond, RunLength: 256,
			Layout: bitsalloc.Layout{Epoch: time.Now().AddDate(-5, 0, 0)}}) // numbers above 1<<62
		before := c.Stats()
		time.Sleep(1100 * time.Millisecond)
		c.composer.follow()
		if s := c.Stats(); s.RunsStale != 0 || s.Len != before.Len || !s.Position.Equal(before.Position) {
			t.Errorf("ids of the last tick: %d runs dropped, the position went from %v to %v",
				s.RunsStale, before.Position, s.Position)
		}
		c.Empty()
		time.Sleep(1300 * time.Millisecond) // the position's tick began 1.4 s ago
		c.composer.follow()
		if s := c.Stats(); !s.Position.Equal(before.Position) {
			t.Errorf("an empty ring: the position went from %v to %v", before.Position, s.Position)
		}
		offsets := map[int64]bool{}
		for range 50 {
			time.Sleep(10 * time.Second)
			c.composer.follow()
			id, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			offsets[c.Parse(id).Seq%256] = true
		}
		if len(offsets) < 40 {
			t.Errorf("50 ids after a pause are at %d offsets in their runs, want about 45", len(offsets))
		}
	})
}

// TestLow counts in runs: a ring is low when it holds less than PaddingFactor percent.
func TestLow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for factor, low := range map[int]int{1: 1, 50: 16, 51: 17, 100: 32} {
			c := stoppedCached(t, Both{RunLength: 2048, PaddingFactor: factor}) // 32 runs
			c.composer.ring.TryTakeN(make([]int64, 32-low))
			if c.composer.isLow() {
				t.Errorf("%d %%: %d of 32 runs are low", factor, low)
			}
			if c.composer.ring.TryTakeN(make([]int64, 1)); !c.composer.isLow() {
				t.Errorf("%d %%: %d of 32 runs are not low", factor, low-1)
			}
		}
	})
}

// TestInLanes looks for the oldest number in lanes of different ages.
func TestInLanes(t *testing.T) {
	t.Parallel()
	c := &Cached{lanes: newLanes(4)}
	if oldest, held := c.inLanes(100); oldest != 100 || held {
		t.Errorf("empty lanes: %d, %v, want 100 and none", oldest, held)
	}
	c.lanes[1].begin(10, 20)
	c.lanes[2].begin(30, 40)
	for ring, want := range map[uint64]uint64{100: 10, 5: 5} {
		if oldest, held := c.inLanes(ring); oldest != want || !held {
			t.Errorf("lanes from 10 and 30 on, ring from %d on: %d, %v, want %d", ring, oldest, held, want)
		}
	}
}

// TestCloseInUpperHalf closes a generator whose numbers have their highest bit set: nothing is left
// in the ring.
func TestCloseInUpperHalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{Layout: bitsalloc.Layout{Epoch: time.Now().AddDate(-5, 0, 0)}})
		if n := c.composer.oldest(); n < 1<<62 {
			t.Fatalf("the oldest number is %d, so the test shows less than it says", n)
		}
		w := *c.keeper.window.Load()
		w.worker = 0
		c.keeper.window.Store(&w)
		if _, err := c.composer.fill(); err != nil {
			t.Fatal(err)
		}
		if id, err := c.Next(t.Context()); err != nil || c.Parse(id).Worker != 0 {
			t.Errorf("after a change of worker: %+v, %v", c.Parse(id), err)
		}
		if err := c.Close(); err != nil || c.composer.ring.Len() != 0 {
			t.Errorf("Close() = %v leaves %d runs in the ring", err, c.composer.ring.Len())
		}
	})
}

// TestComposerLocks: a call that moves or reads the position waits for a batch under way, and a call
// that takes the lanes' rests for a refill. Meanwhile it changes nothing, and holds no lane that
// the batch may need.
func TestComposerLocks(t *testing.T) {
	t.Parallel()
	start, later := time.Now(), time.Duration(0) // a machine on which time passes quicker
	c, err := newCached(t.Context(), claimtest.Static(1), &Options{Lanes: 2},
		func() (time.Time, time.Duration) {
			d := time.Since(start) + later
			return start.Add(d), d
		})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.StopPadder()
	p := c.composer
	later = time.Minute // what the ring holds is too old
	runs := p.ring.Len()
	for _, tc := range []struct {
		what string
		call func()
	}{
		{"follow", p.follow}, {"fill", func() { _, _ = p.fill() }}, {"bound", func() { _ = p.bound() }},
		{"drain", func() { p.drain() }},
	} {
		waitsWhile(t, tc.what, &p.mu, func() {
			for i := range c.lanes {
				if !c.lanes[i].mu.TryLock() {
					t.Errorf("%s holds a lane while it waits for the composer", tc.what)
					continue
				}
				c.lanes[i].mu.Unlock()
			}
			if n := p.ring.Len(); n != runs {
				t.Errorf("%s has changed the ring, from %d runs to %d, while it waits", tc.what, runs, n)
			}
		}, tc.call)
		runs = p.ring.Len()
		later += time.Minute
	}
	next := p.timeline.next(p.pos.Load())
	waitsWhile(t, "nextNumber", &p.mu, func() { p.pos.Store(next) }, func() {
		want := p.timeline.of(next).number(next, p.window.worker)
		if n, _ := p.nextNumber(); n != want {
			t.Errorf("the next number is %d, want %d, to which a batch has moved it", n, want)
		}
	})
	for i := range c.lanes {
		mu := &c.lanes[i].mu
		waitsFor(t, "follow", mu, p.follow)
		waitsFor(t, "drain", mu, func() { p.drain() })
		waitsFor(t, "replace", mu, func() { p.replace(c.keeper.window.Load(), time.Now()) })
		waitsFor(t, "held", mu, func() { c.held() })
	}
}

// TestClockWithoutLock: the clock, which may be a function of the user's, is read without the
// composer's lock, so it may take ids.
func TestClockWithoutLock(t *testing.T) {
	t.Parallel()
	clock := NewTestClock()
	c, err := NewCachedAt(t.Context(), claimtest.Static(1), nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	c.StopPadder()
	reads := 0
	clock.OnRead = func() {
		reads++
		if p := c.composer; p.mu.TryLock() {
			p.mu.Unlock()
		} else {
			t.Error("the clock is read under the lock")
		}
	}
	for what, call := range map[string]func(){
		"look": func() { c.look() }, "top": func() { c.composer.top() }, "Stats": func() { c.Stats() },
		"bound": func() { _ = c.composer.bound() },
	} {
		reads = 0
		if call(); reads == 0 {
			t.Errorf("%s reads no clock", what)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestLookRefills: one check of the padder drops the runs that are too old and fills the ring again,
// so that callers who do not compose find it full.
func TestLookRefills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{TakePolicy: TakeReject})
		time.Sleep(5 * time.Second) // of the eight that the ring is ahead
		c.look()
		if ring := c.composer.ring; ring.Len() != ring.Cap() || c.Stats().RunsStale == 0 {
			t.Errorf("a check left %d of %d runs in the ring and dropped %d", ring.Len(), ring.Cap(),
				c.Stats().RunsStale)
		}
		if id, err := c.Next(t.Context()); err != nil || !c.Parse(id).Time.Equal(time.Now()) {
			t.Errorf("Next() = %+v, %v, want an id of the current tick", c.Parse(id), err)
		}
	})
}

// TestReportJumpOver: nothing is said of a jump that is over before it is reported.
func TestReportJumpOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := stoppedCached(t, Both{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.clock.mu.Lock()
		c.clock.silent = true // a reading has found a jump
		c.clock.mu.Unlock()
		c.clock.doubt.Store(true)
		c.reportJump()
		synctest.Wait()
		if strings.Contains(log.String(), "jumped") {
			t.Errorf("the jump is over, and the log is %s", log.String())
		}
	})
}

// TestLookReportsJump: the check that finds a jump of the clock reports it.
func TestLookReportsJump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		clock := NewTestClock()
		c := Open(t, NewCachedAt, claimtest.Static(1), Both{Logger: slog.New(slog.NewTextHandler(&log, nil))}, clock)
		c.StopPadder()
		clock.Step(5 * time.Hour)
		c.look()
		synctest.Wait()
		if !strings.Contains(log.String(), "jumped") {
			t.Errorf("the clock jumped, and the log is %s", log.String())
		}
	})
}

// TestLookUnasked: while no caller waits, a check that finds a bound does not say that ids have
// stopped, and comes again after an interval.
func TestLookUnasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := stoppedCached(t, Both{MaxLead: time.Second, TakePolicy: TakeWait,
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Empty()
		c.composer.pos.Store(c.timeline.at(time.Now().Add(time.Hour)))
		if sleep := c.look(); c.blocked() == nil || sleep != c.opts.ScheduleInterval {
			t.Errorf("%v until the next check, want %v; Err %v", sleep, c.opts.ScheduleInterval, c.blocked())
		}
		synctest.Wait()
		if strings.Contains(log.String(), "stopped") {
			t.Errorf("no call was refused, and the log is %s", log.String())
		}
	})
}
