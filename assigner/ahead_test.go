package assigner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// warnings counts the log lines of one message.
type warnings struct {
	slog.Handler
	message string
	n       atomic.Int64
}

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && r.Message == w.message {
		w.n.Add(1)
	}
	return nil
}

// TestFileFarAhead: a file that a wrong clock has left far ahead is logged at each start and shows
// in the lead, and Close leaves the end of the last tick stamped in it, not the reserved end.
func TestFileFarAhead(t *testing.T) {
	skipWithoutFile(t)
	t.Setenv("UIDRING_TEST_AHEAD", "4002")
	const year = 365 * 24 * time.Hour
	for kind, generate := range generators {
		path := filepath.Join(t.TempDir(), "window")
		for run, tt := range []struct {
			clock  time.Duration // how far the machine's clock is ahead
			count  int
			logged int64
		}{{0, 1, 0}, {30 * time.Second, 1, 0}, {5 * year, 1, 0}, {0, 1, 1}, {0, 20_000, 1}, {0, 0, 1}} {
			start := time.Now()
			now := func() time.Time { return time.Now().Add(tt.clock) }
			clock := func() (time.Time, time.Duration) { return now(), time.Since(start) }
			w := &warnings{Handler: slog.DiscardHandler, message: "claim begins ahead of the clock"}
			a := assigner.WithClock(assigner.Env("UIDRING_TEST_AHEAD",
				&assigner.LocalOptions{File: path}), now)
			g, err := generate(t.Context(), a, uid.DefaultOptions{Clock: clock, Logger: slog.New(w),
				Rollback: uid.RollbackHold(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			if lead := g.Stats().Lead; tt.logged > 0 && lead < 4*year || tt.logged == 0 && lead > year {
				t.Errorf("%s, run %d: the lead is %v, %d lines expected", kind, run, lead, tt.logged)
			}
			from := g.Stats().WindowFrom
			want := from.Add(2 * time.Second) // nothing handed out: a tick is begun at most
			for range tt.count {
				id, err := g.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want = g.Parse(id).Time.Add(time.Second)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if got := w.n.Load(); got != tt.logged {
				t.Errorf("%s, run %d: %d lines that ids are ahead, want %d", kind, run, got, tt.logged)
			}
			until, err := readUntil(path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.count == 0 && (until.Before(from) || until.After(want)) ||
				tt.count > 0 && !until.Equal(want) {
				t.Errorf("%s, run %d: the file has %v, want %v", kind, run, until, want)
			}
		}
	}
}

// readUntil returns the end that the file has.
func readUntil(path string) (time.Time, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	var r struct{ Until time.Time }
	if err := json.Unmarshal(text, &r); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", text, err)
	}
	return r.Until, nil
}
