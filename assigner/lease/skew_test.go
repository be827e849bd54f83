package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// slowTold is a store with a clock that takes its time to tell it, half of it before and half after
// it looks. Its first answer is lost.
type slowTold struct {
	told
	takes time.Duration
	calls int
}

func (s *slowTold) Now(ctx context.Context) (time.Time, error) {
	if s.calls++; s.calls == 1 {
		return time.Time{}, errLost
	}
	time.Sleep(s.takes / 2)
	now := s.clock.now()
	time.Sleep(s.takes / 2)
	return now, ctx.Err()
}

// TestMaxSkew: a start with a clock that is further from the store's than MaxSkew fails with both
// clocks, at once, and says so in the log. In Leaf the check's failure is swallowed. A store that
// answers slowly makes no clock wrong, and without the option no clock is.
func TestMaxSkew(t *testing.T) {
	t.Parallel()
	const bound = 2 * time.Second
	for _, tt := range []struct {
		ahead time.Duration // the local clock
		takes time.Duration
		max   time.Duration
		want  string // part of the error; empty: none
	}{
		{0, 0, bound, ""},
		{0, 4 * time.Second, time.Second, ""},
		{bound, 0, bound, ""},
		{-bound, 0, bound, ""},
		{bound + time.Millisecond, 0, bound, "is 2.001s ahead of the store's"},
		{-bound - time.Millisecond, 0, bound, "is 2.001s behind the store's"},
		{time.Minute, 4 * time.Second, bound, "is 58s ahead of the store's"},
		{-time.Minute, 4 * time.Second, bound, "is 58s behind the store's"},
		{40 * 365 * 24 * time.Hour, 0, bound, "ahead of the store's"},
		{time.Minute, 0, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			s := &slowTold{told{&memory{}, &clock{}}, tt.takes, 0}
			a := newAssigner(t, s, &lease.Options{MaxSkew: tt.max, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			local := &clock{shift: tt.ahead}
			a.SetClock(local.now)
			begin := time.Now()
			c, err := a.Assign(t.Context(), 1)
			if tt.want == "" {
				if err != nil {
					t.Errorf("ahead by %v, answers take %v: %v", tt.ahead, tt.takes, err)
				}
				return
			}
			if !errors.Is(err, lease.ErrSkew) || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "MaxSkew is 2s") {
				t.Fatalf("ahead by %v: Assign = %v, %v, want an ErrSkew with %q", tt.ahead, c, err, tt.want)
			}
			if n := strings.Count(log.String(), "clock refused"); n != 1 {
				t.Errorf("%d lines of the refused clock, want 1:\n%s", n, log.String())
			}
			if len(s.entries) != 0 || time.Since(begin) > time.Minute {
				t.Errorf("%d entries after %v, want none, at once", len(s.entries), time.Since(begin))
			}
		})
	}
}

// TestMaxSkewOnce: an Assign compares the clocks once, however often it tries.
func TestMaxSkewOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, local := timed{newAmbush()}, &clock{}
		a := newAssigner(t, s, &lease.Options{MaxSkew: time.Second})
		a.SetClock(local.now)
		s.once(1, "put", slot0, func(func() error) error { local.step(time.Minute); return errLost })
		assign(t, a)
	})
}

// TestMaxSkewOption: a store without a clock refuses MaxSkew, and every store one out of range.
func TestMaxSkewOption(t *testing.T) {
	t.Parallel()
	_, err := lease.New(&memory{}, &lease.Options{MaxSkew: time.Second})
	if err == nil || !strings.Contains(err.Error(), "MaxSkew is 1s, want 0: the test's memory tells no time") {
		t.Errorf("New on a store without a clock = %v", err)
	}
	for _, d := range []time.Duration{-1, time.Second - 1, 366*24*time.Hour + 1} {
		_, err := lease.New(told{&memory{}, &clock{}}, &lease.Options{MaxSkew: d})
		if err == nil || !strings.Contains(err.Error(), "MaxSkew is "+d.String()+", want 0, or 1s to 8784h0m0s") {
			t.Errorf("MaxSkew %v: %v, want an error with the bounds", d, err)
		}
	}
}
