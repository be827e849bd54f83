package uid

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// journalLines bounds the lines that wait for a slow handler. Further ones are dropped: a state
// that changes that often says more in Stats. 64 is far more than the changes of state in an
// outage, and bounds the memory of a handler that never returns.
const journalLines = 64

// journal writes a generator's log lines, in order, on a goroutine that lives while there are any.
// A handler may wait for an id of the generator that logs, so nothing that ids depend on waits for
// a handler. All methods are safe for concurrent use. Only close waits, for the handler.
//
//	log, halt ──► lines ──► write, on a goroutine ──► handler
type journal struct {
	logger *slog.Logger
	wg     sync.WaitGroup // the goroutine

	mu     sync.Mutex           // nothing is waited for while it is held
	lines  []func(*slog.Logger) // guarded by mu: not written yet, oldest first
	busy   bool                 // guarded by mu: the goroutine runs
	closed bool                 // guarded by mu: lines are dropped from now on
	last   time.Time            // guarded by mu: when halt queued a line

	// How many lines halt has queued: odd while the last one says that ids have stopped. Written
	// under mu.
	halts atomic.Int64
}

// log has line called soon, with the logger. It never blocks. line must not use what may change
// after log has returned.
func (j *journal) log(line func(*slog.Logger)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(line)
}

// halted reports whether the last line of halt's says that ids have stopped.
func (j *journal) halted() bool { return j.halts.Load()&1 != 0 }

// halt has line called like log, if it is news that ids have stopped, or that they are back. seen
// is halts from before the caller looked whether they have. halt reports whether halts is another
// one by now, and the caller looks again then: a look from before the log's last word says nothing
// against that. It changes halts under the lock under which it queues the line, so the two lines
// alternate. A line that does not fit changes nothing, so it is news again the next time.
func (j *journal) halt(seen int64, stopped bool, line func(*slog.Logger)) (again bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.halts.Load() != seen:
		return true
	case stopped == j.halted(), stopped && time.Since(j.last) < stopLines, !j.add(line):
		return false
	}
	j.last = time.Now()
	j.halts.Store(seen + 1)
	return true
}

// add queues line, and reports whether there was room. Under mu.
func (j *journal) add(line func(*slog.Logger)) bool {
	// The newest line is dropped and not the oldest: lines that say how something began are worth
	// more.
	if j.closed || len(j.lines) == journalLines {
		return false
	}
	j.lines = append(j.lines, line)
	if !j.busy {
		j.busy = true
		j.wg.Go(j.write)
	}
	return true
}

// write writes lines until there are none. It clears busy under the lock under which it finds none,
// so a line that is logged later starts another goroutine. A handler that ends this one, as
// runtime.Goexit does, costs no further line.
func (j *journal) write() {
	done := false
	defer func() {
		if !done {
			j.wg.Go(j.write)
		}
	}()
	for {
		j.mu.Lock()
		if len(j.lines) == 0 {
			j.busy, done = false, true
			j.mu.Unlock()
			return
		}
		// The handler runs without the lock, so a line that it causes is queued and does not
		// deadlock.
		line := j.lines[0]
		j.lines = j.lines[1:]
		j.mu.Unlock()
		line(j.logger)
	}
}

// close waits for the lines that were logged. Later ones are dropped, so no goroutine is started
// while it waits. It waits for as long as the handler takes.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.wg.Wait()
}

// known returns the attributes of a line without those whose value is the zero time, which stands
// for no bound and would be shown as the year 1.
func known(args ...any) (kept []any) {
	for pair := range slices.Chunk(args, 2) {
		if t, ok := pair[1].(time.Time); !ok || !t.IsZero() {
			kept = append(kept, pair...)
		}
	}
	return kept
}
