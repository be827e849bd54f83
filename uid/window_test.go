package uid_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/uid"
)

// TestWindowBehind claims a worker id that was last used a month ago: its window begins there. What the keeper asks for is as far ahead of
// the present as the first claim, not as long as the window.
func TestWindowBehind(t *testing.T) {
	eachKind(t, uid.Options{}, func(a *scriptedAssigner) { a.from = a.from.Add(-30 * 24 * time.Hour) },
		func(t *testing.T, g uid.Generator, _ *scriptedAssigner, _ *uid.TestClock) {
			for range 60 {
				time.Sleep(time.Minute)
				mustNext(t, g)
				if left := time.Until(g.Stats().WindowUntil); left > 11*time.Minute {
					t.Fatalf("the window ends in %v, want about ten minutes, as at first", left)
				}
			}
		})
}

// TestWindowShort claims a window that holds not one whole tick: the keeper asks for one that does, instead of for the same again and again.
func TestWindowShort(t *testing.T) {
	eachKind(t, uid.Options{}, func(a *scriptedAssigner) {
		a.from = a.from.Add(5*time.Second + time.Millisecond)
		a.until = a.from.Add(10 * time.Millisecond)
	}, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		for range 10 {
			mustNext(t, g)
			time.Sleep(time.Second)
		}
		if _, n := a.counts(); n > 50 {
			t.Errorf("extended %d times in ten seconds", n)
		}
	})
}

// TestWindowPassed claims from an authority whose clock is hours behind: by this clock the window has passed before it began. The keeper
// asks for one that lies ahead.
func TestWindowPassed(t *testing.T) {
	eachKind(t, uid.Options{}, func(a *scriptedAssigner) {
		a.from = time.Time{}
		a.until = time.Now().Add(-3 * time.Hour)
	}, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		for range 10 {
			mustNext(t, g)
			time.Sleep(time.Second)
		}
		if _, n := a.counts(); n > 50 {
			t.Errorf("extended %d times in ten seconds", n)
		}
	})
}

// TestWindowPassedLength is the same with a window of ten minutes: what is asked for is as long.
func TestWindowPassedLength(t *testing.T) {
	eachKind(t, uid.Options{}, func(a *scriptedAssigner) {
		a.from, a.until = a.from.Add(-3*time.Hour), a.until.Add(-3*time.Hour)
	}, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		for range 600 {
			mustNext(t, g)
			time.Sleep(time.Second)
		}
		if _, n := a.counts(); n > 5 {
			t.Errorf("extended %d times in ten minutes, want about every five", n)
		}
	})
}
