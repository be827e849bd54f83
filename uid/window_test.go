package uid_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestWindowBehind claims a worker id that was last used a month ago: its window begins there. What
// the keeper asks for is as far ahead of the clock as the first claim, not as long as the window.
func TestWindowBehind(t *testing.T) {
	eachKind(t, uid.Both{}, func(a *place) { a.From = a.From.Add(-30 * 24 * time.Hour) },
		func(t *testing.T, g uid.Generator, _ *place, _ *uid.TestClock) {
			for range 60 {
				time.Sleep(time.Minute)
				mustNext(t, g)
				if left := time.Until(g.Stats().WindowUntil); left > 11*time.Minute {
					t.Fatalf("the window ends in %v, want about ten minutes, as at first", left)
				}
			}
		})
}

// extendsAtMost takes an id a second. That takes no more than most extensions.
func extendsAtMost(t *testing.T, seconds, most int, script func(*place)) {
	eachKind(t, uid.Both{}, script, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		for range seconds {
			mustNext(t, g)
			time.Sleep(time.Second)
		}
		if n := len(extensions(a.Memory)); n > most {
			t.Errorf("extended %d times in %d seconds, want at most %d", n, seconds, most)
		}
	})
}

// TestWindowShort claims a window that holds not one whole tick: the keeper asks for one that does,
// instead of for the same again and again.
func TestWindowShort(t *testing.T) {
	extendsAtMost(t, 10, 50, func(a *place) {
		a.From, a.Length = a.From.Add(5*time.Second+time.Millisecond), 10*time.Millisecond
	})
}

// TestWindowPassed claims from an authority whose clock is hours behind: by this clock the window
// has passed before it began. The keeper asks for one that lies ahead.
func TestWindowPassed(t *testing.T) {
	extendsAtMost(t, 10, 50, func(a *place) {
		a.From = time.Time{}
		a.Step(-3*time.Hour - a.Length)
	})
}

// TestWindowPassedLength is the same with a window of ten minutes: what is asked for is as long, so
// that it is extended about every five minutes.
func TestWindowPassedLength(t *testing.T) {
	extendsAtMost(t, 600, 5, func(a *place) {
		a.From = a.From.Add(-3 * time.Hour)
		a.Step(-3 * time.Hour)
	})
}

// TestWindowAhead restarts with a clock that is hours behind: the claim's window begins where the
// last one ended.
func TestWindowAhead(t *testing.T) {
	ahead := func(a *place) {
		a.From, a.Length = a.From.Add(3*time.Hour+time.Millisecond), time.Hour
	}
	t.Run("borrow", func(t *testing.T) {
		eachKind(t, uid.Both{}, ahead, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			var last uid.ID
			for range 40_000 {
				id := mustNext(t, g)
				if p := g.Parse(id); p.Time.Before(a.From) || id <= last {
					t.Fatalf("got %+v after %d, the window begins at %v", p, last, a.From)
				}
				last = id
			}
			if lead := g.Stats().Lead; lead < 3*time.Hour {
				t.Errorf("Stats().Lead = %v, want over 3 h", lead)
			}
		})
	})
	t.Run("wait", func(t *testing.T) {
		eachKind(t, uid.Both{MaxLead: time.Second}, ahead,
			func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
				id := mustNext(t, g)
				if wait := time.Until(a.From); wait > time.Second || wait < -time.Second {
					t.Errorf("the first id came %v before the window, want at most a second's lead", wait)
				}
				if p := g.Parse(id); p.Time.Before(a.From) {
					t.Errorf("got %+v, the window begins at %v", p, a.From)
				}
			})
	})
	t.Run("reject", func(t *testing.T) {
		eachKind(t, uid.Both{MaxLead: time.Second, TakePolicy: uid.TakeReject}, ahead,
			func(t *testing.T, g uid.Generator, _ *place, _ *uid.TestClock) {
				if id, err := g.Next(t.Context()); !errors.Is(err, uid.ErrLead) {
					t.Errorf("Next() = %d, %v, want ErrLead", id, err)
				}
			})
	})
}

// TestWindowBeyondLayout claims a window that begins where the time bits have ended.
func TestWindowBeyondLayout(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		a := &claimtest.Memory{From: time.Now().Add(100 * 365 * 24 * time.Hour)}
		_, err := make(t.Context(), a, nil, uid.NewTestClock())
		if n := len(a.Calls(claimtest.OpRelease)); !errors.Is(err, uid.ErrExhausted) || n != 1 {
			t.Errorf("%s: %v and %d releases, want ErrExhausted and the claim given back", name, err, n)
		}
	}
}

// asksFor checks that the only extension asks for length beyond the position, and how often the
// authority was asked for the time.
func asksFor(t *testing.T, kind string, m *claimtest.Memory, length time.Duration, nows int) {
	t.Helper()
	extends, got := extensions(m), len(m.Calls(claimtest.OpNow))
	if len(extends) != 1 || got != nows {
		t.Fatalf("%s: extensions are %v and the clock was asked %d times, want one, and %d",
			kind, extends, got, nows)
	}
	// The position of cached is a few seconds ahead.
	if asked := extends[0].asked - extends[0].at; asked < length || asked > length+10*time.Second {
		t.Errorf("%s: asked for %v, want %v beyond the position", kind, asked, length)
	}
}

// TestWindowTold claims a window that is nearly over, of an authority whose clock is an hour ahead.
// What the keeper asks for is as long as the claim says, and the authority's clock, which is asked
// for once at the start, has no say.
func TestWindowTold(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		m := newMemory(3*time.Second - time.Hour) // 3 s by the generator's clock
		m.Span = 10 * time.Minute
		m.Step(time.Hour)
		bubble(t, kind, m, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			time.Sleep(time.Minute)
			asksFor(t, kind, m, m.Span, 1)
		})
	}
}

// TestWindowNotTold claims a window whose length the claim does not know, of an authority whose clock
// is an hour ahead: the generator measures what is left of it, by the authority's clock.
func TestWindowNotTold(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		m := newMemory(10 * time.Minute)
		m.Step(time.Hour)
		bubble(t, kind, m, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			time.Sleep(67 * time.Minute)
			asksFor(t, kind, m, m.Length, 1)
		})
	}
}
