package uid_test

import (
	"context"
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

var (
	soakIDs  = flag.Int64("soak.ids", 0, "how many ids TestSoak checks; 0: those of a few short rounds")
	soakFrom = flag.Uint64("soak.from", 1, "the first round of TestSoak")
)

// soakRound is how many ids a round of TestSoak has, unless its time is up before.
const soakRound = 400_000_000

// TestSoak runs rounds in real time, each with a layout, options, generators and faults that the
// round's number draws, and counts every id in a bitmap. A round is a world of its own, with an
// authority of its own: ids of different rounds have nothing to do with each other.
func TestSoak(t *testing.T) {
	t.Parallel()
	least, want, limit := uint64(0), *soakIDs, 4*time.Second
	if want == 0 {
		least, limit = 8, time.Second
		if testing.Short() {
			least, limit = 3, 300*time.Millisecond
		}
	}
	begin, met := time.Now(), tally{}
	var total, failed, starts int64
	n := uint64(0)
	for ; total < want || n < least || met.missing() != nil && n < 10*least; n++ {
		seed := *soakFrom + n
		r := newSoak(t, seed)
		r.limit = limit
		r.run(t)
		total, failed, starts = total+r.count.Load(), failed+r.failed.Load(), starts+r.starts.Load()
		if r.trouble != nil {
			met.add(r.trouble)
		}
		t.Logf("round %d: %s: %d ids, %d calls failed, %d starts, %d windows", seed, r.what,
			r.count.Load(), r.failed.Load(), r.starts.Load(), len(r.authority.Windows().All()))
		if t.Failed() {
			return
		}
	}
	took := time.Since(begin)
	t.Logf("%d rounds: %d ids, each counted once; %d calls failed; %d starts of generators; %v, %.0f ids a second",
		n, total, failed, starts, took.Round(time.Second), float64(total)/took.Seconds())
	t.Logf("%v", met)
	// A few rounds, as when a seed is run again, need not meet everything.
	if missing := met.missing(); missing != nil && n >= 10 {
		t.Errorf("these did not happen: %q", missing)
	}
}

// TestSoakFindsDuplicates has an authority give one worker id to all.
func TestSoakFindsDuplicates(t *testing.T) {
	t.Parallel()
	r := newSoak(t, 1)
	r.kind, r.calm, r.generators, r.most, r.limit, r.want = "cached", true, 2, 5000, time.Minute, 1_000_000
	// A tick has few ids, so both compose far ahead of the clock and meet there.
	l := r.o.Layout
	l.SeqBits, l.Tick = 4, time.Millisecond
	r.o = uid.Both{Layout: l}
	r.eras = eras(t, r.o)
	r.second = &claimtest.Memory{Length: 24 * time.Hour}
	r.authority = &claimtest.Memory{Length: 24 * time.Hour}
	// One generator may make all ids of a round before the other starts.
	for begin := time.Now(); r.twice.Load() == 0; r.want += 1_000_000 {
		if time.Since(begin) > r.limit {
			t.Fatalf("%d ids of two authorities, none of them twice", r.count.Load())
		}
		r.work(t)
	}
}

// soak is one round.
type soak struct {
	rnd        *rand.Rand
	what       string
	kind       string
	o          uid.Both
	eras       *bitsalloc.Eras
	generators int
	callers    int // of each generator
	most       int // ids a call
	calm       bool
	want       int64
	limit      time.Duration
	authority  *claimtest.Memory
	second     *claimtest.Memory // not nil: the authority of every second generator
	trouble    *trouble          // nil: calm

	count, twice, failed, starts atomic.Int64

	mu    sync.Mutex
	pages map[soakPage]*[soakWords]atomic.Uint64 // guarded by mu
}

// soakPage names a stretch of the positions of one worker id in one era.
type soakPage struct {
	era          *bitsalloc.Allocator
	worker, page int64
}

const soakWords = 1 << 10

// newSoak draws a round.
func newSoak(t *testing.T, seed uint64) *soak {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := &soak{rnd: rnd, kind: pick(rnd, "cached", "cached", "cached", "default"), want: soakRound,
		generators: 1 + rnd.IntN(4), callers: 1 + rnd.IntN(4), most: pick(rnd, 1, 100, 5000, 5000, 5000),
		calm: rnd.IntN(4) == 0, pages: map[soakPage]*[soakWords]atomic.Uint64{}}
	tick := func() time.Duration {
		return pick(rnd, time.Millisecond, time.Millisecond, 10*time.Millisecond, 10*time.Millisecond, time.Second)
	}
	now := time.Now()
	l := bitsalloc.Layout{TimeBits: 36, WorkerBits: 6, SeqBits: pick(rnd, 4, 10, 14, 18),
		GeneBits: pick(rnd, 0, 0, 3), Tick: tick(),
		Epoch: now.Add(-24 * time.Hour).Truncate(time.Second).UTC()}
	later := l
	later.Epoch, later.SeqBits, later.Tick = time.Time{}, l.SeqBits-rnd.IntN(3), tick()
	longest := max(l.Tick, later.Tick)
	r.o = uid.Both{
		Layout:        l,
		Eras:          []bitsalloc.Era{{From: now.Add(upTo(rnd, 3*time.Second)), Layout: later}},
		BoostPower:    pick(rnd, 0, 0, uid.NoBoost),
		RunLength:     1 << rnd.IntN(min(later.SeqBits, 14)+1),
		PaddingFactor: pick(rnd, 1, 50, 100),
		Lanes:         pick(rnd, 1, 1, 4, uid.AutoLanes),
		MaxLag:        pick(rnd, 0, 0, longest+4*time.Millisecond, time.Minute),
		MaxLead:       pick(rnd, 0, 0, 0, time.Minute),
		PutFunc:       pick(rnd, nil, nil, func(uid.ID) error { return errNetwork }),
		TakePolicy:    pick(rnd, uid.TakePad, uid.TakePad, uid.TakeWait, uid.TakeReject),
		TakeFunc:      pick(rnd, nil, nil, nil, again),
		Rollback: pick(rnd, uid.Rollback{}, uid.RollbackWait(time.Minute),
			uid.RollbackHold(time.Hour)),
		SeqStart: pick(rnd, int64(0), 1),
	}
	if rnd.IntN(2) == 0 {
		r.o.Eras, longest = nil, l.Tick
	}
	r.eras = eras(t, r.o)
	window := pick(rnd, 200*time.Millisecond, 200*time.Millisecond, 3*time.Second, time.Hour)
	r.authority = &claimtest.Memory{Length: max(window, 3*longest), TellTime: rnd.IntN(2) == 0}
	r.what = fmt.Sprintf("%s, %v, %d eras, run %d, lanes %d, policy %v, TakeFunc %t, %d generators of %d "+
		"callers of %d ids, windows of %v, calm %t", r.kind, l, len(r.eras.All()), r.o.RunLength, r.o.Lanes,
		r.o.TakePolicy, r.o.TakeFunc != nil, r.generators, r.callers, r.most, r.authority.Length, r.calm)
	return r
}

// eras returns the layouts of o.
func eras(t *testing.T, o uid.Both) *bitsalloc.Eras {
	t.Helper()
	e, err := bitsalloc.NewEras(o.Layout, o.Eras...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// again is a TakeFunc that mostly has the caller try again.
func again(_ context.Context, reason error) error {
	if rand.IntN(10) == 0 {
		return reason
	}
	time.Sleep(50 * time.Microsecond)
	return nil
}

// run runs the round and checks it.
func (r *soak) run(t *testing.T) {
	r.work(t)
	if n := r.twice.Load(); n > 0 {
		t.Errorf("%s: %d ids were repeated", r.what, n)
	}
	if err := r.authority.Windows().Overlap(); err != nil {
		t.Errorf("%s: %v", r.what, err)
	}
	set := int64(0)
	for _, p := range r.pages {
		for i := range p {
			set += int64(bits.OnesCount64(p[i].Load()))
		}
	}
	if set != r.count.Load() {
		t.Errorf("%s: %d bits are set, want %d", r.what, set, r.count.Load())
	}
}

// work takes ids until there are enough or the time is up.
func (r *soak) work(t *testing.T) {
	ctx := within(t, r.limit)
	clock := uid.NewTestClock()
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	if !r.calm {
		r.trouble = newTrouble(r.authority, rand.New(rand.NewPCG(r.rnd.Uint64(), 5)))
		rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 4))
		chaos.Go(func() { r.disturb(stop, clock, rnd) })
	}
	var wg sync.WaitGroup
	for n := range r.generators {
		rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 2))
		wg.Go(func() {
			for ctx.Err() == nil && r.count.Load() < r.want {
				r.live(ctx, t, n, rnd, clock)
			}
		})
	}
	wg.Wait()
	close(stop)
	chaos.Wait()
}

