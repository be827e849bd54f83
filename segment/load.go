package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// startLoad starts the goroutine that fetches the next range, unless there is one, or no need. The caller holds mu.
func (t *Tag) startLoad() {
	if t.loading || t.ready.Len() > 0 || t.ended != nil || t.failed != nil {
		return
	}
	t.loading = true
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.g.loads.Go(func() {
		defer cancel()
		t.load(ctx)
	})
}

// load fetches until there is a next buffer, the tag has failed or ended, or ctx ends.
func (t *Tag) load(ctx context.Context) {
	for failures := 0; ; {
		t.mu.Lock()
		step := t.pace.step
		if failures == 0 { // the rule is about how long the last range lasted, not about how long the source is away
			step = t.pace.next(time.Now())
		}
		t.mu.Unlock()

		r, err := t.fetch(ctx, step)
		if err == nil {
			failures = 0
			if t.arrive(r) {
				continue
			}
			return
		}
		failures++
		if t.fail(err, failures) {
			return
		}
		if !pause(ctx, backoff(failures, t.g.opts.RetryMin, t.g.opts.RetryMax)) {
			t.stopped()
			return
		}
	}
}

// fetch asks the source once.
func (t *Tag) fetch(ctx context.Context, step int64) (Range, error) {
	ctx, cancel := context.WithTimeout(ctx, t.g.opts.FetchTimeout)
	defer cancel()
	return t.g.guard.fetch(ctx, t.name, func() (Range, error) { return t.g.src.Fetch(ctx, t.name, step) })
}

// arrive takes a range in, and reports whether another one should be fetched at once: both buffers of a tag are filled at
// its start, so that the reserve is whole from the first id on.
func (t *Tag) arrive(r Range) (more bool) {
	t.mu.Lock()
	if t.ended != nil {
		t.rest = append([]Range{r}, t.rest...)
		t.loading = false
		t.mu.Unlock()
		return false
	}
	recovered := t.lastErr != nil
	t.lastErr = nil
	t.fetches++
	t.pace.fetched(r, time.Now())
	first := t.fetches == 1
	if first {
		t.cur.Store(t.buffer(r, false)) // in place of the buffer of no ids
	} else {
		t.ready = r
	}
	t.loading = first
	t.announce()
	t.mu.Unlock()

	if recovered {
		t.g.opts.Logger.Info("segment: source is back", "tag", t.name)
	}
	if first {
		t.g.publish(t)
	}
	return first
}

// fail notes a failed fetch and reports whether that was the last one.
func (t *Tag) fail(err error, failures int) (last bool) {
	t.mu.Lock()
	if t.ended != nil { // and the error is most likely that ctx was cancelled
		t.loading = false
		t.mu.Unlock()
		return true
	}
	t.lastErr = err
	t.failures++
	fresh := t.fetches == 0
	unknown := errors.Is(err, ErrUnknownTag)
	// Not at the first failure, which may come before the caller who asked for the tag waits. A list is no stranger's, and is
	// not tried again soon.
	abandoned := fresh && failures > 1 && t.waiting == 0 && !isPermanent(err) && !t.g.opts.Listed
	last = abandoned || isPermanent(err)
	if last {
		t.loading = false
	}
	if isPermanent(err) && !unknown {
		t.failed = fmt.Errorf("segment: tag %q: no further range: %w", t.name, err)
		t.announce()
	}
	// The tag ends under the lock that found it gone or abandoned. Who came in between would start another load, whose range
	// would be dropped with the tag.
	switch {
	case unknown:
		t.endLocked(err)
	case abandoned:
		t.endLocked(errAbandoned)
	}
	t.mu.Unlock()

	switch {
	case unknown:
		if !fresh {
			t.g.opts.Logger.Info("segment: tag is gone", "tag", t.name)
		}
		t.g.drop(t, err)
	case abandoned:
		t.g.drop(t, errAbandoned)
	case last:
		t.g.publish(t) // its failure is remembered
	}
	if failures == 1 && !unknown {
		t.g.opts.Logger.Warn("segment: fetch failed", "tag", t.name, "permanent", isPermanent(err), "error", err)
	}
	return last
}

// stopped notes that a load was ended from outside.
func (t *Tag) stopped() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loading = false
}

// backoff returns the pause after so many failures in a row: from half of a value that doubles up to all of it, at random,
// so that processes that lost the database together do not come back together.
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
