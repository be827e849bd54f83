package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestLogBounded: an outage, its end and the deletion of all tags log a line of each kind a second,
// however many tags there are and however many names, of any length, strangers make up. The next line
// has the number of those that were left out.
func TestLogBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const tags = 200
		var log bytes.Buffer
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{
			MaxStep: 1, Refresh: -1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		name := func(i int) string { return fmt.Sprint("tag", i) }
		for i := range tags {
			f.set(func(f *fake) { f.tags[name(i)] = &segment.Row{Tag: name(i), Step: 10} })
			segtest.Next(t, g, name(i), 1)
		}
		synctest.Wait()
		lines := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := strings.Split(strings.TrimSpace(log.String()), "\n")
			log.Reset()
			for i, line := range got {
				if len(got) != len(want) || !strings.Contains(line, want[i]) || len(line) > 500 {
					t.Fatalf("the log has %d lines: %.200q, want %q", len(got), got, want)
				}
			}
		}
		f.set(func(f *fake) { f.err = errors.New("connection refused") })
		strangers := func() {
			for i := range 1000 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond/10)
				_, _ = g.Next(ctx, fmt.Sprint("stranger", i, strings.Repeat("x", 10_000)))
				cancel()
			}
			synctest.Wait()
		}
		strangers()
		lines(`msg="segment: fetch failed" tag=stranger0xxx`)
		time.Sleep(time.Second)
		for i := range tags {
			segtest.Next(t, g, name(i), 11) // which begins the second range, so that the third is fetched
		}
		lines(` unlogged=999 permanent=false error="connection refused"`)
		f.set(func(f *fake) { f.err = nil })
		time.Sleep(time.Minute)
		lines(`msg="segment: source is back"`)
		f.set(func(f *fake) { clear(f.tags) })
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines(`msg="segment: tag is gone"`)
	})
}

// TestLogList: a list that fails every other time logs a line a second at most, with the number of
// those that were left out.
func TestLogList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFake(10)
		segtest.New(t, f, &segment.Options{
			Refresh: 10 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(5 * time.Millisecond)
		for i := range 250 {
			f.set(func(f *fake) { f.away = i%2 == 0 })
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		got := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(got) != 3 || !strings.Contains(got[2], `msg="segment: list failed" unlogged=49`) {
			t.Errorf("the log has %d lines: %.500q, want one a second, the last with unlogged=49", len(got), got)
		}
	})
}
