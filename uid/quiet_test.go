package uid_test

import (
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestHandlerEndsItsGoroutine has a log handler end the goroutine that it runs on, as t.FailNow
// does: the lines after that are written all the same, and Close comes back.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		logger := slog.New(records(func(r slog.Record) {
			if lines = append(lines, r.Message); len(lines) == 1 {
				runtime.Goexit()
			}
		}))
		a := &claimtest.Memory{Length: time.Minute}
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{Logger: logger}, uid.NewTestClock())
		synctest.Wait()
		a.Fail(errDown, claimtest.OpExtend)
		time.Sleep(50 * time.Second)
		mustClose(t, d)
		if len(lines) != 3 {
			t.Errorf("the log is %q, want three lines", lines)
		}
	})
}

// TestClockJumpsAbout has a clock jump hours ahead and back a thousand times a second: the log has a
// line a second, and the authority a question.
func TestClockJumpsAbout(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for name, agrees := range map[string]bool{"disagrees": false, "agrees": true} {
			logger, log := newLogged()
			a := endless()
			bubble(t, kind, a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
				time.Sleep(time.Second)
				begin, before := time.Now(), len(a.Calls(claimtest.OpNow))
				for i := range 10_000 {
					step := 5*time.Hour + time.Duration(i)*time.Minute
					clock.Step(step)
					if agrees {
						a.Step(step)
					}
					_, _ = g.Fill(t.Context(), make([]uid.ID, 100)) // RollbackRefuse
					synctest.Wait()
					clock.Step(-step)
					if agrees {
						a.Step(-step)
					}
					_, _ = g.Fill(t.Context(), make([]uid.ID, 100))
					time.Sleep(time.Millisecond)
				}
				synctest.Wait()
				took, lines := int(time.Since(begin)/time.Second), 0
				for _, n := range log.counts {
					lines += n
				}
				if lines > 4*took+10 {
					t.Errorf("%s, authority %s: %d lines in %d s: %v", kind, name, lines, took, log.counts)
				}
				if n := len(a.Calls(claimtest.OpNow)) - before; n > took+2 {
					t.Errorf("%s, authority %s: it was asked %d times in %d s", kind, name, n, took)
				}
				time.Sleep(time.Second)
				// A jump that lasts is reported, and asked about, all the same.
				said := log.of("clock jumped ahead and is held back")
				clock.Step(1000 * time.Hour)
				for range 30 {
					time.Sleep(100 * time.Millisecond)
					_, _ = g.Next(t.Context())
				}
				if n := log.of("clock jumped ahead and is held back"); n != said+1 {
					t.Errorf("%s, authority %s: a jump that lasts is reported %d times", kind, name, n-said)
				}
			})
		}
	}
}

// TestClockHeldInBurst takes a burst, which wakes the keeper all the time, while a jump of the clock
// is held that the authority does not confirm: it is asked once a second at the most.
func TestClockHeldInBurst(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	bubble(t, "cached", a, uid.Both{Layout: narrow}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
		clock.Step(5 * time.Hour)
		for range 1000 {
			mustFill(t, g, make([]uid.ID, 1<<14))
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		extends, nows := len(extensions(a)), len(a.Calls(claimtest.OpNow))
		if held := g.Stats().ClockHeld; held != 5*time.Hour || extends < 100 || nows < 2 || nows > 12 {
			t.Errorf("held by %v, %d extensions, and %d questions in 10 s, want 2 to 12", held, extends, nows)
		}
	})
}

// TestBoundIsNotSlow leaves a ring alone that MaxLead keeps from being full: that is no news.
func TestBoundIsNotSlow(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	bubble(t, "cached", claimtest.Static(1), uid.Both{MaxLead: time.Nanosecond, Logger: logger},
		func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			time.Sleep(time.Minute)
			log.mu.Lock()
			defer log.mu.Unlock()
			if len(log.counts) != 1 {
				t.Errorf("the log is %v, want that the worker id is claimed", log.counts)
			}
		})
}