// live is the life of one generator.
func (r *soak) live(
	ctx context.Context, t *testing.T, n int, rnd *rand.Rand, clock *uid.TestClock,
) {
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond+upTo(rnd, 2*time.Second))
	defer cancel()
	var a assigner.Assigner = r.authority
	switch {
	case r.second != nil && n%2 == 1:
		a = r.second
	case r.trouble != nil && n%2 == 0:
		a = troubled{r.authority, r.trouble}
	}
	o := r.o
	g, err := kinds[r.kind](short, a, &o, clock)
	if err != nil {
		r.failed.Add(1)
		time.Sleep(time.Millisecond)
		return
	}
	r.starts.Add(1)
	var wg sync.WaitGroup
	for range r.callers {
		rnd := rand.New(rand.NewPCG(rnd.Uint64(), 3))
		wg.Go(func() { r.take(short, t, g, rnd) })
	}
	wg.Wait()
	_ = g.Close() // its answer may be lost
}

// take takes ids and counts them.
func (r *soak) take(ctx context.Context, t *testing.T, g uid.Generator, rnd *rand.Rand) {
	ids := make([]uid.ID, r.most)
	c := &soakCounter{r: r}
	for ctx.Err() == nil && r.count.Load() < r.want {
		fill, next := g.Fill, g.Next
		if key := rnd.Int64(); r.o.Layout.GeneBits > 0 && key%2 == 0 {
			fill = func(ctx context.Context, ids []uid.ID) (int, error) { return g.FillGene(ctx, key, ids) }
			next = func(ctx context.Context) (uid.ID, error) { return g.NextGene(ctx, key) }
		}
		batch := ids[:1+rnd.IntN(r.most)]
		n, err := fill(ctx, batch)
		c.add(batch[:n])
		singles := batch[:0]
		for err == nil && len(singles) < min(100, r.most) {
			var id uid.ID
			if id, err = next(ctx); err == nil {
				singles = append(singles, id)
			}
		}
		c.add(singles)
		if err != nil {
			r.failed.Add(1)
			time.Sleep(50 * time.Microsecond)
		}
		if !allowed(err) {
			t.Errorf("%s: %v", r.what, err)
			return
		}
	}
}

