package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/backfill"
)

// epoch is the default layout's.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// smallTick is a layout of 16 ids a tick.
func smallTick() bitsalloc.Layout {
	return bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 4}
}

func newGenerator(tb testing.TB, o *backfill.Options) *backfill.Generator {
	tb.Helper()
	b, err := backfill.New(tb.Context(), claimtest.Static(5), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.Close() })
	return b
}

// TestBackfill: ids carry the rows' times, in whatever order these come, in every era; ids of one
// tick rise, and none is repeated, by many goroutines.
func TestBackfill(t *testing.T) {
	t.Parallel()
	begin := epoch
	o := &backfill.Options{Eras: []bitsalloc.Era{
		{From: begin.AddDate(0, 1, 0).Add(300 * time.Millisecond),
			Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 14, SeqBits: 13}}}}
	b := newGenerator(t, o)
	var mu sync.Mutex
	seen := map[uid.ID]time.Time{}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			last := map[int64]uid.ID{}
			for i := range 20_000 {
				at := begin.Add(time.Duration((i*7919+g)%(40*24*3600)) * time.Second).Add(
					time.Duration(i) * time.Microsecond)
				if i%2 == 0 {
					// Around the change.
					at = begin.AddDate(0, 1, 0).Add(
						time.Duration(i%97-40) * 1033 * time.Millisecond)
				}
				id, err := b.At(t.Context(), at)
				if err != nil {
					t.Error(err)
					return
				}
				p := b.Parse(id)
				if off := at.Sub(p.Time); off < -300*time.Millisecond || off >= 2*time.Second ||
					p.Worker != 5 || id <= last[p.Tick] {
					t.Errorf("id %+v for %v, after %d", p, at, last[p.Tick])
					return
				}
				last[p.Tick] = id
				mu.Lock()
				if other, twice := seen[id]; twice {
					t.Errorf("id %d for %v and %v", id, at, other)
				}
				seen[id] = at
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestBackfillFull: a full tick fails, or spills into the ones after it, up to the end of the time
// bits.
func TestBackfillFull(t *testing.T) {
	t.Parallel()
	at := epoch.Add(time.Hour)
	for _, spill := range []bool{false, true} {
		b := newGenerator(t, &backfill.Options{Layout: smallTick(), Spill: spill})
		var ids []uid.ID
		var err error
		for len(ids) < 200 && err == nil {
			var id uid.ID
			if id, err = b.At(t.Context(), at); err == nil {
				ids = append(ids, id)
			}
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("spill %v: ids do not rise: %v", spill, ids)
		}
		if spill {
			if p := b.Parse(ids[len(ids)-1]); err != nil || p.Time.Before(at.Add(12*time.Second)) ||
				p.Time.After(at.Add(26*time.Second)) {
				t.Errorf("200 ids of one tick end at %v, %v", p.Time, err)
			}
		} else if !errors.Is(err, backfill.ErrTickFull) || len(ids) < 8 || len(ids) > 16 {
			t.Errorf("%d ids of one tick, then %v, want 8 to 16 and ErrTickFull", len(ids), err)
		}
		for i, id := range ids[:len(ids)-1] { // up to a tick's last number, none is left out
			if p, next := b.Parse(id), b.Parse(ids[i+1]); p.Tick == next.Tick && next.Seq != p.Seq+1 ||
				p.Tick != next.Tick && p.Seq != 15 {
				t.Errorf("spill %v: %+v is followed by %+v", spill, p, next)
			}
		}
		if last := b.Parse(ids[len(ids)-1]); !spill && last.Seq != 15 {
			t.Errorf("a full tick ends at %+v", last)
		}
		if id, err := b.At(t.Context(), at.Add(-time.Second)); err != nil {
			t.Errorf("a tick before the full one: %d, %v", id, err)
		}
	}
	last := allocator(t, smallTick()).Expires().Add(-time.Nanosecond)
	b := newGenerator(t, &backfill.Options{Layout: smallTick(), Spill: true})
	var err error
	for range 17 {
		_, err = b.At(t.Context(), last)
	}
	if !errors.Is(err, uid.ErrExhausted) {
		t.Errorf("beyond the last tick: %v", err)
	}
}

// TestBackfillRefused: claims that begin or end, times outside, a ctx that ended, and use after
// Close.
func TestBackfillRefused(t *testing.T) {
	t.Parallel()
	for _, m := range []*claimtest.Memory{{}, {Length: claimtest.Endless, From: time.Now()}} {
		if _, err := backfill.New(t.Context(), m, nil); !errors.Is(err, uid.ErrOptions) ||
			!strings.Contains(err.Error(), "want all of time") {
			t.Errorf("a claim that is not all of time: %v", err)
		}
		if n := len(m.Calls(claimtest.OpRelease)); n != 1 {
			t.Errorf("the claim was released %d times", n)
		}
	}
	for _, a := range []assigner.Assigner{nil, claimtest.Static(1 << 30)} {
		if _, err := backfill.New(t.Context(), a, nil); err == nil {
			t.Errorf("assigner %v: no error", a)
		}
	}
	if _, err := backfill.New(t.Context(), claimtest.Static(1),
		&backfill.Options{Layout: bitsalloc.Layout{TimeBits: -1}}); !errors.Is(err,
		uid.ErrOptions) {
		t.Errorf("a bad layout: %v", err)
	}
	b := newGenerator(t, nil)
	if _, err := b.At(t.Context(), epoch.Add(-1)); !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("before the epoch: %v", err)
	}
	if _, err := b.At(t.Context(), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, uid.ErrExhausted) {
		t.Errorf("after the end: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.At(ended, time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended ctx: %v", err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if _, err := b.At(t.Context(), time.Now()); !errors.Is(err, uid.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestBackfillRelease has the claim's Release use the Backfill that calls it: no lock is held, and
// its use has ended already.
func TestBackfillRelease(t *testing.T) {
	t.Parallel()
	var b *backfill.Generator
	m := &claimtest.Memory{Length: claimtest.Endless}
	m.Before = before(claimtest.OpRelease, func(context.Context) error {
		if id, err := b.At(t.Context(), time.Now()); !errors.Is(err, uid.ErrClosed) {
			t.Errorf("At() = %d, %v while the claim is released, want ErrClosed", id, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("Close() = %v while the claim is released", err)
		}
		return nil
	})
	b, err := backfill.New(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err := <-closed:
		if n := len(m.Calls(claimtest.OpRelease)); err != nil || n != 1 {
			t.Errorf("Close() = %v, the claim was released %d times", err, n)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for the claim's Release, which waits for Close")
	}
}

func ExampleGenerator() {
	ctx := context.Background()
	b, err := backfill.New(ctx, assigner.Static(9), nil) // workernode.Disposable(db, nil) in real life
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	created := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC) // of an old row
	for range 2 {
		id, err := b.At(ctx, created)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(id)
	}
	// Output:
	// 184689331804382561
	// 184689331804382562
}

// TestBackfillClaim: a claim is bound to the layout, refused if its worker id has no place in every
// era, and released once. What the authority says to that reaches the caller.
func TestBackfillClaim(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		worker int64
		length time.Duration
	}{{-1, claimtest.Endless}, {1 << 22, claimtest.Endless}, {1 << 22, time.Minute}} {
		m := &claimtest.Memory{Length: tc.length}
		a := altered{m, func(c assigner.Claim) assigner.Claim { return misnamed{c, tc.worker} }}
		_, err := backfill.New(t.Context(), a, nil)
		if n := len(m.Calls(claimtest.OpRelease)); !errors.Is(err, bitsalloc.ErrRange) || n != 1 {
			t.Errorf("worker %d: %v, released %d times, want ErrRange and once", tc.worker, err, n)
		}
	}
	m := &claimtest.Memory{Length: claimtest.Endless}
	b, err := backfill.New(t.Context(), m, &backfill.Options{Layout: smallTick()})
	if err != nil {
		t.Fatal(err)
	}
	l := allocator(t, smallTick())
	if _, err := m.BindLayout(l.Layout().String()).Assign(t.Context(), 7); err != nil {
		t.Errorf("another claim for the layout %v: %v", l.Layout(), err)
	}
	if _, err := m.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("a claim for no layout: %v, want ErrLayoutMismatch", err)
	}
	err = errors.Join(b.Close(), b.Close())
	released := m.Calls(claimtest.OpRelease)
	if err != nil || len(released) != 1 || !released[0].Asked.Equal(l.Expires().Add(-time.Second)) {
		t.Errorf("Close twice: %v, released %+v, want once, with the last tick", err, released)
	}
	m = &claimtest.Memory{Length: claimtest.Endless}
	if b, err = backfill.New(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	m.Fail(errDown)
	if err := b.Close(); !errors.Is(err, errDown) ||
		!strings.HasPrefix(err.Error(), "backfill: giving the worker id back: ") {
		t.Errorf("Close with an authority that is down: %v", err)
	}
}

// TestBackfillCloseInUse closes from several goroutines while others make ids: these get ErrClosed
// from then on, and the claim is released once.
func TestBackfillCloseInUse(t *testing.T) {
	t.Parallel()
	for range 50 {
		a := &claimtest.Memory{Length: claimtest.Endless}
		b, err := backfill.New(t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				var err error
				for at := epoch; err == nil; at = at.Add(time.Second) {
					_, err = b.At(t.Context(), at)
				}
				if !errors.Is(err, uid.ErrClosed) {
					t.Errorf("At: %v, want ErrClosed", err)
				}
			})
			wg.Go(func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(a.Calls(claimtest.OpRelease)); n != 1 {
			t.Errorf("the claim was released %d times", n)
		}
	}
}

// TestCloseWhileReleaseStands closes a Generator whose claim's Release does not come back: Close
// returns after its bound and says so.
func TestCloseWhileReleaseStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		m := &claimtest.Memory{Length: claimtest.Endless}
		m.Before = before(claimtest.OpRelease, func(context.Context) error {
			<-back
			return nil
		})
		b, err := backfill.New(t.Context(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer close(back)
		begun := time.Now()
		if err := b.Close(); err == nil || !strings.Contains(err.Error(), "Release") ||
			time.Since(begun) > 6*time.Second {
			t.Errorf("Close() = %v after %v, want that Release is out after 5 s", err, time.Since(begun))
		}
	})
}

// TestGenes: an id has the low bits of its own sequence number as its gene.
func TestGenes(t *testing.T) {
	t.Parallel()
	b := newGenerator(t, &backfill.Options{
		Layout: bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 8, GeneBits: 3}})
	for range 100 {
		id, err := b.At(t.Context(), epoch.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if p := b.Parse(id); p.Gene != p.Seq&7 {
			t.Fatalf("id %+v, want the gene %d", p, p.Seq&7)
		}
	}
}

var errDown = errors.New("the authority is down")

func allocator(tb testing.TB, l bitsalloc.Layout) *bitsalloc.Allocator {
	tb.Helper()
	a, err := bitsalloc.New(l)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// before is what Memory calls before op.
func before(op claimtest.Op, f func(context.Context) error) func(context.Context, claimtest.Call) error {
	return func(ctx context.Context, c claimtest.Call) error {
		if c.Op != op {
			return nil
		}
		return f(ctx)
	}
}

// altered changes the claims of an Assigner.
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

// misnamed is a claim that says another worker id.
type misnamed struct {
	assigner.Claim
	worker int64
}

func (c misnamed) Worker() int64 { return c.worker }
