package segment

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Tag is the handle of one tag of a Generator. It saves the look-up of Generator.Next for callers
// that use the same tag repeatedly. It is safe for concurrent use. If the source no longer has the
// tag, calls fail with ErrUnknownTag until the source has it again.
//
// # States
//
// A tag begins without a range, and with a fetch under way. Its state follows from what the source
// answered last:
//
//	           first range                 a lasting error
//	[ new ] ─────────────────► [ serves ] ────────────────► [ failed: serves what is left ]
//	   │                        │  ▲   ▲                          │
//	   │ unknown, or nobody     │  │   └─ a range, after a refresh┘
//	   │ waits any more         │  │ a range
//	   ▼                        ▼  │
//	[ dropped ]   unknown ──► [ gone: serves nothing ]      Close, from any state ──► [ ended ]
//
// Only a dropped tag is removed from the Generator, so names that the source does not know leave
// nothing in memory. A tag that is gone stays, because its guard must remember what was handed out.
type Tag struct {
	// cur is the range in use; never nil. It is replaced under mu, when it is used up or sealed. A
	// caller that holds an old buffer finds no id in it and looks again.
	cur  atomic.Pointer[buffer]
	name string
	g    *Generator
	_    cpu.CacheLinePad

	// mu guards what follows. No goroutine waits or does I/O while it holds mu.
	mu    sync.Mutex
	ready Range // the next range, once it has arrived

	// The waiting callers; see serve.
	queue    list.List // of *waiter, in the order in which they came
	reserved int64     // ids at the end of the range in use that are held for the queue
	granted  int       // callers that were served from the range in use and have not left yet
	until    time.Time // when the round ends, even if not all of them have left

	// The state of the source, as the tag knows it.
	loading bool  // a load is under way
	ended   error // why no id will ever be handed out again; set once, by end
	failed  error // why no further range is fetched until the next refresh
	gone    bool  // the source does not have the tag
	dropped bool  // the Generator has removed the tag, which never had a range
	lastErr error // of the last fetch; nil after a success

	guard guard
	pace  pace
	rest  []Range // the ids left when the tag ended, the newest range first

	fetches, failures, waits int64
	issued                   int64 // ids of the ranges before the one in use
}

// newTag returns a tag whose range in use is empty, so that the first call finds nothing and waits.
// It starts no fetch.
func newTag(g *Generator, name string) *Tag {
	t := &Tag{g: g, name: name}
	t.pace.window, t.pace.limit = g.opts.StepWindow, g.opts.MaxStep
	t.cur.Store(newBuffer(Range{}, g.opts.Prefetch))
	return t
}

// Name returns the tag.
func (t *Tag) Name() string { return t.name }

// Next returns an id of the tag that no other call ever returns. A call that begins after another
// one has returned gets a higher id if the ranges of the source rise. Those of several ticket
// servers and of a sequence that cycles do not.
//
// Next is one atomic add. Only when both ranges are used up does it allocate, read ctx and wait for
// the next range; callers are then served in the order in which they came. If ctx ends first, the
// error wraps ctx's error and the source's last one. Other errors are ErrClosed, ErrUnknownTag,
// ErrExhausted, ErrRangeWentBack and ErrBadRange.
func (t *Tag) Next(ctx context.Context) (int64, error) {
	// An add, not a compare-and-swap: no caller has to retry because another one was faster.
	b := t.cur.Load()
	if p := b.next.Add(1) - 1; p < b.len {
		// One caller in a range gets here. It pays for a lock, and the others for nothing.
		if p == b.mark {
			t.prefetch()
		}
		return b.id(p), nil
	}
	// The add that failed has left next at len or above, which has no meaning; begin replaces the
	// buffer.
	c, err := t.wait(ctx, 1)
	if err != nil {
		return 0, err
	}
	return c.b.id(c.p), nil
}

// Fill sets every element of ids to its own id and returns how many it set: len(ids), or fewer
// together with the error that stopped it. It takes ids of a range with one atomic add, so those
// that it takes from one range are consecutive. It waits as Next does, for each range that it
// needs, and has the errors of Next. ids[:n] are the caller's in either case.
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

// claim is n ids of b from position p on. They belong to one caller.
type claim struct {
	b    *buffer
	p, n int64
}

// claim claims at least one id and up to n. It waits if there is none. With n above 0 it never
// returns an empty claim without an error.
func (t *Tag) claim(ctx context.Context, n int64) (claim, error) {
	b := t.cur.Load()
	p, got := b.take(n)
	if got == 0 {
		return t.wait(ctx, n)
	}
	// One claim has the mark among its positions, as one Next does.
	if p <= b.mark && b.mark < p+got {
		t.prefetch()
	}
	return claim{b, p, got}, nil
}

// prefetch starts the next fetch for the caller that took the mark of a range. Another range may be
// in use by now: startLoad looks at that one. It waits for no I/O: one caller in a range pays for a
// lock and for the start of a goroutine.
func (t *Tag) prefetch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startLoad()
}

// end ends the tag permanently: no id is handed out from now on, and calls fail with err. The ids
// that are left are kept in rest, to be given back. It holds the range before it sets ended, under
// one lock, so no id of rest was or will be handed out.
func (t *Tag) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ready.Len() > 0 {
		// The next range is newer than the one in use, so it comes first: see giveBack.
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

// lose records that the source does not have the tag. The tag hands out no id until the source has
// it again, and calls fail with err. The caller holds mu. What is left of the ranges becomes a gap,
// and the guard stays, so that a row that is created again with a lower counter is found out.
func (t *Tag) lose(err error) {
	if t.ended != nil {
		return
	}
	t.gone, t.failed = true, err
	t.issued += t.seal()
	t.cur.Store(newBuffer(Range{}, t.g.opts.Prefetch))
	t.serve()
}

// seal takes away all ids that are left. It returns the position of the first that is left in the
// range in use. The caller holds mu. reserved counts ids that are left as well: they were set aside
// for the queue and not handed out.
func (t *Tag) seal() int64 {
	p := t.cur.Load().hold() - t.reserved
	t.reserved, t.ready = 0, Range{}
	return p
}
