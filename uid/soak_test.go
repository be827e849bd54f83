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

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

var (
	soakIDs  = flag.Int64("soak.ids", 0, "how many ids TestSoak checks; 0: as many as fit a test")
	soakFrom = flag.Uint64("soak.from", 1, "the first round of TestSoak")
)

// soakRound is how many ids a round of TestSoak has, unless its time is up before.
const soakRound = 400_000_000

// TestSoak runs rounds in real time, each with a layout, options, generators and faults that the
// round's number draws, and counts every id in a bitmap. A round is a world of its own, with an
// authority of its own: ids of different rounds have nothing to do with each other.
func TestSoak(t *testing.T) {
	t.Parallel()
	want, rounds, limit := *soakIDs, uint64(1<<32), 4*time.Second
	if want == 0 {
		want, rounds, limit = 8_000_000/scale, 8, time.Second
		if testing.Short() {
			rounds, limit = 2, 500*time.Millisecond
		}
	}
	begin, total := time.Now(), int64(0)
	for seed := *soakFrom; total < want && seed < *soakFrom+rounds; seed++ {
		r := newSoak(t, seed, min(soakRound, want))
		r.limit = limit
		r.run(t)
		total += r.count.Load()
		t.Logf("round %d: %s: %d ids, %d calls failed, %d starts, %d windows", seed, r.what,
			r.count.Load(), r.failed.Load(), r.starts.Load(), len(r.authority.Windows().All()))
		if t.Failed() {
			return
		}
	}
	took := time.Since(begin)
	t.Logf("%d ids in %v, %.0f a second, each counted once", total, took.Round(time.Second),
		float64(total)/took.Seconds())
}

// TestSoakFindsDuplicates has an authority give one worker id to all.
func TestSoakFindsDuplicates(t *testing.T) {
	t.Parallel()
	r := newSoak(t, 1, 1_000_000)
	r.kind, r.calm, r.generators, r.most, r.limit = "cached", true, 2, 5000, time.Minute
	// A tick has few ids, so both compose far ahead of the clock and meet there.
	l := r.o.Layout
	l.SeqBits, l.Tick = 4, time.Millisecond
	r.o = uid.Options{Layout: l}
	r.alloc = allocator(t, l)
	r.second = &assignertest.Memory{Length: 24 * time.Hour}
	r.authority = &assignertest.Memory{Length: 24 * time.Hour}
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
	o          uid.Options
	alloc      *bitsalloc.Allocator
	generators int
	callers    int // of each generator
	most       int // ids a call
	calm       bool
	want       int64
	limit      time.Duration
	authority  *assignertest.Memory
	second     *assignertest.Memory // not nil: the authority of every second generator

	count, twice, failed, starts atomic.Int64

	mu    sync.Mutex
	pages map[soakPage]*[soakWords]atomic.Uint64 // guarded by mu
}

// soakPage names a stretch of the positions of one worker id.
type soakPage struct{ worker, page int64 }

const soakWords = 1 << 10

