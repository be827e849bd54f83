package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// startLoad starts a goroutine that fetches the next range. It does nothing if a fetch is under
// way, the next range is there, it is not due yet, or a lasting error stands. Every event that may
// make a fetch due calls startLoad, which decides by the state of the tag and not by what the
// caller saw. The caller holds mu. Calling it once too often does no harm, calling it once too
// seldom would leave callers waiting.
func (t *Tag) startLoad() {
	if t.failed == nil && t.ready.Len() == 0 && t.due() {
		t.forceLoad()
	}
}

// forceLoad starts a fetch even after a lasting error, because the source may have been repaired.
// It starts nothing after the tag has ended. Close ends the tags first, so it then waits for every
// goroutine that was started. The caller holds mu, so of several callers one starts a load.
func (t *Tag) forceLoad() {
	if !t.loading && !t.dropped && t.ended == nil {
		t.loading = true
		t.g.spawn(t.load)
	}
}

// due reports whether it is time to fetch the next range: once the mark of the range in use was
// handed out. The first two ranges are fetched at once, so that the tag starts with a full reserve.
// The caller holds mu. Callers may take ids meanwhile, so it may become due right after the check;
// the caller that takes the mark then starts the fetch itself.
func (t *Tag) due() bool {
	b := t.cur.Load()
	return t.fetches < 2 || b.len-b.free()-t.reserved > b.mark
}

// load tries to fetch until a range arrives, the tag fails or ends, or ctx ends. It is the only
// goroutine that asks the source for ranges of the tag, however many callers wait, so a database
// that comes back is not flooded. loading is set from before it starts until it has decided to end,
// under mu, so there is never a second one.
func (t *Tag) load(ctx context.Context) {
	failures := 0
	err := backoff.Retry(ctx, t.g.opts.RetryMin, func() (time.Duration, error) {
		leave, ok := t.enter(ctx)
		if !ok {
			return 0, nil
		}
		r, err := t.fetch(failures)
		leave()
		if err == nil {
			t.arrive(r)
			return 0, nil
		}
		failures++
		if !t.fail(err, failures) {
			return 0, nil
		}
		return t.g.opts.RetryMax, err
	})
	if err != nil { // ctx ended between two tries
		t.mu.Lock()
		t.loading = false
		t.mu.Unlock()
	}
}

// fetch asks the source once. It asks a second time, with the source's own step, if the counter has
// no room left for a larger one. FetchTimeout bounds both calls together. mu is not held while the
// source is asked. A range that the guard refuses is a gap: none of its ids was handed out.
// No fetch begins after the tag has ended.
func (t *Tag) fetch(failures int) (Range, error) {
	t.mu.Lock()
	if t.ended != nil {
		defer t.mu.Unlock()
		return Range{}, t.ended
	}
	// Only the first try adapts the step: what counts is how long a range lasted, not how long the
	// source was away.
	if failures == 0 && t.failed == nil {
		t.pace.next(time.Now())
	}
	step, base := t.pace.step, t.pace.base
	t.mu.Unlock()

	ctx, cancel := t.g.fetching()
	defer cancel()
	r, err := t.g.src.Fetch(ctx, t.name, step)
	// The last ids of a counter are worth a second call, which happens once in its life.
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

// arrive takes a range from the source. It becomes the range in use if that one is used up, and the
// next range otherwise. After Close it is kept, to be given back.
//
// Used up is what free and reserved say under mu. Callers may use up the range between the check
// and the store of ready; the next of them finds nothing, joins the queue, and serve puts ready in
// use.
func (t *Tag) arrive(r Range) {
	t.mu.Lock()
	t.loading = false
	if t.ended != nil {
		// It is the newest of all, so it comes first: see giveBack.
		t.rest = append([]Range{r}, t.rest...)
		t.mu.Unlock()
		return
	}
	// A range arrived, so any earlier failure is over.
	recovered := t.lastErr != nil
	t.lastErr, t.failed, t.gone = nil, nil, false
	t.fetches++
	// Before serve, which may start the next fetch and ask pace for its step.
	t.pace.fetched(r, time.Now())
	if t.reserved == 0 && t.cur.Load().free() == 0 {
		t.begin(r)
	} else {
		t.ready = r
	}
	t.serve()
	t.mu.Unlock()
	if recovered {
		t.logger(&t.g.back).Info("segment: source is back")
	}
}

// fail records a failed fetch, the failures-th in a row, and reports whether to try again.
//
// An unknown tag loses the ids that it has left, because its row was deleted on purpose. Another
// lasting error stops fetching until the next refresh; ids that are left are handed out. After a
// temporary error fetch is tried again, unless the tag has no range and no caller waits for one.
// After Close no fetch is tried again.
func (t *Tag) fail(err error, failures int) (again bool) {
	t.mu.Lock()
	if t.ended != nil { // err most likely says that ctx was cancelled
		t.loading = false
		t.mu.Unlock()
		return false
	}
	unknown, permanent := errors.Is(err, ErrUnknownTag), isPermanent(err)
	news := failures == 1 && t.failed == nil // log an outage once, and no failed repair
	t.lastErr = err
	t.failures++
	// A name that was first asked for while the source is away is dropped once no caller waits for
	// it. Otherwise made-up names could fill the memory. The first failure does not drop it,
	// because it may come before the caller has joined the queue. With Listed every name is known.
	idle := (t.fetches == 0 || t.gone) && failures > 1 && t.queue.Len() == 0 && !t.g.opts.Listed
	// Under the same lock as what follows: serve must not start a second load while this one goes
	// on.
	t.loading = !permanent && !idle
	again = t.loading
	switch {
	case unknown:
		t.lose(fmt.Errorf("segment: tag %.128q: %w", t.name, err))
	case permanent:
		t.failed = fmt.Errorf("segment: tag %.128q: no further range: %w", t.name, err)
		t.serve()
	}
	// Such a tag has handed out nothing, so its guard has nothing to remember.
	if t.fetches == 0 && (unknown || idle) {
		t.drop()
	}
	// After drop, and under mu: a caller that makes the tag anew meanwhile asks once more than
	// needed.
	if unknown {
		t.g.unknown.add(t.name, time.Now())
	}
	fetched := t.fetches > 0
	t.mu.Unlock()
	switch {
	case unknown && fetched && news:
		t.logger(&t.g.gone).Info("segment: tag is gone")
	case !unknown && news:
		t.logger(&t.g.failed).Warn("segment: fetch failed", "permanent", permanent, "error", err)
	}
	return again
}
