package claimtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/winlog"
)

// claim makes a claim of worker id want.
func claim(t *testing.T, a assigner.Assigner, want int64) assigner.Claim {
	t.Helper()
	c, err := a.Assign(t.Context(), 1023)
	if err != nil {
		t.Fatal(err)
	}
	if c.Worker() != want {
		t.Fatalf("worker id = %d, want %d", c.Worker(), want)
	}
	return c
}

// in checks a claim's window, counted from start.
func in(t *testing.T, c assigner.Claim, start time.Time, from, until time.Duration) {
	t.Helper()
	f, u := c.Window()
	if !f.Equal(start.Add(from)) || !u.Equal(start.Add(until)) {
		t.Errorf("window of worker %d = [%v, %v), want [%v, %v)", c.Worker(), f.Sub(start),
			u.Sub(start), from, until)
	}
}

// TestMemoryWindows: windows are as long as they should be and follow one another, by the
// authority's clock.
func TestMemoryWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := &claimtest.Memory{Length: time.Minute, From: start}
		a := claim(t, m, 0)
		in(t, a, start, 0, time.Minute)
		b := claim(t, m, 1)
		if _, err := a.Extend(t.Context(), start.Add(3*time.Minute)); err != nil {
			t.Fatal(err)
		}
		in(t, a, start, 0, 3*time.Minute)
		time.Sleep(2 * time.Minute) // b's has passed
		c := claim(t, m, 1)
		in(t, c, start, time.Minute, 3*time.Minute)
		_, err := b.Extend(t.Context(), start.Add(time.Hour))
		if !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of a claim that was taken over = %v, want ErrClaimLost", err)
		}
		// Releases nothing.
		if err := b.Release(t.Context(), start.Add(2*time.Minute)); err != nil {
			t.Error(err)
		}
		if err := a.Release(t.Context(), start.Add(90*time.Second)); err != nil {
			t.Error(err)
		}
		d := claim(t, m, 0)
		in(t, d, start, 90*time.Second, 3*time.Minute)
		m.Lose(0)
		m.Lose(9) // nobody's
		e := claim(t, m, 0)
		in(t, e, start, 3*time.Minute, 4*time.Minute)
		_, err = d.Extend(t.Context(), start.Add(time.Hour))
		if !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of a claim that was lost = %v, want ErrClaimLost", err)
		}
		m.Set(func(m *claimtest.Memory) {
			m.From, m.Length = start.Add(-time.Hour), 2*time.Hour
		})
		in(t, claim(t, m, 2), start, -time.Hour, 2*time.Minute+2*time.Hour)
		m.Set(func(m *claimtest.Memory) { m.Length = time.Minute })
		m.Step(time.Hour) // its clock sees all of them passed
		if now := m.Now(); !now.Equal(start.Add(2*time.Minute + time.Hour)) {
			t.Errorf("Now = %v, want two minutes and an hour", now.Sub(start))
		}
		f := claim(t, m, 0)
		in(t, f, start, 4*time.Minute, 63*time.Minute)
		if err := m.Windows().Overlap(); err != nil {
			t.Error(err)
		}
		if n := len(m.Windows().All()); n != 7 {
			t.Errorf("%d windows in the log, want 7", n)
		}
	})
}

// TestMemoryReleaseOfMore releases more than the window. That is no more than the whole window, in
// the log too.
func TestMemoryReleaseOfMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := &claimtest.Memory{Length: time.Minute, From: start}
		if err := claim(t, m, 0).Release(t.Context(), start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		in(t, claim(t, m, 0), start, time.Minute, 2*time.Minute)
		if err := m.Windows().Overlap(); err != nil {
			t.Error(err)
		}
	})
}

// TestMemoryEndless: a window without end is nobody else's until it is given back.
func TestMemoryEndless(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{Length: claimtest.Endless}
	one := m.Range(1, 1)
	c := claim(t, one, 1)
	if from, until := c.Window(); !from.IsZero() || !until.IsZero() {
		t.Errorf("window = [%v, %v), want all of time", from, until)
	}
	if until, err := c.Extend(t.Context(), time.Now()); err != nil || !until.IsZero() {
		t.Errorf("Extend = %v, %v, want no end", until, err)
	}
	if _, ok := c.(assigner.Clock); ok {
		t.Error("a claim tells the time, want that only with TellTime")
	}
	m.Lose(1)
	m.Step(1000 * time.Hour)
	if _, err := one.Assign(t.Context(), 1023); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Assign of an endless window's worker id = %v, want ErrWorkersExhausted", err)
	}
	m = &claimtest.Memory{Length: claimtest.Endless}
	c = claim(t, m, 0)
	used := time.Now()
	if err := c.Release(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	if from, _ := claim(t, m, 0).Window(); !from.Equal(used) {
		t.Errorf("the next window begins at %v, want %v, what was used", from, used)
	}
}

