package uid_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// lines returns a logger whose lines are added to text.
func lines(text *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(text, nil))
}

// TestNoYearOne: a log line leaves out the bounds that a window does not have.
func TestNoYearOne(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]assigner.Assigner{
		"no bounds": claimtest.Static(1), "no begin": &claimtest.Memory{},
	} {
		var text strings.Builder
		g, err := uid.NewCached(t.Context(), a, &uid.Options{Logger: lines(&text)})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); !strings.Contains(got, "worker id given back") || strings.Contains(got, "0001-01-01") {
			t.Errorf("%s: the log is %s", name, got)
		}
	}
}

// TestWindowOver: the line of a claim whose window ends in the past says so.
func TestWindowOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &claimtest.Memory{}
		a.Step(-time.Hour)
		var text strings.Builder
		g, err := uid.NewDefault(t.Context(), a, &uid.DefaultOptions{Layout: bubbleLayout(), Logger: lines(&text)})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.Close()
		if got := text.String(); !strings.Contains(got, "level=WARN msg=\"worker id claimed, and its window is over") {
			t.Errorf("the log is %s", got)
		}
	})
}

// TestNotExpired: a generator that is degraded does not say that its claim has expired. One that is
// down does.
func TestNotExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &claimtest.Memory{Length: 20 * time.Minute}
		var text strings.Builder
		g, err := uid.NewCached(t.Context(), a, &uid.Options{Layout: bubbleLayout(), Logger: lines(&text)})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		a.Fail(errDown)
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		s := g.Stats()
		if got := s.Health(); got.Status != uid.Degraded || strings.Contains(got.Reason, "expired") ||
			!strings.Contains(got.Reason, "worker id 0 could not be extended") ||
			!errors.Is(s.ExtendErr, uid.ErrClaimExpired) || !errors.Is(s.ExtendErr, errDown) {
			t.Errorf("15 minutes into the outage: %+v, %v", got, s.ExtendErr)
		}
		if strings.Contains(text.String(), "expired") || strings.Contains(fmt.Sprint(s), "expired") {
			t.Errorf("log and Stats: %s\n%v", &text, s)
		}
		time.Sleep(10 * time.Minute)
		if got := g.Stats().Health(); got.Status != uid.Down || !strings.Contains(got.Reason, "claim expired: ") {
			t.Errorf("after the window: %+v", got)
		}
	})
}

// TestStartAhead: the log does not say that ids have stopped where they begin some seconds ahead of
// the clock, as those of assigner.Env do, and a shorter MaxLead makes calls wait for that. A claim that
// begins far ahead has a line.
func TestStartAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cached bool
		ahead  time.Duration
		far    int // lines
	}{{false, 3 * time.Second, 0}, {true, 3 * time.Second, 0}, {false, 10 * time.Second, 0},
		{true, 10 * time.Second, 0}, {true, time.Hour, 1}} {
		synctest.Test(t, func(t *testing.T) {
			logger, log := newLogged()
			a := &claimtest.Memory{Length: 2 * time.Hour, From: time.Now().Add(tt.ahead)}
			o := &uid.Both{Layout: bubbleLayout(), MaxLead: time.Second, Logger: logger}
			var g uid.Generator
			var err error
			if tt.cached {
				g, err = uid.NewCached(t.Context(), a, o.Cached())
			} else {
				g, err = uid.NewDefault(t.Context(), a, o.Default())
			}
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			for range 3 {
				if _, err := g.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			log.want(t, map[string][2]int{
				"worker id claimed": {1, 1}, "ids have stopped": {0, 0}, "ids are back": {0, 0},
				"claim begins ahead of the clock": {tt.far, tt.far}})
		})
	}
}

// TestStoppedAhead has the claim begin three seconds ahead of the clock, uses the first tick up and sets
// the clock back: until the claim has begun, up to five seconds without ids are no news, and more are.
func TestStoppedAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		later, back time.Duration
		lines       int
	}{
		{0, 2 * time.Second, 0}, // five seconds before the claim begins
		{0, 2*time.Second + 1, 1},
		{10 * time.Second, 7 * time.Second, 1}, // when it begins
	} {
		logger, log := newLogged()
		a := &claimtest.Memory{Length: time.Hour, From: bubbleStart.Add(3 * time.Second)}
		o := uid.Both{MaxLead: 3 * time.Second, SeqStart: 1, TakePolicy: uid.TakeReject, Logger: logger}
		bubble(t, "cached", a, o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			time.Sleep(tt.later)
			for err := error(nil); err == nil; {
				_, err = g.Next(t.Context())
			}
			clock.Step(-tt.back)
			if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrLead) {
				t.Errorf("%v: %v, want ErrLead", tt, err)
			}
			haltLines(t, fmt.Sprint(tt), log, tt.lines, 0)
			if tt.later == 0 && tt.lines > 0 { // ids are back before it begins
				time.Sleep(3300 * time.Millisecond)
				mustNext(t, g)
				haltLines(t, "ahead still", log, 1, 1)
			}
		})
	}
}

// TestStoppedBeforeFirstID has a claim begin ten seconds ahead with a window that has no whole tick and
// is not extended: that is not what a generator waits for before its first id.
func TestStoppedBeforeFirstID(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := &claimtest.Memory{Length: 400 * time.Millisecond, From: bubbleStart.Add(10 * time.Second)}
	a.Fail(errDown, claimtest.OpExtend)
	bubble(t, "default", a, uid.Both{Logger: logger}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		haltLines(t, "no tick", log, 1, 0)
	})
}

// TestClaimLines looks at what is logged of a claim that begins ahead of the clock, by a minute or four
// ticks at the most or by more, and of one without an end.
func TestClaimLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tick, ahead time.Duration
		far         int // lines
	}{{time.Second, 0, 0}, {time.Second, time.Minute, 0}, {time.Second, time.Minute + 1, 1},
		{20 * time.Second, 80 * time.Second, 0}, {20 * time.Second, 81 * time.Second, 1}} {
		logger, log := newLogged()
		a := &claimtest.Memory{Length: time.Hour, From: bubbleStart.Add(tt.ahead)}
		if tt.ahead == 0 {
			a.Length = claimtest.Endless
		}
		o := uid.Both{Logger: logger, Layout: bubbleLayout()}
		o.Layout.Tick = tt.tick
		bubble(t, "default", a, o, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			synctest.Wait()
			log.want(t, map[string][2]int{"worker id claimed": {1, 1},
				"claim begins ahead of the clock": {tt.far, tt.far}})
		})
	}
}
