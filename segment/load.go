package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// startLoad fetches the next range in a goroutine of its own, unless that is under way, there is
// one already, it is not due, or the source has failed for good. Everything that may make it due
// calls startLoad: it decides by the state of the tag, not by what the caller saw. The caller holds
// mu.
func (t *Tag) startLoad() {
	if t.failed == nil && t.ready.Len() == 0 && t.due() {
		t.forceLoad()
	}
}

// forceLoad fetches although the source has failed, and may have been repaired. It starts nothing
// after the tag has ended, so that Close, which ends the tags first, finds every goroutine that it
// has to wait for. The caller holds mu.
func (t *Tag) forceLoad() {
	if !t.loading && !t.dropped && t.ended == nil {
		t.loading = true
		t.g.spawn(t.load)
	}
}

// due reports whether the next range should be fetched: when the mark of the range in use is handed
// out, and at the start, so that the reserve is whole from the first id on.
func (t *Tag) due() bool {
	b := t.cur.Load()
	return t.fetches < 2 || b.len-b.free()-t.reserved > b.mark
}

// load fetches until there is a next range, the tag has failed or ended, or ctx ends. It is the
// only goroutine that asks the source for the tag, however many callers wait: a database that comes
// back is not met by a crowd.
func (t *Tag) load(ctx context.Context) {
	for failures := 0; ; {
		leave, ok := t.enter(ctx)
		if !ok {
			return
		}
		r, err := t.fetch(ctx, failures)
		leave()
		if err == nil {
			t.arrive(r)
			return
		}
		failures++
		if !t.fail(err, failures) {
			return
		}
		if !pause(ctx, backoff(failures, t.g.opts.RetryMin, t.g.opts.RetryMax)) {
			t.mu.Lock()
			t.loading = false
			t.mu.Unlock()
			return
		}
	}
}

// fetch asks the source once, or twice where the counter has no room left for a step that was
// doubled. FetchTimeout bounds both together.
func (t *Tag) fetch(ctx context.Context, failures int) (Range, error) {
	t.mu.Lock()
	// The rule is about how long a range lasts, not about how long the source is away.
	if failures == 0 && t.failed == nil {
		t.pace.next(time.Now())
	}
	step, base := t.pace.step, t.pace.base
	t.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, t.g.opts.FetchTimeout)
	defer cancel()
	r, err := t.g.src.Fetch(ctx, t.name, step)
	// The last ids of a counter are worth another question, which comes once in its life.
	if errors.Is(err, ErrExhausted) && step > base {
		r, err = t.g.src.Fetch(ctx, t.name, base)
	}
	if err != nil {
		return Range{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return r, t.guard.admit(r)
}

// arrive takes in a range. It becomes the range in use if that one is used up, and the next one
// otherwise. After Close it is kept, to be given back.
func (t *Tag) arrive(r Range) {
	t.mu.Lock()
	t.loading = false
	if t.ended != nil {
		t.rest = append([]Range{r}, t.rest...)
		t.mu.Unlock()
		return
	}
	// Whatever was wrong, the source has just proved that it is over.
	recovered := t.lastErr != nil
	t.lastErr, t.failed, t.gone = nil, nil, false
	t.fetches++
	t.pace.fetched(r, time.Now())
	if t.reserved == 0 && t.cur.Load().free() == 0 {
		t.begin(r)
	} else {
		t.ready = r
	}
	t.serve()
	t.mu.Unlock()
	if recovered {
		t.g.opts.Logger.Info("segment: source is back", "tag", t.name)
	}
}

// fail notes a failed fetch, the failures-th in a row, and reports whether to try again.
//
// Four kinds of errors have four outcomes. An unknown tag is lost, with the ids that it has left:
// its row was deleted on purpose. Another lasting error stops the fetching until the next refresh;
// ids that are left are handed out. A temporary error is tried again, as long as anybody may profit
// from it. And after Close nothing matters any more.
func (t *Tag) fail(err error, failures int) (again bool) {
	t.mu.Lock()
	if t.ended != nil { // and err most likely says that ctx was cancelled
		t.loading = false
		t.mu.Unlock()
		return false
	}
	unknown, permanent := errors.Is(err, ErrUnknownTag), isPermanent(err)
	news := failures == 1 && t.failed == nil // an outage is logged once, and so is a repair that failed
	t.lastErr = err
	t.failures++
	// Names that come up while the source is away, and that nobody waits for any more, are
	// forgotten, or a stranger could fill the memory with them. Not at the first failure, which
	// may come before the caller that asked has joined the queue. A listed name is no stranger's.
	idle := (t.fetches == 0 || t.gone) && failures > 1 && t.queue.Len() == 0 && !t.g.opts.Listed
	t.loading = !permanent && !idle
	again = t.loading
	switch {
	case unknown:
		t.lose(fmt.Errorf("segment: tag %q: %w", t.name, err))
	case permanent:
		t.failed = fmt.Errorf("segment: tag %q: no further range: %w", t.name, err)
		t.serve()
	}
	if t.fetches == 0 && (unknown || idle) {
		t.drop()
	}
	if unknown {
		t.g.unknown.add(t.name, time.Now())
	}
	fetched := t.fetches > 0
	t.mu.Unlock()
	switch {
	case unknown && fetched && news:
		t.g.opts.Logger.Info("segment: tag is gone", "tag", t.name)
	case !unknown && news:
		t.g.opts.Logger.Warn("segment: fetch failed", "tag", t.name, "permanent", permanent, "error", err)
	}
	return again
}

// backoff returns the pause after so many failures in a row: at random from half of a value that
// doubles up to all of it, so that processes which lost the database together do not come back
// together.
func backoff(failures int, least, most time.Duration) time.Duration {
	d := least
	for range failures - 1 {
		if d >= most/2 {
			d = most
			break
		}
		d *= 2
	}
	return d/2 + rand.N(d/2+1)
}

// pause waits for d and reports whether ctx lasted as long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