// TestMemoryFaults: calls fail and come late as the test says, before the authority hears of them
// or after it has done what it was asked, and are counted.
func TestMemoryFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var before, after error
		m := &claimtest.Memory{From: start, TellTime: true,
			Before: func(ctx context.Context, c claimtest.Call) error {
				if c.Op == claimtest.OpNow {
					select {
					case <-time.After(3 * time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return before
			},
			After: func(context.Context, claimtest.Call) error { return after },
		}
		down, lost := errors.New("down"), errors.New("answer lost")
		before = down
		if _, err := m.Assign(t.Context(), 7); !errors.Is(err, down) {
			t.Errorf("Assign = %v, want it down", err)
		}
		before = nil
		c := claim(t, m, 0)
		more := start.Add(time.Hour)
		before = down
		if _, err := c.Extend(t.Context(), more); !errors.Is(err, down) {
			t.Errorf("Extend = %v, want it down", err)
		}
		before, after = nil, lost
		if _, err := c.Extend(t.Context(), more); !errors.Is(err, lost) {
			t.Errorf("Extend = %v, want the answer lost", err)
		}
		in(t, c, start, 0, 10*time.Minute) // as far as the owner knows
		after = nil
		m.Lose(0)
		// The authority knows more.
		in(t, claim(t, m, 0), start, time.Hour, time.Hour+10*time.Minute)
		clock := c.(assigner.Clock)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := clock.Now(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Now for a second = %v, want the deadline", err)
		}
		m.Step(time.Minute)
		if now, err := clock.Now(t.Context()); err != nil ||
			!now.Equal(start.Add(4*time.Second+time.Minute)) {
			t.Errorf("Now = %v, %v, want 64 s", now.Sub(start), err)
		}
		if err := c.Release(t.Context(), start); err != nil {
			t.Error(err)
		}
		var ops []claimtest.Op
		for _, call := range m.Calls() {
			ops = append(ops, call.Op)
		}
		want := []claimtest.Op{"Assign", "Assign", "Extend", "Extend", "Assign", "Now", "Now",
			"Release"}
		if !slices.Equal(ops, want) {
			t.Errorf("calls = %v, want %v", ops, want)
		}
		extends := m.Calls(claimtest.OpExtend)
		if len(extends) != 2 || !extends[1].Asked.Equal(more) || extends[1].Worker != 0 ||
			!extends[1].At.Equal(start) {
			t.Errorf("calls of Extend = %+v, want two at %v for %v", extends, start, more)
		}
	})
}

// TestWindowsOverlap: windows of one worker id overlap when they share an instant, whatever the
// order in which they are put.
func TestWindowsOverlap(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time {
		if s < 0 {
			return time.Time{}
		}
		return time.Unix(int64(s), 0)
	}
	for _, tt := range []struct {
		name                       string
		from, until, from2, until2 int // -1: open
		apart                      bool
	}{
		{"next to each other", 1, 5, 5, 9, true},
		{"apart", 1, 5, 7, 9, true},
		{"a second", 1, 5, 4, 9, false},
		{"inside", 1, 9, 4, 5, false},
		{"the same", 1, 5, 1, 5, false},
		{"no end, then another", 1, -1, 7, 9, false},
		{"no end, after another", 7, -1, 1, 7, true},
		{"no begin", -1, 5, 4, 9, false},
		{"no begin, apart", -1, 5, 5, 9, true},
		{"empty inside", 1, 9, 5, 5, true},
		{"empty, the other way round", 1, 9, 5, 4, true},
	} {
		a := winlog.Window{Claim: 1, Worker: 3, From: at(tt.from), Until: at(tt.until)}
		b := winlog.Window{Claim: 2, Worker: 3, From: at(tt.from2), Until: at(tt.until2)}
		for _, order := range [][]winlog.Window{{a, b}, {b, a}} {
			var l winlog.Log
			for _, w := range order {
				l.Put(w)
			}
			if err := l.Overlap(); (err == nil) != tt.apart {
				t.Errorf("%s: %v, want apart: %v", tt.name, err, tt.apart)
			}
			b.Worker = 4
			l.Put(b)
			if err := l.Overlap(); err != nil {
				t.Errorf("%s, of two worker ids: %v", tt.name, err)
			}
			b.Worker = 3
		}
	}
}

