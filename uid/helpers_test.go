package uid_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// bubbleEpoch lies before 2000-01-01, at which every synctest bubble starts.
var bubbleEpoch = time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)

// allocator returns the Allocator of l.
func allocator(tb testing.TB, l bitsalloc.Layout) *bitsalloc.Allocator {
	tb.Helper()
	a, err := bitsalloc.New(l)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// newCached returns a Cached of worker 1 that the test closes.
func newCached(tb testing.TB, o *uid.Options) *uid.Cached {
	tb.Helper()
	c, err := uid.NewCached(tb.Context(), assignertest.Static(1), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return c
}

// record counts ids one by one: a bit for each (tick, seq) of one worker. Two ids that are equal
// meet on one bit, which a sum or the size of a set would not notice when another id is missing.
type record struct {
	alloc *bitsalloc.Allocator
	first int64 // position of bit 0
	bits  []atomic.Uint64
	count atomic.Int64
	high  atomic.Int64 // highest position seen

	mu   sync.Mutex
	errs []string
}

// newRecord returns a record for n positions from the tick of from on.
func newRecord(alloc *bitsalloc.Allocator, from time.Time, n int64) *record {
	return &record{alloc: alloc, first: alloc.TickAt(from) * (alloc.MaxSeq() + 1), bits: make([]atomic.Uint64, n/64+1)}
}

// add counts id and reports whether it was new and in range.
func (r *record) add(id uid.ID) bool {
	tick, worker, seq, _ := r.alloc.Split(int64(id))
	at := tick*(r.alloc.MaxSeq()+1) + seq - r.first
	switch {
	case id < 0 || worker != 1:
		return r.fail("id %d: worker %d, want a positive id of worker 1", id, worker)
	case at < 0 || at >= int64(len(r.bits))*64:
		return r.fail("id %d: position %d is outside of the record", id, at)
	case r.bits[at/64].Or(1<<(at%64))&(1<<(at%64)) != 0:
		return r.fail("id %d was handed out twice", id)
	}
	r.count.Add(1)
	for h := r.high.Load(); at > h && !r.high.CompareAndSwap(h, at); h = r.high.Load() {
	}
	return true
}

func (r *record) fail(format string, args ...any) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) < 5 {
		r.errs = append(r.errs, fmt.Sprintf(format, args...))
	}
	return false
}

// check reports what add found.
func (r *record) check(tb testing.TB, want int64) {
	tb.Helper()
	for _, e := range r.errs {
		tb.Error(e)
	}
	if got := r.count.Load(); got != want {
		tb.Errorf("got %d different ids, want %d", got, want)
	}
}

// scriptedAssigner hands out claims whose windows the test controls.
type scriptedAssigner struct {
	mu       sync.Mutex
	worker   int64
	from     time.Time
	until    time.Time
	err      error // of Assign
	extend   error // of Extend; nil extends
	released []time.Time
	assigned int
	extended int
	now      func() time.Time // nil: not a Clock
}

func (s *scriptedAssigner) Assign(context.Context, int64) (assigner.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	s.assigned++
	c := &scriptedClaim{s: s, worker: s.worker, from: s.from, until: s.until}
	if s.now != nil {
		return &scriptedClock{c}, nil
	}
	return c, nil
}

// set changes the script.
func (s *scriptedAssigner) set(f func(*scriptedAssigner)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// counts returns how often Assign and Extend succeeded.
func (s *scriptedAssigner) counts() (assigned, extended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assigned, s.extended
}

type scriptedClaim struct {
	s           *scriptedAssigner
	worker      int64
	from, until time.Time
}

func (c *scriptedClaim) Worker() int64 { return c.worker }

func (c *scriptedClaim) Window() (from, until time.Time) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.from, c.until
}

func (c *scriptedClaim) Extend(_ context.Context, until time.Time) (time.Time, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.extend != nil {
		return c.until, c.s.extend
	}
	c.s.extended++
	if until.After(c.until) {
		c.until = until
	}
	return c.until, nil
}

func (c *scriptedClaim) Release(_ context.Context, used time.Time) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.released = append(c.s.released, used)
	return nil
}

type scriptedClock struct{ *scriptedClaim }

func (c *scriptedClock) Now(context.Context) (time.Time, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.now(), nil
}

// kinds are the two generators, for tests of what they share.
var kinds = map[string]func(ctx context.Context, a assigner.Assigner, o *uid.Options,
	clock *uid.TestClock) (uid.Generator, error){
	"cached": func(ctx context.Context, a assigner.Assigner, o *uid.Options,
		clock *uid.TestClock) (uid.Generator, error) {
		return uid.NewCachedAt(ctx, a, o, clock)
	},
	"default": func(ctx context.Context, a assigner.Assigner, o *uid.Options,
		clock *uid.TestClock) (uid.Generator, error) {
		return uid.NewDefaultAt(ctx, a, o, clock)
	},
}

// eachKind runs f in a bubble for both generators on a scripted claim of worker 1 whose window is
// the next ten minutes.
func eachKind(t *testing.T, o uid.Options, script func(*scriptedAssigner),
	f func(*testing.T, uid.Generator, *scriptedAssigner, *uid.TestClock)) {
	t.Parallel()
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(10 * time.Minute)}
				if script != nil {
					script(a)
				}
				o, clock := o, uid.NewTestClock()
				o.Layout = bubbleLayout()
				g, err := make(t.Context(), a, &o, clock)
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				f(t, g, a, clock)
			})
		})
	}
}