// newSoak draws a round.
func newSoak(t *testing.T, seed uint64, want int64) *soak {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := &soak{rnd: rnd, kind: pick(rnd, "cached", "cached", "cached", "default"), want: want,
		generators: 1 + rnd.IntN(4), callers: 1 + rnd.IntN(4), most: pick(rnd, 1, 100, 5000, 5000, 5000),
		calm: rnd.IntN(4) == 0, pages: map[soakPage]*[soakWords]atomic.Uint64{}}
	l := bitsalloc.Layout{TimeBits: 36, WorkerBits: 6, SeqBits: pick(rnd, 4, 10, 14, 18),
		GeneBits: pick(rnd, 0, 0, 3), Tick: pick(rnd, time.Millisecond, 10*time.Millisecond, time.Second),
		Epoch: time.Now().Add(-24 * time.Hour).Truncate(time.Second).UTC()}
	r.o = uid.Options{
		Layout:        l,
		RunLength:     1 << rnd.IntN(min(l.SeqBits, 14)+1),
		PaddingFactor: pick(rnd, 1, 50, 100),
		Lanes:         pick(rnd, 1, 1, 4, uid.AutoLanes),
		MaxLead:       pick(rnd, 0, 0, 0, time.Minute),
		TakePolicy:    pick(rnd, uid.TakePad, uid.TakePad, uid.TakeWait, uid.TakeReject),
		Rollback: pick(rnd, uid.Rollback{}, uid.RollbackWait(time.Minute),
			uid.RollbackHold(time.Hour)),
		SeqStart:   pick(rnd, int64(0), 1),
		NoReassign: rnd.IntN(8) == 0,
	}
	r.alloc = allocator(t, l)
	window := pick(rnd, 200*time.Millisecond, 3*time.Second, time.Hour)
	r.authority = &assignertest.Memory{Length: max(window, 3*l.Tick), TellTime: rnd.IntN(2) == 0}
	r.what = fmt.Sprintf("%s, %v, run %d, lanes %d, policy %v, %d generators of %d callers of %d "+
		"ids, windows of %v, calm %t", r.kind, l, r.o.RunLength, r.o.Lanes, r.o.TakePolicy, r.generators,
		r.callers, r.most, r.authority.Length, r.calm)
	return r
}

// run runs the round and checks it.
func (r *soak) run(t *testing.T) {
	r.work(t)
	if n := r.twice.Load(); n > 0 {
		t.Errorf("%s: %d ids came twice", r.what, n)
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
	var wg sync.WaitGroup
	for n := range r.generators {
		rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 2))
		wg.Go(func() {
			for ctx.Err() == nil && r.count.Load() < r.want {
				r.live(ctx, t, n, rnd, clock)
			}
		})
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	if !r.calm {
		chaos.Go(func() { r.disturb(stop, clock) })
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
	m := r.authority
	if r.second != nil && n%2 == 1 {
		m = r.second
	}
	o := r.o
	g, err := kinds[r.kind](short, m, &o, clock)
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
		batch := ids[:1+rnd.IntN(r.most)]
		n, err := g.Fill(ctx, batch)
		c.add(batch[:n])
		singles := batch[:0]
		for err == nil && len(singles) < min(100, r.most) {
			var id uid.ID
			if id, err = g.Next(ctx); err == nil {
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

// disturb lets things happen to clocks and the authority until stop is closed.
func (r *soak) disturb(stop <-chan struct{}, clock *uid.TestClock) {
	rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 4))
	var down atomic.Bool
	r.authority.Set(func(m *assignertest.Memory) {
		m.Before = func(ctx context.Context, _ assignertest.Call) error {
			if down.Load() {
				return errNetwork
			}
			return nil
		}
		m.After = func(context.Context, assignertest.Call) error {
			if down.Load() {
				return errNetwork // the answer is lost
			}
			return nil
		}
	})
	for {
		select {
		case <-stop:
			return
		case <-time.After(upTo(rnd, 50*time.Millisecond)):
		}
		switch rnd.IntN(5) {
		case 0:
			clock.Step(eitherWay(rnd, pick(rnd, time.Second, time.Minute, time.Hour)))
		case 1:
			r.authority.Step(eitherWay(rnd, pick(rnd, time.Second, time.Minute)))
		case 2:
			down.Store(!down.Load())
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

// add counts ids, a stretch of consecutive numbers at a time.
func (c *soakCounter) add(ids []uid.ID) {
	c.r.count.Add(int64(len(ids)))
	gene := uint(c.r.o.Layout.GeneBits)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n]>>gene == ids[n-1]>>gene+1 {
			n++
		}
		tick, worker, seq, _ := c.r.alloc.Split(int64(ids[0]))
		// A stretch ends with its tick's sequence: what follows has another worker id in front.
		n = min(n, int(c.r.alloc.MaxSeq()-seq)+1)
		c.mark(worker, tick*(c.r.alloc.MaxSeq()+1)+seq, n)
		ids = ids[n:]
	}
}

// mark sets the bits of n positions.
func (c *soakCounter) mark(worker, pos int64, n int) {
	for n > 0 {
		page := soakPage{worker, pos / (64 * soakWords)}
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
