package assigner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// steppable is a clock that a test moves. Its methods are not safe for concurrent use.
type steppable struct{ offset time.Duration }

func (s *steppable) now() time.Time { return time.Now().Add(s.offset) }

// leadAt makes a claim of worker 7 with a lead of 3 s and steps of 1 s, at 0.4 s into a second.
func leadAt(t *testing.T) (*leadClaim, *steppable) {
	t.Helper()
	time.Sleep(400 * time.Millisecond)
	clock := &steppable{}
	c, err := newLeadClaim(t.Context(), 3*time.Second, time.Second, clock.now, 7, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return c, clock
}

// since returns what is left from start to t.
func since(start, t time.Time) time.Duration { return t.Sub(start) }

func TestLeadWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, _ := leadAt(t)
		from, until := c.Window()
		if now := since(start, time.Now()); now != time.Second {
			t.Errorf("Assign returned at %v, want the next step, 1 s", now)
		}
		if f, u := since(start, from), since(start, until); f != 3*time.Second ||
			u != 4*time.Second {
			t.Errorf("window [%v, %v), want [3 s, 4 s)", f, u)
		}
		for _, tt := range []struct{ sleep, ask, want, at time.Duration }{
			{0, 4 * time.Second, 4 * time.Second, time.Second},
			// nothing to do
			{0, time.Hour, 5 * time.Second, 2 * time.Second},
			// at the limit: the next step
			{0, time.Hour, 6 * time.Second, 3 * time.Second},
			// and the next
			{7700 * time.Millisecond, time.Hour, 13 * time.Second, 10700 * time.Millisecond},
			// at once
			{time.Second, 13500 * time.Millisecond, 13500 * time.Millisecond,
				11700 * time.Millisecond},
			{0, time.Hour, 14 * time.Second, 11700 * time.Millisecond},
			{0, time.Hour, 15 * time.Second, 12 * time.Second},
		} {
			time.Sleep(tt.sleep)
			until, err := c.Extend(t.Context(), start.Add(tt.ask))
			if got, at := since(start, until), since(start, time.Now()); err != nil ||
				got != tt.want || at != tt.at {
				t.Errorf("Extend(%v) = %v, %v at %v, want %v at %v", tt.ask, got, err, at, tt.want,
					tt.at)
			}
			if _, end := c.Window(); !end.Equal(until) {
				t.Errorf("Window ends at %v, want %v", end, until)
			}
		}
	})
}

func TestLeadContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(400 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		released := 0
		a := newLocal("env", func(int64) (int64, error) { return 7, nil }, nil)
		a.open = &holders{}
		begin := time.Now()
		_, err := a.Assign(ctx, 7)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) ||
			took != 100*time.Millisecond {
			t.Errorf("Assign until its ctx ends = %v after %v, want the deadline after 100 ms", err,
				took)
		}
		c, err := a.Assign(t.Context(), 7) // the first one does not hold the worker id
		if err != nil {
			t.Fatal(err)
		}
		l := c.(*leadClaim)
		l.release = func() { released++ }
		ctx, cancel = context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Millisecond)
			cancel()
		}()
		_, before := c.Window()
		if _, err := c.Extend(ctx, before.Add(time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("Extend until its ctx ends = %v, want context.Canceled", err)
		}
		if _, after := c.Window(); !after.Equal(before) {
			t.Errorf("a cancelled Extend moved the end from %v to %v", before, after)
		}
		if err := c.Release(t.Context(), before); err != nil || released != 1 {
			t.Errorf("Release = %v, with %d releases of the worker id, want 1", err, released)
		}
		if _, err := c.Extend(t.Context(), before.Add(time.Hour)); err == nil ||
			!strings.Contains(err.Error(), "released") {
			t.Errorf("Extend after Release = %v, want an error that says so", err)
		}
	})
}

// TestLeadClockSteps: a clock that goes back shortly is waited for, one that goes back far is an
// error, and one that is far ahead for a moment does not open the window that far.
func TestLeadClockSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, clock := leadAt(t)
		clock.offset = -time.Second
		_, until := c.Window()
		end, err := c.Extend(t.Context(), until.Add(time.Hour))
		if err != nil || since(start, end) != 5*time.Second ||
			since(start, time.Now()) != 3*time.Second {
			t.Errorf("a second back: Extend = %v, %v at %v, want 5 s at 3 s", since(start, end),
				err, since(start, time.Now()))
		}
		clock.offset = -time.Hour
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); err == nil ||
			!strings.Contains(err.Error(), "went back: it is 59m59s behind") {
			t.Errorf("an hour back: Extend = %v, want an error that says so", err)
		}
		if _, until = c.Window(); !until.Equal(end) {
			t.Errorf("an Extend that failed moved the end from %v to %v", end, until)
		}
		clock.offset = 100 * 365 * 24 * time.Hour
		if got, err := c.Extend(t.Context(), end.Add(time.Second)); err != nil ||
			!got.Equal(end.Add(time.Second)) {
			t.Errorf("a century ahead: Extend = %v, %v, want the second that was asked for", got,
				err)
		}
	})
}

