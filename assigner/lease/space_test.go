package lease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestWaiting: an Assign that waits for its store asks more often at first, then about every second and
// a half, and logs once that it waits.
func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		calls, soon, start := 0, 0, time.Now()
		s.around = func(string, string, func() error) error {
			if calls++; time.Since(start) < time.Second {
				soon++
			}
			return errLost
		}
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLost) {
			t.Errorf("Assign = %v, %v, want its ctx's error and the store's", c, err)
		}
		if calls < 1800 || calls > 3700 || soon < 7 || soon > 10 {
			t.Errorf("%d calls in an hour and %d in the first second, want 1800 to 3700 and 7 to 10", calls, soon)
		}
		if n := strings.Count(log.String(), "waiting for the store"); n != 1 {
			t.Errorf("the log has %d lines about it, want 1:\n%.1000s", n, &log)
		}
		log.Reset()
		soonOver, end := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer end()
		if c, err := a.Assign(soonOver, maxWorker); err == nil || log.Len() == 0 {
			t.Errorf("Assign = %v, %v after one try, and nothing was logged", c, err)
		}
	})
}

// TestLeftAlone: a slot that cannot be read is logged.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	put(s.memory, slot0, `{"v":7}`)
	var log bytes.Buffer
	a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if all, err := a.Slots(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Slots = %v, %v, want none", all, err)
	}
	if want := "slot-0 has version 7, want 1"; strings.Count(log.String(), want) != 1 {
		t.Errorf("the log is %q, want %q in it", &log, want)
	}
}

// TestRestoreUsed: the worker ids above the highest one that Restore is told of stay used as well, if
// they have slots, whether these can be read or not.
func TestRestoreUsed(t *testing.T) {
	t.Parallel()
	for _, unreadable := range []bool{false, true} {
		s := newAmbush()
		for range 3 {
			assign(t, newAssigner(t, s, nil))
		}
		if unreadable {
			s.edit(lease.SlotPrefix+"2", `"v":1`, `"v":7`)
		}
		remove(s.memory, lease.HeaderName)
		if err := newAssigner(t, s, nil).Restore(t.Context(), 0, 0, ""); err != nil {
			t.Fatal(err)
		}
		remove(s.memory, lease.SlotPrefix+"2")
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 3 {
			t.Errorf("worker = %d, want 3", c.Worker())
		}
	}
}

// TestEndedMeanwhile: an Assign whose ctx ends during the first call says so, and what the store
// answered. It logs no wait.
func TestEndedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{errLost, lease.ErrRefused} {
		s := newAmbush()
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		s.around = func(string, string, func() error) error { cancel(); return answer }
		if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, context.Canceled) || !errors.Is(err, answer) {
			t.Errorf("Assign = %v, %v, want its ctx's error and %v", c, err, answer)
		}
		if log.Len() > 0 {
			t.Errorf("the log is %q, want nothing", &log)
		}
	}
}

// TestPlace: an Assigner says where its entries are.
func TestPlace(t *testing.T) {
	t.Parallel()
	if got := newAssigner(t, &memory{}, nil).String(); got != "the test's memory" {
		t.Errorf("String = %q", got)
	}
}

// TestEnded: an Assign whose ctx has ended calls no store, and one whose ctx ends in a conflict says
// what else the store has answered before.
func TestEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []error{errLost, lease.ErrBusy} {
			s := newAmbush()
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			s.around = func(string, string, func() error) error {
				if calls++; calls == 1 {
					return answer
				}
				cancel()
				return lease.ErrConflict
			}
			if _, err := newAssigner(t, s, nil).Assign(ctx, maxWorker); !errors.Is(err, context.Canceled) ||
				!errors.Is(err, answer) || errors.Is(err, lease.ErrConflict) {
				t.Errorf("Assign = %v, want its ctx's error and %v", err, answer)
			}
			s.around = nil
			const want = "lease: claiming a worker id: the test's memory: context canceled"
			if _, err := newAssigner(t, s, nil).Assign(ctx, maxWorker); err == nil || err.Error() != want ||
				s.calls > 0 {
				t.Errorf("Assign = %v with %d calls, want %s without", err, s.calls, want)
			}
		}
	})
}

// TestReleaseSpread: the tries of a Release are spread over its time, and those of an
// extension are soon over. Neither logs that it waits: their callers know.
func TestReleaseSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		var log bytes.Buffer
		c := assign(t, newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
		var at []time.Time
		s.around = func(string, string, func() error) error { at = append(at, time.Now()); return errLost }
		if _, err := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(err, errLost) || len(at) != 3 {
			t.Errorf("Extend = %v after %d calls, want 3", err, len(at))
		}
		at = nil
		if err := c.Release(t.Context(), time.Now()); !errors.Is(err, errLost) || len(at) < 6 || len(at) > 12 {
			t.Fatalf("Release = %v after %d calls, want 6 to 12", err, len(at))
		}
		for i := range at[1:] {
			if d := at[i+1].Sub(at[i]); d < time.Second/2 || d > time.Second {
				t.Errorf("try %d comes %v after the one before", i+2, d)
			}
		}
		if log.Len() > 0 {
			t.Errorf("the log is %q, want nothing", &log)
		}
	})
}

// TestNothingStamped: a slot in which nothing was stamped shows as well that there was a header.
func TestNothingStamped(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	if err := assign(t, newAssigner(t, s, nil)).Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	remove(s.memory, lease.HeaderName)
	if _, err := newAssigner(t, s, nil).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Assign = %v, want ErrWentBack", err)
	}
}
