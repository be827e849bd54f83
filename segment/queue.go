package segment

import (
	"context"
	"fmt"
	"time"
)

// waiter is a caller that found no id. Its fields are guarded by Tag.mu. After done is closed they
// do not change, and the caller reads got and err without the lock.
//
//	wait ──► in queue ──► served: got or err is set, removed from queue, done is closed ──► leave
//	            └──────► ctx ends first: removed by the caller itself, takes nothing
type waiter struct {
	want  int64     // the most ids that it takes; 0 waits for a range and takes none
	since time.Time // when it joined the queue
	done  chan struct{}

	// One of these is set before done is closed.
	got claim
	err error
}

// served reports whether the waiter has its ids or an error. Both are set at most once, by the
// holder of Tag.mu.
func (w *waiter) served() bool { return w.got.b != nil || w.err != nil }

// wait claims up to n ids for a caller that found none. Callers that came earlier are served first.
// It returns ids, or why there are none: ErrClosed, a lasting error of the source, or the end of
// ctx together with the source's last error. errDropped asks the caller to look the tag up again.
// It allocates the waiter and its channel.
func (t *Tag) wait(ctx context.Context, n int64) (claim, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The Generator may have a newer tag of this name. Only that one is served and closed.
	if t.dropped {
		return claim{}, errDropped
	}
	// Another caller may have put the next range in use. It is held while callers wait.
	b := t.cur.Load()
	if p, got := b.take(n); got > 0 {
		t.startLoad() // if the mark is among the ids
		return claim{b, p, got}, nil
	}
	if t.gone && !t.g.opts.Listed && !t.g.unknown.has(t.name, time.Now()) {
		t.forceLoad() // the source may have it again
	}
	// The caller joins the queue even if the next range is ready, and leaves it at once. Only serve
	// puts a ready range in use.
	w := &waiter{want: n, since: time.Now(), done: make(chan struct{})}
	e := t.queue.PushBack(w)
	t.serve()
	if !w.served() {
		// Counted only for callers that are about to block: a range that is ready costs no wait.
		t.waits++
		t.mu.Unlock()
		select {
		case <-w.done:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	// Test whether the caller was served, not why it woke up: it may have been given ids while its
	// ctx ended, and they must not be lost.
	switch {
	case w.err != nil:
		return claim{}, w.err
	case !w.served():
		// No id was set aside for this caller, so none is lost with it.
		t.queue.Remove(e)
		return claim{}, t.timeout(ctx.Err())
	}
	t.leave(w)
	return w.got, nil
}

// leave records that a served caller returns with its ids. A caller that was served from an earlier
// range no longer counts for the round. The caller holds mu. The last one of a round to leave may
// open the range, which is why leave calls serve.
func (t *Tag) leave(w *waiter) {
	if w.got.b == t.cur.Load() {
		t.granted--
	}
	t.serve()
}

// timeout returns the error of a caller whose ctx ended with err before it got an id. It wraps the
// source's last error too, which tells an operator the reason. The caller holds mu, for lastErr.
func (t *Tag) timeout(err error) error {
	if t.lastErr != nil {
		return fmt.Errorf("segment: tag %.128q: no id left: %w; last error: %w",
			t.name, err, t.lastErr)
	}
	return fmt.Errorf("segment: tag %.128q: no id left, and no answer yet: %w", t.name, err)
}

// serve acts on a change of the tag's state. It serves the queue, starts the next fetch if that is
// due, and fails the waiting callers if there will be no further range. The caller holds mu.
//
// While callers wait, the range in use is used up or held, so that no other caller overtakes them.
// A range that callers have waited for is handed out in rounds: a caller that comes back for more
// is served after all callers of the last round have left with their ids. Without rounds the first
// caller to wake up could take the rest of the range before the others have run. A round costs each
// caller a lock and a goroutine switch, so it ends early once the range was held for as long as its
// first caller had waited for it.
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

// round serves the waiting callers in the order in which they came, from the range in use and then
// from the next one. It opens the range in use for adds once the queue is empty and no caller that
// was served from it still has to leave, or the round's time is over. The caller holds mu.
func (t *Tag) round() {
	for t.queue.Len() > 0 && (t.reserved > 0 || t.ready.Len() > 0) {
		if t.reserved == 0 {
			t.begin(t.ready)
			t.ready = Range{}
		}
		w, _ := t.queue.Remove(t.queue.Front()).(*waiter)
		b := t.cur.Load()
		// The free ids are the last reserved ones, so this gives them out in order.
		w.got = claim{b, b.len - t.reserved, min(w.want, t.reserved)}
		t.reserved -= w.got.n
		t.granted++
		close(w.done)
	}
	if t.reserved > 0 && (t.granted == 0 || !time.Now().Before(t.until)) {
		b := t.cur.Load()
		// From this store on callers may add: queue is empty, so none of them overtakes anybody.
		b.release(b.len - t.reserved)
		t.reserved = 0
	}
}

// begin puts r in use, held and reserved for the queue. The range that it replaces is used up. The
// caller holds mu. A caller with the old buffer finds nothing in it and comes to wait, which needs
// mu, so it sees the new one.
func (t *Tag) begin(r Range) {
	b := newBuffer(r, t.g.opts.Prefetch)
	t.issued += t.cur.Load().len
	t.cur.Store(b) // publishes the buffer's fields
	// The first caller has waited the longest. With an empty queue the round ends as it begins.
	t.reserved, t.granted, t.until = b.len, 0, time.Now()
	if first := t.queue.Front(); first != nil {
		w, _ := first.Value.(*waiter)
		t.until = t.until.Add(t.until.Sub(w.since))
	}
}

// over returns why there will be no further range, or nil while one may come. The caller holds mu.
// A temporary failure of the source is not such a reason: load goes on trying, and callers wait
// until their ctx ends.
func (t *Tag) over() error {
	switch {
	case t.ended != nil:
		return t.ended
	case t.gone && t.loading: // a fetch asks whether the source has the tag again
		return nil
	}
	return t.failed
}
