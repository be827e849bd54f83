package segment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Tag is one tag of a Generator: the handle for callers that use one tag all the time and want to save Generator.Next's
// look-up. It is safe for concurrent use and ends with its Generator, or when the source no longer has the tag.
type Tag struct {
	// cur is the range in use; never nil. It changes once per range, under mu: a reader that holds an old one finds it
	// used up and looks again, so it does not matter how long ago it was loaded.
	cur  atomic.Pointer[buffer]
	name string
	g    *Generator
	_    cpu.CacheLinePad

	// mu guards what follows. Nobody waits or does I/O while holding it, and it comes before a lane's mu.
	mu      sync.Mutex
	ready   Range         // the next range, when it has arrived
	loading bool          // a load is under way
	cancel  func()        // ends that load
	changed chan struct{} // closed and replaced when there is news for those who wait
	waiting int           // callers that wait
	ended   error         // why no id will ever be handed out again; cur is sealed
	failed  error         // why no further range will be fetched; ids that are left are still handed out
	rest    []Range       // what was left when the tag ended, the highest first
	pace    pace

	fetches, failures, waits int64
	lastErr                  error // of the last fetch; nil after a success
}

// errAbandoned ends a tag that never got a range and that nobody waits for any more, so that names that came up while the
// source was away do not pile up. Who meets it starts over.
var errAbandoned = errors.New("segment: nobody waits for the tag")

func newTag(g *Generator, name string) *Tag {
	t := &Tag{g: g, name: name, changed: make(chan struct{})}
	t.pace.window, t.pace.limit = g.opts.StepWindow, g.opts.MaxStep
	t.cur.Store(t.buffer(Range{}, false)) // of no ids
	return t
}

// buffer returns a buffer of r.
func (t *Tag) buffer(r Range, wide bool) *buffer {
	b := newBuffer(r, t.g.opts.Prefetch, wide)
	if t.g.opts.Ordered {
		b.run = b.len // runs are there to see whether callers meet, and to have lanes
	}
	return b
}

// Name returns the tag.
func (t *Tag) Name() string { return t.name }

// Next returns an id of the tag that no other call ever returns. With Options.Ordered the ids of one Generator's tag rise in
// the order of the calls. It costs one atomic add; it allocates only where it begins a range or has one fetched. It reads ctx
// only when both ranges are used up: then it waits for the next one, and if ctx ends first the error wraps both ctx's and the source's.
// Other errors are ErrClosed, ErrUnknownTag, ErrExhausted, ErrRangeWentBack and ErrBadRange.
func (t *Tag) Next(ctx context.Context) (int64, error) {
	b := t.cur.Load()
	l := b.lane()
	if w := l.word.Add(b.add); w >= 0 {
		return b.id(w), nil
	}
	return t.nextSlow(ctx, b, l)
}

// nextSlow is the rest of Next for who added to b's lane l in vain.
func (t *Tag) nextSlow(ctx context.Context, b *buffer, l *lane) (int64, error) {
	var one [1]int64
	if _, err := t.fill(ctx, b, l, one[:]); err != nil {
		return 0, err
	}
	return one[0], nil
}

// Fill sets every element of ids to an id of its own and returns how many it set: len(ids), or fewer together with the
// error that stopped it. It claims whole stretches with one atomic instruction each, so that most ids that it gets are
// neighbours; with Options.Ordered all those of one range rise.
func (t *Tag) Fill(ctx context.Context, ids []int64) (int, error) {
	b := t.cur.Load()
	return t.fill(ctx, b, b.lane(), ids)
}

// fill is Fill for who has got to lane l of b.
func (t *Tag) fill(ctx context.Context, b *buffer, l *lane, ids []int64) (n int, err error) {
	for n < len(ids) {
		got, due := b.claim(l, ids[n:])
		if due {
			t.prefetch(b)
		}
		if n += got; got > 0 {
			continue
		}
		if err := t.await(ctx, b); err != nil {
			return n, err
		}
		b = t.cur.Load()
		l = b.lane()
	}
	return n, nil
}

// prefetch starts the load of the next range, for who took b's mark-th id.
func (t *Tag) prefetch(b *buffer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cur.Load() == b { // else b was used up meanwhile, and the present buffer has a mark of its own
		t.startLoad()
	}
}

// await returns when b has ids after all, or another buffer is current: at once if the next one is ready, else when the
// source has answered. An error says why there will be none, or why ctx ended too soon.
func (t *Tag) await(ctx context.Context, b *buffer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cur.Load() == b && b.used() < b.len {
		return nil // others were faster, or another lane was about to get a run
	}
	for t.cur.Load() == b {
		switch {
		case t.ended != nil:
			return t.ended
		case t.ready.Len() > 0:
			wide := !t.g.opts.Ordered && b.crowded()
			t.cur.Store(t.buffer(t.ready, wide)) // publishes the buffer's fields
			t.ready = Range{}
			return nil
		case t.failed != nil:
			return t.failed
		}
		t.startLoad()
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait releases mu until there is news or ctx ends.
func (t *Tag) wait(ctx context.Context) error {
	news := t.changed
	t.waiting++
	t.waits++
	t.mu.Unlock()
	var err error
	select {
	case <-news:
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.mu.Lock()
	t.waiting--
	switch {
	case err == nil:
		return nil
	case t.lastErr != nil:
		return fmt.Errorf("segment: tag %q: no id left and the source failed: %w: %w", t.name, t.lastErr, err)
	default:
		return fmt.Errorf("segment: tag %q: no id left and the source has not answered yet: %w", t.name, err)
	}
}

// announce wakes those who wait. The caller holds mu.
func (t *Tag) announce() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// end seals the tag: no id is handed out from here on, and calls fail with err. What is left is kept for a checkpoint.
func (t *Tag) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(err)
}

// endLocked is end for who holds mu.
func (t *Tag) endLocked(err error) {
	if t.ended != nil {
		return
	}
	t.ended = err
	if t.ready.Len() > 0 {
		t.rest = append(t.rest, t.ready)
		t.ready = Range{}
	}
	if rest, ok := t.cur.Load().seal(); ok {
		t.rest = append(t.rest, rest)
	}
	if t.cancel != nil {
		t.cancel()
	}
	t.announce()
}

// setBase notes the source's own step.
func (t *Tag) setBase(step int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if step > 0 {
		t.pace.setBase(step)
	}
}
