package segment

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Tag is one tag of a Generator: the handle for callers that use one tag all the time and want to
// save the look-up of Generator.Next. It is safe for concurrent use. If the source loses the tag,
// calls fail with ErrUnknownTag until the source has it again.
//
// # States
//
// A tag begins without a range, and with a fetch under way. What callers get follows from the state
// of the source, as far as the tag has heard of it:
//
//	           first range                 a lasting error
//	[ new ] ─────────────────► [ serves ] ────────────────► [ failed: serves what is left ]
//	   │                        │  ▲   ▲                          │
//	   │ unknown, or nobody     │  │   └─ a range, after a refresh┘
//	   │ waits any more         │  │ a range
//	   ▼                        ▼  │
//	[ dropped ]   unknown ──► [ gone: serves nothing ]      Close, from any state ──► [ ended ]
//
// Only a dropped tag leaves the Generator: names that no source knows leave nothing behind. A tag
// that is gone stays, because guard must remember what it has handed out.
type Tag struct {
	// cur is the range in use; never nil. It is replaced under mu, when all its ids are handed out.
	// A caller that holds an old one finds it used up and looks again.
	cur  atomic.Pointer[buffer]
	name string
	g    *Generator
	_    cpu.CacheLinePad

	// mu guards what follows. Nobody waits or does I/O while holding it.
	mu    sync.Mutex
	ready Range // the next range, once it has arrived

	// The callers that wait; see serve.
	queue    list.List // of *waiter, first come first
	reserved int64     // so many ids at the end of the range in use are held back for the queue
	granted  int       // callers that were served from the range in use and have not left yet
	until    time.Time // when the round ends, even if not all of them have left

	// The state of the source, as far as the tag has heard.
	loading bool  // a load is under way
	ended   error // why no id will ever be handed out again
	failed  error // why no further range is fetched until the next refresh
	gone    bool  // the source does not have the tag
	dropped bool  // the Generator has forgotten the tag, which never had a range
	lastErr error // of the last fetch; nil after a success

	guard guard
	pace  pace
	rest  []Range // what was left when the tag ended, the newest range first

	fetches, failures, waits int64
	issued                   int64 // ids of the ranges that were in use before the one that is
}

// newTag returns a tag whose range in use is empty.
func newTag(g *Generator, name string) *Tag {
	t := &Tag{g: g, name: name}
	t.pace.window, t.pace.limit = g.opts.StepWindow, g.opts.MaxStep
	t.cur.Store(newBuffer(Range{}, g.opts.Prefetch))
	return t
}

// Name returns the tag.
func (t *Tag) Name() string { return t.name }

// Next returns an id of the tag that no other call ever returns. A call that begins after another
// one has returned gets a higher id, if the ranges of the source rise: those of several ticket
// servers, or of a sequence that cycles, do not.
//
// Next is one atomic add. It allocates and reads ctx only when both ranges are used up; then it
// waits for the next one, behind the callers that came before. If ctx ends first, the error wraps
// both ctx's and the source's. Other errors are ErrClosed, ErrUnknownTag, ErrExhausted,
// ErrRangeWentBack and ErrBadRange.
func (t *Tag) Next(ctx context.Context) (int64, error) {
	// An add cannot lose a race: no caller tries again because another one was faster.
	b := t.cur.Load()
	if p := b.next.Add(1) - 1; p < b.len {
		if p == b.mark {
			t.prefetch()
		}
		return b.id(p), nil
	}
	c, err := t.wait(ctx, 1)
	if err != nil {
		return 0, err
	}
	return c.b.id(c.p), nil
}

// Fill sets every element of ids to an id of its own and returns how many it set: len(ids), or
// fewer together with the error that stopped it. It takes what a range has left with one atomic
// add, so that ids of one range are neighbours. It waits as Next does, and again for each range
// that it needs.
func (t *Tag) Fill(ctx context.Context, ids []int64) (n int, err error) {
	for n < len(ids) {
		c, err := t.claim(ctx, int64(len(ids)-n))
		if err != nil {
			return n, err
		}
		for p := c.p; p < c.p+c.n; p++ {
			ids[n] = c.b.id(p)
			n++
		}
	}
	return n, nil
}

// claim is n ids of b from position p on, which belong to one caller.
type claim struct {
	b    *buffer
	p, n int64
}

// claim claims up to n ids, and at least one.
func (t *Tag) claim(ctx context.Context, n int64) (claim, error) {
	b := t.cur.Load()
	p, got := b.take(n)
	if got == 0 {
		return t.wait(ctx, n)
	}
	if p <= b.mark && b.mark < p+got {
		t.prefetch()
	}
	return claim{b, p, got}, nil
}

// prefetch has the next range fetched, for the caller that took the mark of a range. The range may
// be used up by now, and another one be in use: startLoad looks at that one.
func (t *Tag) prefetch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startLoad()
}

// end seals the tag for good: no id is handed out from here on, and calls fail with err. What is
// left is kept for a checkpoint.
func (t *Tag) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ready.Len() > 0 {
		t.rest = append(t.rest, t.ready)
	}
	b := t.cur.Load()
	if p := t.seal(); p < b.len {
		rest := b.r
		rest.From = b.id(p)
		t.rest = append(t.rest, rest)
	}
	t.ended = err
	t.serve()
}

// lose notes that the source does not have the tag, which hands out no id until the source has it
// again. err says so to the callers. The caller holds mu.
func (t *Tag) lose(err error) {
	if t.ended != nil {
		return
	}
	t.gone, t.failed = true, err
	t.issued += t.seal()
	t.cur.Store(newBuffer(Range{}, t.g.opts.Prefetch))
	t.serve()
}

// seal takes away all ids that are left, and returns the position of the first of them in the range
// in use. The caller holds mu.
func (t *Tag) seal() int64 {
	p := t.cur.Load().hold() - t.reserved
	t.reserved, t.ready = 0, Range{}
	return p
}
