package lincheck

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

var (
	mixes    = flag.Uint64("mixes", 24, "how many mixes TestMixes draws")
	mixFirst = flag.Uint64("mixes.first", 1, "the first mix that TestMixes draws")
)

// mix is a fleet with one authority, as a seed draws it: the same variety as TestSoak of package
// uid has, with shorter sequences and runs, so that every history crosses many of their ends.
type mix struct {
	what       string
	cached     bool
	o          uid.Options
	rollback   uid.Rollback // of a Default
	seqStart   int64        // of a Default
	once       bool         // a generator gets one claim
	generators int
	lives      int // of each generator
	load       load
	calm       bool
	clock      *uidtest.Clock
	authority  *claimtest.Memory
	second     *claimtest.Memory // not nil: the authority of every second generator
	trouble    *trouble          // nil: calm

	mu     sync.Mutex
	all    []stretch // guarded by mu
	checks int       // guarded by mu: histories that porcupine accepted
}

// drawMix draws a mix.
func drawMix(seed uint64) *mix {
	rnd := rand.New(rand.NewPCG(seed, 1))
	l := bitsalloc.Layout{TimeBits: 42, WorkerBits: 6, SeqBits: pick(rnd, 2, 4, 8, 12),
		GeneBits: pick(rnd, 0, 0, 3), Tick: pick(rnd, time.Millisecond, 10*time.Millisecond, time.Second),
		Epoch: time.Now().Add(-24 * time.Hour).Truncate(time.Second).UTC()}
	m := &mix{cached: rnd.IntN(4) > 0, generators: 1 + rnd.IntN(3), lives: 3, calm: rnd.IntN(4) == 0,
		clock: uidtest.NewClock()}
	m.o = uid.Options{
		Layout:        l,
		BoostPower:    pick(rnd, 0, -1),
		RunLength:     1 << rnd.IntN(l.SeqBits+1),
		PaddingFactor: pick(rnd, 1, 50, 100),
		Lanes:         pick(rnd, 1, 1, 1, 4),
		MaxLead:       pick(rnd, 0, 0, time.Minute),
		TakePolicy:    pick(rnd, uid.TakePad, uid.TakePad, uid.TakeWait, uid.TakeReject),
		Clock:         m.clock.Read,
	}
	m.rollback = pick(rnd, uid.Rollback{}, uid.RollbackWait(time.Minute), uid.RollbackHold(time.Hour))
	m.seqStart = pick(rnd, int64(0), 1)
	// A Default that replaces a lost claim within a tick gives up its order.
	m.once = !m.cached || rnd.IntN(8) == 0
	m.load = load{goroutines: 2 + rnd.IntN(3), calls: 60, most: pick(rnd, 2, 12, 200),
		genes: l.GeneBits, faults: true}
	m.authority = &claimtest.Memory{
		Length:   max(pick(rnd, 50*time.Millisecond, time.Second, time.Hour), 3*l.Tick),
		TellTime: rnd.IntN(2) == 0,
	}
	if !m.calm {
		m.trouble = newTrouble(m.authority, rand.New(rand.NewPCG(seed, 3)))
	}
	m.what = fmt.Sprintf("cached %t, %v, run %d, lanes %d, policy %v, %d generators of %d callers, "+
		"windows of %v, calm %t", m.cached, l, m.o.RunLength, m.o.Lanes, m.o.TakePolicy, m.generators,
		m.load.goroutines, m.authority.Length, m.calm)
	return m
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// TestMixes checks histories of fleets that seeds draw, while clocks and the authority's clock
// step, the authority refuses and delays calls and loses answers, and worker ids are taken away:
// those of a generator with one lane are linearizable, and no id of a fleet is repeated. A history
// that porcupine does not decide fails the test, too.
func TestMixes(t *testing.T) {
	t.Parallel()
	var ids, checks atomic.Int64
	var met [len(troubles)]atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d mixes: %d histories are linearizable, of %d ids", *mixes, checks.Load(), ids.Load())
		if n := int64(*mixes); checks.Load() < n || ids.Load() < 100*n {
			t.Errorf("%d histories of %d ids were checked, want %d of %d", checks.Load(), ids.Load(), n,
				100*n)
		}
		for i, what := range troubles {
			t.Logf("%s: %d", what, met[i].Load())
			if met[i].Load() == 0 && *mixes >= 24 { // a seed that is run again need not meet all
				t.Errorf("%s: 0, want more", what)
			}
		}
	})
	for seed := *mixFirst; seed < *mixFirst+*mixes; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := drawMix(seed)
			t.Log(m.what)
			m.run(t, seed)
			if s, ok := m.twice(); ok {
				t.Errorf("an id of %v was repeated", s)
			}
			if err := m.authority.Windows().Overlap(); err != nil {
				t.Error(err)
			}
			for _, s := range m.all {
				ids.Add(s.last - s.first + 1)
			}
			checks.Add(int64(m.checks))
			for i := range met {
				if m.trouble != nil {
					met[i].Add(m.trouble.met[i].Load())
				}
			}
		})
	}
}