// disturb lets things happen to clocks and the authority, besides those to its calls, until stop is
// closed.
func (r *soak) disturb(stop <-chan struct{}, clock *uid.TestClock, rnd *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(upTo(rnd, 50*time.Millisecond)):
		}
		switch rnd.IntN(5) {
		case 0:
			clock.Step(eitherWay(rnd, pick(rnd, time.Second, time.Minute, time.Hour, 3*time.Hour)))
		case 1:
			r.authority.Step(eitherWay(rnd, pick(rnd, time.Second, time.Minute)))
		case 2:
			r.trouble.toggle()
		default:
			r.authority.Lose(rnd.Int64N(8))
		}
	}
}

// soakCounter counts the ids of one goroutine.
type soakCounter struct {
	r    *soak
	at   soakPage
	bits *[soakWords]atomic.Uint64
}

// add counts ids, a stretch of consecutive numbers of one era at a time.
func (c *soakCounter) add(ids []uid.ID) {
	c.r.count.Add(int64(len(ids)))
	gene := uint(c.r.o.Layout.GeneBits)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n]>>gene == ids[n-1]>>gene+1 {
			n++
		}
		era := c.r.eras.Of(int64(ids[0]))
		tick, worker, seq, _ := era.Split(int64(ids[0]))
		// A stretch ends with its tick's sequence: what follows has another worker id in front.
		n = min(n, int(era.MaxSeq()-seq)+1)
		c.mark(era, worker, tick*(era.MaxSeq()+1)+seq, n)
		ids = ids[n:]
	}
}

// mark sets the bits of n positions.
func (c *soakCounter) mark(era *bitsalloc.Allocator, worker, pos int64, n int) {
	for n > 0 {
		page := soakPage{era, worker, pos / (64 * soakWords)}
		if c.bits == nil || c.at != page {
			c.at, c.bits = page, c.r.page(page)
		}
		bit := uint(pos % 64)
		k := min(n, 64-int(bit))
		mask := ^uint64(0) >> (64 - k) << bit
		if old := c.bits[pos/64%soakWords].Or(mask) & mask; old != 0 {
			c.r.twice.Add(1)
		}
		pos, n = pos+int64(k), n-k
	}
}

// page returns the bits of a page.
func (r *soak) page(at soakPage) *[soakWords]atomic.Uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pages[at]
	if p == nil {
		p = new([soakWords]atomic.Uint64)
		r.pages[at] = p
	}
	return p
}
