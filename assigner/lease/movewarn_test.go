package lease_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestMoveWarning: a generator whose store is sealed is Degraded and has said so in its log half a Window
// after the seal at the latest, when half of its window at least is left.
func TestMoveWarning(t *testing.T) {
	t.Parallel()
	const window = 20 * time.Minute
	for _, late := range []time.Duration{0, time.Second, 5 * time.Minute, 7 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := newAssigner(t, named{&memory{}, "old"}, &lease.Options{Window: window})
			var log bytes.Buffer
			g, err := uid.NewCached(t.Context(), a, &uid.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Layout: bitsalloc.Layout{Epoch: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			time.Sleep(late)
			b := newAssigner(t, named{&memory{}, "new"}, nil)
			if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
				t.Fatal(err)
			}
			sealed := time.Now()
			for g.Stats().Health().Status == uid.Up {
				if _, err := g.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			h, s := g.Stats().Health(), g.Stats()
			took, left := time.Since(sealed), time.Until(s.WindowUntil)
			if h.Status != uid.Degraded || !errors.Is(s.ExtendErr, assigner.ErrMoved) ||
				took > window/2+2*time.Second || left < window/2-2*time.Second {
				t.Errorf("%v after the seal: %+v with %v of the window left, want Degraded with half", took, h, left)
			}
			if !strings.Contains(log.String(), "moved to new") {
				t.Errorf("the log has not where to:\n%s", &log)
			}
		})
	}
}