// TestLeadClockBackAtAssign: an Assign during which the clock goes back does not wait for hours.
func TestLeadClockBackAtAssign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		calls := 0
		now := func() time.Time {
			if calls++; calls > 1 {
				return time.Now().Add(-time.Hour)
			}
			return time.Now()
		}
		_, err := newLeadClaim(t.Context(), 3*time.Second, time.Second, now, 7, func() {})
		if err == nil || !strings.Contains(err.Error(), "clock went back") ||
			time.Since(begin) > 2*time.Second {
			t.Errorf("error %v after %v, want one about the clock at once", err, time.Since(begin))
		}
	})
}

// TestLeadLongStep: a step of an hour does not keep Extend for that long.
func TestLeadLongStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := newLeadClaim(t.Context(), 3*time.Hour, time.Hour, time.Now, 7, func() {})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, until := c.Window()
		got, err := c.Extend(t.Context(), until.Add(time.Hour))
		if took := time.Since(begin); err != nil || !got.Equal(until) || took != patience {
			t.Errorf("Extend = %v, %v after %v, want the same end after %v", got, err, took,
				patience)
		}
	})
}

// FuzzLead: of two claims on one worker id, the later begins where the earlier can have got to, or
// after that, whatever the lead, the step and the times are.
func FuzzLead(f *testing.F) {
	f.Add(int64(3_000_000_000), int64(1_000_000_000), int64(0), int64(0), int64(1))
	f.Add(int64(1), int64(1), int64(1<<62), int64(1), int64(1))
	f.Add(int64(7_123_456_789), int64(999_999_999), int64(1_700_000_000_123_456_789), int64(5),
		int64(0))
	f.Fuzz(func(t *testing.T, lead, step, begin, life, pause int64) {
		if lead < 0 || step < 1 || life < 0 || pause < 0 {
			return
		}
		start := time.Unix(0, begin)
		end := start.Add(time.Duration(life))
		next := end.Add(time.Duration(pause))
		c := leadClaim{lead: time.Duration(lead), step: time.Duration(step)}
		if from, until := c.limit(next), c.limit(end); from.Before(until) {
			t.Errorf("lead %d, step %d: granted until %v at %v, and from %v at %v", lead, step,
				until, end, from, next)
		}
	})
}

func TestLocalOptions(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		o    *LocalOptions
		tick time.Duration
		lead time.Duration
		err  string // part of the message; empty: none
	}{
		{nil, s, 3 * s, ""},
		{nil, ms, 3 * s, ""},
		{nil, time.Minute, 3 * time.Minute, ""},
		{nil, maxTick, 3 * maxTick, ""},
		{&LocalOptions{File: "x"}, s, 10 * s, ""},
		{&LocalOptions{File: "x"}, time.Minute, 3 * time.Minute, ""},
		{&LocalOptions{Lead: 2 * s}, s, 2 * s, ""},
		{&LocalOptions{Lead: 2*s - 1}, s, 0, "Lead is 1.999999999s, want at least 2s, two ticks"},
		{&LocalOptions{Lead: 100 * ms}, ms, 100 * ms, ""},
		{&LocalOptions{Lead: 99 * ms}, ms, 0, "Lead is 99ms, want at least 100ms"},
		{&LocalOptions{Lead: -s}, ms, 0, "Lead is -1s"},
		{&LocalOptions{RepeatsAfterRestart: true}, s, 3 * s, ""}, // not used
		{&LocalOptions{RepeatsAfterRestart: true, Lead: s}, s, 0,
			"Lead is 1s, want 0 with RepeatsAfterRestart"},
		{&LocalOptions{RepeatsAfterRestart: true, File: "x"}, s, 0,
			`File is "x", want none with RepeatsAfterRestart`},
	} {
		got, err := tt.o.withDefaults(tt.tick)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v with ticks of %v: error %v, want one with %q", tt.o, tt.tick, err,
					tt.err)
			}
			continue
		}
		if err != nil || got.Lead != tt.lead {
			t.Errorf("%+v with ticks of %v: lead %v, %v, want %v", tt.o, tt.tick, got.Lead, err,
				tt.lead)
		}
	}
	a := newLocal("env", func(int64) (int64, error) { return 7, nil }, &LocalOptions{Lead: 1})
	if _, err := a.Assign(t.Context(), 7); err == nil ||
		!strings.HasPrefix(err.Error(), "assigner: env: option Lead is 1ns") {
		t.Errorf("Assign = %v, want an error that names the Assigner and the field", err)
	}
}

func TestTickOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                                       time.Second,
		"28-22-13-0/1s@2026-01-01T00:00:00Z":     time.Second,
		"41-10-12-0/1ms@2010-11-04T01:42:54Z":    time.Millisecond,
		"39-16-8-0/10ms@2014-09-01T00:00:00Z/3":  10 * time.Millisecond,
		"41-10-12-0/1ms+77@2026-01-01T00:00:00Z": time.Millisecond,
		"41-10-12-0/1ms@2026-01-01T00:00:00Z,28-22-13-0/1m0s+9@x,28-22-13-0/1s@x": time.Minute,
		"20-22-13-0/1h0m0s":         time.Hour,
		"20-22-13-0/2562047h0m0s@x": maxTick,
		"20-22-13-0/-1s@x":          time.Second,
		"20-22-13-0/x@x":            time.Second,
	} {
		if got := tickOf(text); got != want {
			t.Errorf("tickOf(%q) = %v, want %v", text, got, want)
		}
	}
}
