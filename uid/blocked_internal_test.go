package uid

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReportLooksAgain has ids come back between the check that finds them stopped and the log line:
// who made them saw no line that they had stopped, so only the reporter can say that they are back.
func TestReportLooksAgain(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{true, false} {
		var text strings.Builder
		k := &keeper{journal: &journal{logger: slog.New(slog.NewTextHandler(&text, nil))}}
		k.window.Store(&window{})
		if !stopped {
			k.journal.halts.Store(1)
		}
		looks := 0
		k.blocked = func() error {
			if looks++; (looks == 1) == stopped {
				return errors.New("stopped")
			}
			return nil
		}
		k.report()
		k.journal.close()
		// "stopped" within a second of "back" is left to the next check: see stopLines.
		if looks != 2 && !stopped || looks != 3 && stopped || k.journal.halted() {
			t.Errorf("stopped %v: %d looks, halted %v:\n%s", stopped, looks, k.journal.halted(), &text)
		}
	}
}

// TestReportHeedsNewerLine has ids stop, and the log say so, between a check that still finds them and its line:
// the older check does not say that they are back.
func TestReportHeedsNewerLine(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	k := &keeper{journal: &journal{logger: slog.New(slog.NewTextHandler(&text, nil))}}
	k.window.Store(&window{})
	looks := 0
	k.blocked = func() error {
		if looks++; looks > 1 {
			return errors.New("stopped")
		}
		k.report() // another goroutine's
		return nil
	}
	k.report()
	k.journal.close()
	if n := k.journal.halts.Load(); n != 1 || strings.Contains(text.String(), "ids are back") {
		t.Errorf("%d lines, want one that ids have stopped:\n%s", n, &text)
	}
}

// TestBlockedAtTick looks at positions at the start of a tick: of the window's last one, which
// MaxLag allows still, and of one below a window that begins beyond MaxLead.
func TestBlockedAtTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{})
		c.Empty()
		last := time.Now()
		w := *c.keeper.window.Load()
		w.end, w.err = c.timeline.at(last.Add(time.Second)), ErrClaimExpired
		c.keeper.window.Store(&w)
		c.composer.pos.Store(c.timeline.at(last))
		time.Sleep(1200 * time.Millisecond)
		if err := c.blocked(); err != nil {
			t.Errorf("1.2 s after the last tick's begin: %v, want none", err)
		}
		if id, err := c.Next(t.Context()); err != nil || !c.Parse(id).Time.Equal(last) {
			t.Errorf("Next() = %+v, %v, want an id of the last tick", c.Parse(id), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLead: 3 * time.Second})
		c.Empty()
		w := *c.keeper.window.Load()
		w.from = c.timeline.at(time.Now().Add(10 * time.Second))
		c.keeper.window.Store(&w)
		if err := c.blocked(); !errors.Is(err, ErrLead) {
			t.Errorf("a window that begins ten seconds ahead: %v, want ErrLead", err)
		}
		time.Sleep(3 * time.Second) // the position is too old now, too
		if err := c.composer.bound(); !errors.Is(err, ErrLead) {
			t.Errorf("a window that begins seven seconds ahead: %v, want ErrLead", err)
		}
	})
}

// TestHeldWaitsForRefill looks at a lane while a refill that has taken a run from the ring is about
// to give it to the lane: the run counts.
func TestHeldWaitsForRefill(t *testing.T) {
	t.Parallel()
	c := &Cached{lanes: newLanes(1)}
	l := &c.lanes[0]
	l.mu.Lock()
	held := make(chan bool)
	go func() { held <- c.held() == l }()
	for range 1000 {
		runtime.Gosched()
	}
	l.begin(10, 20)
	l.mu.Unlock()
	if !<-held {
		t.Error("the run of a refill under way is in neither ring nor lane")
	}
}