// TestMixesFindDuplicates has two authorities hand out the same worker ids.
func TestMixesFindDuplicates(t *testing.T) {
	t.Parallel()
	m := drawMix(1)
	m.cached, m.calm, m.generators, m.lives = true, true, 2, 1
	m.o = uid.Options{Layout: m.o.Layout}
	m.load.calls, m.load.most = 100, 2
	m.authority = &claimtest.Memory{Length: 24 * time.Hour}
	m.second = &claimtest.Memory{Length: 24 * time.Hour}
	m.run(t, 1)
	if _, ok := m.twice(); !ok {
		t.Errorf("%d stretches of two authorities, no id twice", len(m.all))
	}
}

// run has all generators live their lives.
func (m *mix) run(t *testing.T, seed uint64) {
	ctx, cancel := context.WithCancel(t.Context())
	var chaos, wg sync.WaitGroup
	if !m.calm {
		chaos.Go(func() { m.disturb(ctx, rand.New(rand.NewPCG(seed, 2))) })
	}
	for n := range m.generators {
		wg.Go(func() {
			for life := range m.lives {
				m.live(t, n, seed<<16|uint64(n<<8|life))
			}
		})
	}
	wg.Wait()
	cancel()
	chaos.Wait()
}

// live records and checks the life of one generator. Every second one ends in the middle of its
// callers' calls.
func (m *mix) live(t *testing.T, n int, seed uint64) {
	a := m.authority
	if m.second != nil && n%2 == 1 {
		a = m.second
	}
	g, err := m.open(t, a)
	if err != nil { // the authority is away
		return
	}
	defer g.Close() // the answer may be lost
	l, last := m.load, int64(-1)
	for round := range uint64(2) {
		l.close = seed%2 == 0 && round == 1
		history := recordSource(t, g, l, seed*2+round)
		m.mu.Lock()
		for _, op := range history {
			if op.Input == take {
				m.all = append(m.all, op.Output.(stretch))
			}
		}
		m.mu.Unlock()
		if m.o.Lanes > 1 && m.cached {
			continue // several lanes have no order
		}
		switch got := checkSource(history, last); got {
		case porcupine.Ok:
		case porcupine.Unknown:
			t.Errorf("a history of %d steps is undecided; see %s", len(history), explainSource(t, history, last))
			return
		default:
			t.Errorf("a history of %d steps is %s, want %s; see %s", len(history), got, porcupine.Ok,
				explainSource(t, history, last))
			return
		}
		last = highest(history, last)
		m.mu.Lock()
		m.checks++
		m.mu.Unlock()
	}
}

// open makes a generator, in several tries.
func (m *mix) open(t *testing.T, a assigner.Assigner) (g generator, err error) {
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if m.once {
			a = &once{Assigner: a}
		}
		o := m.o
		if m.cached {
			g, err = uid.NewCached(ctx, a, &o)
		} else {
			g, err = uid.NewDefault(ctx, a, &uid.DefaultOptions{Layout: o.Layout, MaxLead: o.MaxLead,
				TakePolicy: o.TakePolicy, Rollback: m.rollback, SeqStart: m.seqStart, Clock: o.Clock})
		}
		cancel()
		if err == nil || errors.Is(err, uid.ErrOptions) || errors.Is(err, bitsalloc.ErrLayout) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if errors.Is(err, uid.ErrOptions) || errors.Is(err, bitsalloc.ErrLayout) {
		t.Error(err)
	}
	return g, err
}

// once gives out one claim, so that a lost one is not replaced.
type once struct {
	assigner.Assigner
	claimed atomic.Bool
}

func (o *once) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if o.claimed.Load() {
		return nil, assigner.ErrWorkersExhausted
	}
	c, err := o.Assigner.Assign(ctx, maxWorker)
	if err == nil {
		o.claimed.Store(true)
	}
	return c, err
}

// disturb lets things happen to the clocks and the authority, besides those to its calls, until ctx
// ends.
func (m *mix) disturb(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rnd.Int64N(int64(10 * time.Millisecond))))
		step := time.Duration(pick(rnd, -1, 1)) * pick(rnd, time.Second, time.Minute, time.Hour)
		switch rnd.IntN(5) {
		case 0:
			m.clock.Step(step)
		case 1:
			m.authority.Step(step / 60)
		case 2:
			m.trouble.down.Store(!m.trouble.down.Load())
		default:
			m.authority.Lose(rnd.Int64N(4))
		}
	}
}

// twice returns a stretch that overlaps another one, if there is one.
func (m *mix) twice() (s stretch, ok bool) {
	slices.SortFunc(m.all, func(a, b stretch) int { return int(a.first - b.first) })
	for i := 1; i < len(m.all); i++ {
		if m.all[i].first <= m.all[i-1].last {
			return m.all[i], true
		}
	}
	return stretch{}, false
}
