package uid

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestJournalLines has a handler that is slow: nobody waits for it, the lines come in order and one
// at a time, those that find no room are dropped, and close waits for the others and drops all that
// come after it.
func TestJournalLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var j journal
		var got, want []int // got is appended to by one line at a time, or the race detector says so
		log := func(i int) {
			j.log(func(*slog.Logger) {
				time.Sleep(time.Second)
				got = append(got, i)
			})
		}
		const written = 1 // by now, or soon: it waits no more
		log(0)
		synctest.Wait()
		for i := 1; i < 2*journalLines; i++ {
			log(i)
		}
		if j.halt(0, true, func(*slog.Logger) {}) || j.halted() {
			t.Error("ids are said to have stopped by a line that was dropped")
		}
		for i := range written + journalLines {
			want = append(want, i)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the callers waited %v for the handler", took)
		}
		time.Sleep(1500 * time.Millisecond)
		log(-1)
		want = append(want, -1)
		j.close()
		if took := time.Since(start); took != time.Duration(len(want))*time.Second {
			t.Errorf("close returned after %v, want all %d lines, one a second", took, len(want))
		}
		log(-2)
		if j.halt(0, true, func(*slog.Logger) {}) {
			t.Error("ids are said to have stopped after close")
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if !slices.Equal(got, want) {
			t.Errorf("the lines %v were written, want %v", got, want)
		}
	})
}

// TestJournalHalts says in turn that ids have stopped and that they are back, each once, and no
// stop within a second of the last return.
func TestJournalHalts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		lines := 0
		halt := func(stopped, want bool) {
			t.Helper()
			if got := j.halt(j.halts.Load(), stopped, func(*slog.Logger) { lines++ }); got != want {
				t.Errorf("after %d lines halt(%v) = %v, want %v", lines, stopped, got, want)
			}
			synctest.Wait()
		}
		halt(false, false) // ids have not stopped
		halt(true, true)
		halt(true, false)
		halt(false, true)
		halt(false, false)
		time.Sleep(stopLines - 1)
		halt(true, false)
		time.Sleep(time.Nanosecond)
		halt(true, true)
		halt(false, true) // that ids are back is said at once
		if j.close(); lines != 4 {
			t.Errorf("%d lines were written, want 4", lines)
		}
	})
}

// TestJournalContended logs from two goroutines at the same time: each line is written once, and one
// of the two says that ids are back.
func TestJournalContended(t *testing.T) {
	t.Parallel()
	for round := range 5000 / slow {
		var j journal
		var lines, here atomic.Int32
		line := func(*slog.Logger) { lines.Add(1) }
		j.halts.Store(1)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				here.Add(1)
				spin(func() bool { return here.Load() == 2 })
				if !j.halt(1, false, line) {
					t.Error("halt does not say that its caller looks again")
				}
				for range 8 {
					j.log(line)
				}
			})
		}
		wg.Wait()
		wg.Go(func() { j.log(func(*slog.Logger) {}) }) // meets close, which may drop it
		j.close()
		wg.Wait()
		if halts := j.halts.Load(); lines.Load() != 17 || halts != 2 {
			t.Fatalf("round %d: %d lines of 17 were written, %d of them that ids are back, want one", round,
				lines.Load(), halts-1)
		}
	}
}

// TestKnown leaves out times that stand for no bound, and nothing else.
func TestKnown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	got := known("worker", 0, "from", time.Time{}, "until", now)
	if want := []any{"worker", 0, "until", now}; !slices.Equal(got, want) {
		t.Errorf("known() = %v, want %v", got, want)
	}
}
