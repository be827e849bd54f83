package segment

import (
	"context"
	"fmt"
	"time"
)

// waiter is a caller that found no id. Its fields are guarded by Tag.mu. The caller reads got and
// err without it after done is closed, when nobody writes them any more.
type waiter struct {
	want  int64     // the most ids that it takes; 0 to wait for a range and take none
	since time.Time // when it came
	done  chan struct{}

	// One of them is set before done is closed.
	got claim
	err error
}

// served reports whether the caller need not wait any longer.
func (w *waiter) served() bool { return w.got.b != nil || w.err != nil }

// wait claims up to n ids for a caller that found none, behind all callers that came before it.
func (t *Tag) wait(ctx context.Context, n int64) (claim, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The Generator may have made another tag of this name, and only that one is served and closed.
	if t.dropped {
		return claim{}, errDropped
	}
	// Another caller may have put the next range in use since. It is held while callers wait.
	b := t.cur.Load()
	if p, got := b.take(n); got > 0 {
		t.startLoad() // if the mark is among the ids
		return claim{b, p, got}, nil
	}
	if t.gone && !t.g.opts.Listed && !t.g.unknown.has(t.name, time.Now()) {
		t.forceLoad() // the source may have it again
	}
	// The caller joins the queue even if the next range is ready, and leaves it at once: there is
	// one way to put a range in use.
	w := &waiter{want: n, since: time.Now(), done: make(chan struct{})}
	e := t.queue.PushBack(w)
	t.serve()
	if !w.served() {
		t.waits++
		t.mu.Unlock()
		select {
		case <-w.done:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	// What counts is whether the caller was served, not why it woke up: ids that it was given while
	// its ctx ended would be lost.
	switch {
	case w.err != nil:
		return claim{}, w.err
	case !w.served():
		t.queue.Remove(e)
		return claim{}, t.timeout(ctx.Err())
	}
	t.leave(w)
	return w.got, nil
}

// leave notes that a caller that was served leaves with its ids. One that was served from an
// earlier range holds nobody up any more. The caller holds mu.
func (t *Tag) leave(w *waiter) {
	if w.got.b == t.cur.Load() {
		t.granted--
	}
	t.serve()
}

// timeout is the error of a caller whose ctx ended with err before an id came. It has the reason of
// the source as well, which an operator needs and a ctx does not tell.
func (t *Tag) timeout(err error) error {
	if t.lastErr != nil {
		return fmt.Errorf("segment: tag %q: no id left: %w; last error: %w", t.name, err, t.lastErr)
	}
	return fmt.Errorf("segment: tag %q: no id left, and no answer yet: %w", t.name, err)
}

// serve does what follows from a change of the tag: it serves the queue, has the next range fetched
// when that is due, and turns the queue away if there will be none. The caller holds mu.
//
// While callers wait the range in use is used up or held, so that nobody overtakes them. A range
// that callers have waited for is handed out in rounds: those who came back for more are served
// when all of the last round have left with their ids. Without rounds the first one to wake up
// would take the rest of the range before the others have run, again and again. A round costs each
// caller a lock and a switch of goroutines, so it ends early once the range was held for as long as
// the callers had waited for it.
func (t *Tag) serve() {
	if t.granted == 0 || !time.Now().Before(t.until) {
		t.round()
	}
	t.startLoad()
	if err := t.over(); err != nil && t.reserved == 0 && t.ready.Len() == 0 {
		for e := t.queue.Front(); e != nil; e = t.queue.Front() {
			w, _ := t.queue.Remove(e).(*waiter)
			w.err = err
			close(w.done)
		}
	}
}

// round serves the callers that wait, in the order in which they came, from the range in use and
// from the next one. It opens the range in use when nobody who was served from it is left: then
// nobody has waited for it, or all who did have come back for nothing more. The caller holds mu.
func (t *Tag) round() {
	for t.queue.Len() > 0 && (t.reserved > 0 || t.ready.Len() > 0) {
		if t.reserved == 0 {
			t.begin(t.ready)
			t.ready = Range{}
		}
		w, _ := t.queue.Remove(t.queue.Front()).(*waiter)
		b := t.cur.Load()
		w.got = claim{b, b.len - t.reserved, min(w.want, t.reserved)}
		t.reserved -= w.got.n
		t.granted++
		close(w.done)
	}
	if t.reserved > 0 && (t.granted == 0 || !time.Now().Before(t.until)) {
		b := t.cur.Load()
		b.release(b.len - t.reserved)
		t.reserved = 0
	}
}

// begin puts r in use, held and reserved for the queue. The range in use before is used up, and the
// caller holds mu.
func (t *Tag) begin(r Range) {
	b := newBuffer(r, t.g.opts.Prefetch)
	t.issued += t.cur.Load().len
	t.cur.Store(b) // publishes the buffer's fields
	// The first caller has waited the longest. If nobody waits the round ends as it begins.
	t.reserved, t.granted, t.until = b.len, 0, time.Now()
	if first := t.queue.Front(); first != nil {
		w, _ := first.Value.(*waiter)
		t.until = t.until.Add(t.until.Sub(w.since))
	}
}

// over returns why there will be no further range, or nil while one may come.
func (t *Tag) over() error {
	switch {
	case t.ended != nil:
		return t.ended
	case t.gone && t.loading: // the source is being asked whether it has the tag again
		return nil
	}
	return t.failed
}