// TestWatch: every window is reported when it is granted, extended and given back, the last before
// the authority knows.
func TestWatch(t *testing.T) {
	t.Parallel()
	start := time.Now().UTC().Round(0)
	var order []string
	var seen []winlog.Window
	m := &claimtest.Memory{From: start, TellTime: true,
		Before: func(_ context.Context, c claimtest.Call) error {
			order = append(order, string(c.Op))
			return nil
		}}
	w := winlog.Watch(m, func(w winlog.Window) {
		order = append(order, "report")
		seen = append(seen, w)
	})
	c := claim(t, w.(assigner.LayoutBinder).BindLayout("x"), 0)
	if _, ok := c.(assigner.Clock); !ok {
		t.Error("a watched claim does not tell the time")
	}
	_, until := c.Window()
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := claim(t, w.(assigner.LayoutBinder).BindLayout("x"), 0).Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Assign", "report", "Extend", "report", "report", "Release",
		"Assign", "report", "report", "Release"}
	if !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
	for i, want := range []struct {
		claim int64
		until time.Time
	}{{1, until}, {1, until.Add(time.Hour)}, {1, start.Add(time.Second)}} {
		if got := seen[i]; got.Claim != want.claim || got.Worker != 0 || !got.From.Equal(start) ||
			!got.Until.Equal(want.until) {
			t.Errorf("report %d = %+v, want claim %d until %v", i, got, want.claim, want.until)
		}
	}
	if last := seen[4]; last.Claim != 2 || last.From.Before(last.Until) {
		t.Errorf("reported %+v for a window that is given back unused, want an empty one", last)
	}
	_, err := m.BindLayout("y").Assign(t.Context(), 7)
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("another layout = %v, want ErrLayoutMismatch: Watch binds what it watches", err)
	}
}

// TestMemoryGrant: an extension gets what Grant says, and a window never shrinks.
func TestMemoryGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := &claimtest.Memory{From: start, Length: time.Minute, Span: time.Hour}
		c := claim(t, m, 0)
		if got := c.(assigner.Windowed).Span(); got != time.Hour {
			t.Errorf("Span() = %v, want an hour", got)
		}
		for _, tt := range []struct{ grant, until time.Duration }{
			{0, time.Minute}, {30 * time.Second, time.Minute}, {2 * time.Hour, 2 * time.Hour},
		} {
			m.Set(func(m *claimtest.Memory) {
				m.Grant = func(asked time.Time) time.Time {
					if !asked.Equal(start.Add(time.Hour)) {
						t.Errorf("Grant(%v), want it asked for an hour", asked)
					}
					return start.Add(tt.grant)
				}
			})
			got, err := c.Extend(t.Context(), start.Add(time.Hour))
			if err != nil || !got.Equal(start.Add(tt.until)) {
				t.Errorf("granted %v, Extend() = %v, %v, want %v", tt.grant, got.Sub(start), err, tt.until)
			}
			in(t, c, start, 0, tt.until)
		}
	})
}

// TestMemoryFailOf: calls of some kinds fail, each kind with its own error, and others do not.
func TestMemoryFailOf(t *testing.T) {
	t.Parallel()
	m, errAway := &claimtest.Memory{}, errors.New("no route to host")
	c := claim(t, m, 0)
	m.Fail(assigner.ErrClaimLost, claimtest.OpExtend)
	m.Fail(errAway, claimtest.OpAssign, claimtest.OpNow)
	_, assign := m.Assign(t.Context(), 7)
	_, extend := c.Extend(t.Context(), time.Time{})
	if !errors.Is(assign, errAway) || !errors.Is(extend, assigner.ErrClaimLost) {
		t.Errorf("Assign() = %v, Extend() = %v, want %v and ErrClaimLost", assign, extend, errAway)
	}
	m.Fail(nil, claimtest.OpExtend)
	if _, err := c.Extend(t.Context(), time.Time{}); err != nil {
		t.Errorf("Extend() = %v when only other calls fail", err)
	}
	if err := c.Release(t.Context(), time.Time{}); err != nil {
		t.Errorf("Release() = %v when only other calls fail", err)
	}
}

// TestMemoryFail: an outage fails every call, and changes nothing.
func TestMemoryFail(t *testing.T) {
	t.Parallel()
	m, errAway := &claimtest.Memory{}, errors.New("no route to host")
	c := claim(t, m, 0)
	_, until := c.Window()
	m.Fail(errAway)
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, errAway) {
		t.Errorf("Extend() = %v, want %v", err, errAway)
	}
	if _, err := m.Assign(t.Context(), 7); !errors.Is(err, errAway) {
		t.Errorf("Assign() = %v, want %v", err, errAway)
	}
	m.Fail(nil)
	if got, err := c.Extend(t.Context(), time.Time{}); err != nil || !got.Equal(until) {
		t.Errorf("after the outage Extend() = %v, %v, want %v", got, err, until)
	}
}
