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
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// bubbleStart is when every synctest bubble starts, and bubbleEpoch lies before it.
var (
	bubbleStart = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	bubbleEpoch = bubbleStart.AddDate(0, 0, -1)
)

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
func newCached(tb testing.TB, o *uid.Both) *uid.Cached {
	tb.Helper()
	c, err := uid.NewCached(tb.Context(), claimtest.Static(1), o.Cached())
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

// place is an Assigner of one worker id, which a test may change. It binds no layout.
type place struct {
	*claimtest.Memory
	worker atomic.Int64
}

// newPlace returns worker id 1 of an authority whose windows are that long. The first one begins
// with the bubble.
func newPlace(length time.Duration) *place {
	p := &place{Memory: &claimtest.Memory{Length: length, From: bubbleStart}}
	p.worker.Store(1)
	return p
}

func (p *place) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	w := p.worker.Load()
	return p.Range(w, w).Assign(ctx, maxWorker)
}

func (p *place) BindLayout(string) assigner.Assigner { return p }

// lose takes the worker id from its owner, who gets another one, whose window begins at from.
func (p *place) lose(other int64, from time.Time, length time.Duration) {
	p.Set(func(m *claimtest.Memory) { m.From, m.Length = from, length })
	p.Lose(p.worker.Swap(other))
}

// between lets another process have the worker id for a while and lose it: the owner gets it again,
// with a window that begins that much after the last one.
func (p *place) between(t *testing.T, gap, length time.Duration) {
	t.Helper()
	worker := p.worker.Load()
	p.Lose(worker)
	p.Set(func(m *claimtest.Memory) { m.Length = gap })
	if _, err := p.Assign(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	p.Lose(worker)
	p.Set(func(m *claimtest.Memory) { m.Length = length })
}

// altered is an Assigner whose claims a test wraps. It binds no layout.
type altered struct {
	assigner.Assigner
	wrap func(assigner.Claim) assigner.Claim
}

func (a altered) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := a.Assigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	return a.wrap(c), nil
}

// extension is a call of Extend: when, and what it asked for, counted from the bubble's begin.
type extension struct{ at, asked time.Duration }

// extensions returns the calls of Extend so far.
func extensions(m *claimtest.Memory) (all []extension) {
	for _, c := range m.Calls(claimtest.OpExtend) {
		all = append(all, extension{c.At.Sub(bubbleStart), c.Asked.Sub(bubbleStart)})
	}
	return all
}

// newMemory returns an authority that tells the time, whose windows are that long, and the first
// ones begin with the bubble.
func newMemory(length time.Duration) *claimtest.Memory {
	return &claimtest.Memory{Length: length, From: bubbleStart, TellTime: true}
}

// endless returns an authority that tells the time, whose windows begin an hour ago and have no end.
func endless() *claimtest.Memory {
	m := newMemory(claimtest.Endless)
	m.From = bubbleStart.Add(-time.Hour)
	return m
}

// losing returns an authority whose claims are lost at the first Extend.
func losing(length time.Duration) *claimtest.Memory {
	m := newMemory(length)
	m.Fail(assigner.ErrClaimLost, claimtest.OpExtend)
	return m
}

// slow makes extensions wait until the test closes the channel, and then gives an hour more than
// was asked for.
func (p *place) slow() (extend chan struct{}) {
	extend = make(chan struct{})
	p.Before = before(claimtest.OpExtend, func(ctx context.Context) error {
		select {
		case <-extend:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	p.Grant = func(asked time.Time) time.Time { return asked.Add(time.Hour) }
	return extend
}

// grantsNothing returns an authority that says yes to every extension, and extends nothing.
func grantsNothing(length time.Duration) *claimtest.Memory {
	m := newMemory(length)
	m.Grant = func(time.Time) time.Time { return time.Time{} }
	var asked atomic.Int64
	m.Before = before(claimtest.OpExtend, func(ctx context.Context) error {
		if asked.Add(1) > 10_000 {
			<-ctx.Done() // or the bubble's time stands still for ever
		}
		return nil
	})
	return m
}

// before makes the calls of one kind, and no others, meet f first.
func before(op claimtest.Op, f func(context.Context) error) func(context.Context, claimtest.Call) error {
	return func(ctx context.Context, c claimtest.Call) error {
		if c.Op != op {
			return nil
		}
		return f(ctx)
	}
}

// hangs is a call that does not return before ctx ends.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// kinds are the two generators, for tests of what they share.
var kinds = map[string]func(ctx context.Context, a assigner.Assigner, o *uid.Both,
	clock *uid.TestClock) (uid.Generator, error){
	"cached": func(ctx context.Context, a assigner.Assigner, o *uid.Both,
		clock *uid.TestClock) (uid.Generator, error) {
		return uid.NewCachedAt(ctx, a, o, clock)
	},
	"default": func(ctx context.Context, a assigner.Assigner, o *uid.Both,
		clock *uid.TestClock) (uid.Generator, error) {
		return uid.NewDefaultAt(ctx, a, o, clock)
	},
}

// mustNext takes an id.
func mustNext(t *testing.T, g uid.Generator) uid.ID {
	t.Helper()
	id, err := g.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// nextIn takes an id. That takes from least to most; what says why.
func nextIn(t *testing.T, g uid.Generator, least, most time.Duration, what string) {
	t.Helper()
	start := time.Now()
	mustNext(t, g)
	if took := time.Since(start); took < least || took > most {
		t.Fatalf("Next() took %v, want %v to %v: %s", took, least, most, what)
	}
}

// mustFill takes as many ids as ids has room for.
func mustFill(t *testing.T, g uid.Generator, ids []uid.ID) {
	t.Helper()
	if _, err := g.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
}

// mustClose closes a generator.
func mustClose(t *testing.T, g uid.Generator) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

// within returns a ctx that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// bubble runs f in a bubble with a generator of the named kind. Nobody takes ids unless f does.
func bubble(t *testing.T, kind string, a assigner.Assigner, o uid.Both,
	f func(t *testing.T, g uid.Generator, clock *uid.TestClock)) {
	t.Helper()
	bubbleAt(t, kind, a, o, 0, f)
}

// bubbleAt is bubble with a clock that is ahead from the start.
func bubbleAt(t *testing.T, kind string, a assigner.Assigner, o uid.Both, ahead time.Duration,
	f func(t *testing.T, g uid.Generator, clock *uid.TestClock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		clock.Step(ahead)
		f(t, uid.Open(t, kinds[kind], a, o, clock), clock)
	})
}

// eachKind runs f in a bubble for both generators on a claim of worker 1 whose window is the next
// ten minutes, unless script changes that.
func eachKind(t *testing.T, o uid.Both, script func(*place),
	f func(*testing.T, uid.Generator, *place, *uid.TestClock)) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := newPlace(10 * time.Minute)
			if script != nil {
				script(a)
			}
			bubble(t, kind, a, o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
				f(t, g, a, clock)
			})
		})
	}
}
