package lincheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// generator is what is recorded of a uid.Cached.
type generator interface {
	Next(ctx context.Context) (uid.ID, error)
	Fill(ctx context.Context, ids []uid.ID) (int, error)
	Close() error
}

// load is what callers do to a generator at the same time.
type load struct {
	goroutines, calls int
	most              int  // ids that a call of Fill asks for; 0: 12
	genes             int  // the low bits of an id that are no part of its number
	close             bool // one more goroutine calls Close in the middle
	faults            bool // calls may fail for any reason that a fault has, and have a bound
}

// failed are the errors that faults may cause.
var failed = []error{uid.ErrEmpty, uid.ErrLead, uid.ErrClockBack, assigner.ErrClaimLost,
	uid.ErrClaimExpired, context.DeadlineExceeded}

// allows reports whether a call may fail with err.
func (l load) allows(err error) bool {
	return l.faults && slices.ContainsFunc(failed, func(e error) bool { return errors.Is(err, e) })
}

// pause lets others run: where calls wait for clocks and claims, without taking their processor.
func pause(l load) {
	if l.faults {
		time.Sleep(100 * time.Microsecond)
		return
	}
	runtime.Gosched()
}

// ctx returns the ctx of one call.
func (l load) ctx(t *testing.T) (context.Context, context.CancelFunc) {
	if !l.faults {
		return t.Context(), func() {}
	}
	return context.WithTimeout(t.Context(), 5*time.Millisecond)
}

// recordSource has l's goroutines call g at random, and returns the history.
func recordSource(t *testing.T, g generator, l load, seed uint64) []porcupine.Operation {
	t.Helper()
	histories := make([][]porcupine.Operation, l.goroutines+1)
	var ready, made atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for n := range l.goroutines {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			var history []porcupine.Operation
			ids := make([]uid.ID, cmp.Or(l.most, 12))
			ready.Add(1)
			for ready.Load() < int64(l.goroutines) {
				runtime.Gosched()
			}
			for range l.calls {
				var got int
				var err error
				want := 1
				if rnd.IntN(4) == 0 {
					want = 1 + rnd.IntN(len(ids))
				}
				ctx, cancel := l.ctx(t)
				call := time.Since(begin)
				if want > 1 {
					got, err = g.Fill(ctx, ids[:want])
				} else if ids[0], err = g.Next(ctx); err == nil {
					got = 1
				}
				end := time.Since(begin)
				cancel()
				for i := range ids[:got] {
					ids[i] >>= l.genes
				}
				made.Add(1)
				add := func(op sourceOp, s stretch) {
					history = append(history, porcupine.Operation{ClientId: n, Input: op, Output: s,
						Call: int64(call), Return: int64(end)})
				}
				for rest := ids[:got]; len(rest) > 0; {
					k := 1
					for k < len(rest) && rest[k] == rest[k-1]+1 {
						k++
					}
					add(take, stretch{int64(rest[0]), int64(rest[k-1])})
					if k < len(rest) && rest[k] < rest[k-1] {
						add(take, stretch{int64(rest[k-1]), int64(rest[k])}) // out of order: no model accepts it
					}
					rest = rest[k:]
				}
				switch {
				case errors.Is(err, uid.ErrClosed):
					add(refused, stretch{})
				case l.allows(err):
					pause(l)
				case errors.Is(err, assigner.ErrClaimLost):
					time.Sleep(time.Millisecond) // until there is another
				case err != nil || got != want:
					t.Errorf("got %d ids, %v, want %d", got, err, want)
				}
			}
			histories[n] = history
		})
	}
	if l.close {
		wg.Go(func() {
			for made.Load() < int64(l.goroutines*l.calls/2) {
				pause(l)
			}
			call := time.Since(begin)
			if err := g.Close(); err != nil && !l.faults {
				t.Errorf("Close returned %v", err)
			}
			end := time.Since(begin)
			for _, op := range []sourceOp{closing, closed} {
				histories[l.goroutines] = append(histories[l.goroutines],
					porcupine.Operation{ClientId: l.goroutines, Input: op, Output: stretch{},
						Call: int64(call), Return: int64(end)})
			}
		})
	}
	wg.Wait()
	return slices.Concat(histories...)
}

// highest returns the highest id of a history, or last.
func highest(history []porcupine.Operation, last int64) int64 {
	for _, op := range history {
		last = max(last, op.Output.(stretch).last)
	}
	return last
}

// checkSource checks a history of a generator that had handed out ids up to last.
func checkSource(history []porcupine.Operation, last int64) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(sourceModel(history, last), history, time.Minute)
}

// explainSource writes porcupine's picture of a history to a file that outlives the test and has
// its name, and returns the file's name.
func explainSource(t *testing.T, history []porcupine.Operation, last int64) string {
	t.Helper()
	model := sourceModel(history, last)
	_, info := porcupine.CheckOperationsVerbose(model, history, time.Minute)
	test := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) // the seed is part of it
	//nolint:usetesting // it is for the reader, who comes after the test
	f, err := os.CreateTemp("", fmt.Sprintf("lincheck-%s-*.html", test))
	if err != nil {
		return err.Error()
	}
	name := f.Name()
	if err := errors.Join(f.Close(), porcupine.VisualizePath(model, info, name)); err != nil {
		return err.Error()
	}
	return name
}

// restless is an Assigner whose claims are lost at half of their window. The worker ids go up and
// down.
type restless struct {
	memory claimtest.Memory
	calls  atomic.Int64
}

// newRestless returns a restless with windows of the given length.
func newRestless(window time.Duration) *restless {
	r := &restless{memory: claimtest.Memory{Length: window}}
	r.memory.Fail(assigner.ErrClaimLost, claimtest.OpExtend)
	return r
}

// Assign claims the next worker id, from the end of its last window on.
func (r *restless) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	worker := maxWorker / 2 * (r.calls.Add(1) % 3) / 2
	return r.memory.Range(worker, worker).Assign(ctx, maxWorker)
}

// unsettled reports whether a is restless and has made fewer than four claims.
func unsettled(a assigner.Assigner) bool {
	r, ok := a.(*restless)
	return ok && len(r.memory.Windows().All()) < 4
}

// lost returns options with which a window holds a hundred thousand ids.
func lost() *uid.Options {
	o := options()
	o.Layout.TimeBits, o.Layout.SeqBits = 42, 11
	o.PaddingFactor = 90
	return o
}

// options returns small options: runs of four ids, four runs in the ring, sixteen ids a
// millisecond.
func options() *uid.Options {
	return &uid.Options{
		Layout:     bitsalloc.Layout{TimeBits: 49, WorkerBits: 10, SeqBits: 4, Tick: time.Millisecond},
		BoostPower: -1,
		RunLength:  4,
	}
}

// nanoseconds returns options under which each jump crosses millions of ticks.
func nanoseconds() *uid.Options {
	o := options()
	o.Layout = bitsalloc.Layout{TimeBits: 50, WorkerBits: 1, SeqBits: 12, Tick: time.Nanosecond,
		Epoch: time.Now().Add(-time.Hour)}
	o.RunLength = 2
	o.MaxLag = 5 * time.Millisecond
	return o
}

// open makes a generator that is closed with the test.
func open(t *testing.T, a assigner.Assigner, o *uid.Options) *uid.Cached {
	t.Helper()
	g, err := uid.NewCached(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("Close returned %v", err)
		}
	})
	return g
}

// TestCached checks long histories, in rounds so that what porcupine remembers of each stays small:
// a round's ids are above all of the rounds before.
func TestCached(t *testing.T) {
	t.Parallel()
	waiting := options()
	waiting.TakePolicy = uid.TakeWait
	single := options()
	single.RunLength = 1
	for name, c := range map[string]struct {
		a assigner.Assigner
		o *uid.Options
	}{
		"callers fill the ring":       {claimtest.Static(3), options()},
		"callers wait for the padder": {claimtest.Static(3), waiting},
		"runs of one id":              {claimtest.Static(3), single},
		"ticks of a nanosecond":       {claimtest.Static(1), nanoseconds()},
		"claims that are lost":        {newRestless(50 * time.Millisecond), lost()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rounds = 12
			g, last := open(t, c.a, c.o), int64(-1)
			for round := 0; round < rounds || round < 10*rounds && unsettled(c.a); round++ {
				history := recordSource(t, g, load{goroutines: 4, calls: 400}, uint64(round))
				if got := checkSource(history, last); got != porcupine.Ok {
					t.Fatalf("round %d of %d steps is %s, want %s; see %s",
						round, len(history), got, porcupine.Ok, explainSource(t, history, last))
				}
				last = highest(history, last)
				time.Sleep(40 * time.Millisecond) // lets runs go stale and windows end
			}
			s := g.Stats()
			t.Logf("worker %d, %d runs taken, %d stale, %d filled by callers",
				s.Worker, s.RunsTaken, s.RunsStale, s.Pads)
			if unsettled(c.a) {
				t.Error("fewer than 4 claims in all, so that nothing was lost")
			}
		})
	}
}

// TestCachedClose checks that Close cuts off: some callers may be refused while it runs, all are
// when it is done.
func TestCachedClose(t *testing.T) {
	t.Parallel()
	for round := range 60 {
		g := open(t, claimtest.Static(3), options())
		history := recordSource(t, g, load{goroutines: 4, calls: 60, close: true}, uint64(round))
		if got := checkSource(history, -1); got != porcupine.Ok {
			t.Fatalf("round %d is %s, want %s; see %s", round, got, porcupine.Ok, explainSource(t, history, -1))
		}
	}
}

// TestCachedLanes checks that several lanes, which promise no order, hand out no id twice, and that
// the check of order notices that they have none.
func TestCachedLanes(t *testing.T) {
	t.Parallel()
	o := options()
	o.Lanes = 8
	g := open(t, claimtest.Static(3), o)
	var all []stretch
	disorder := false
	last := int64(-1)
	for round := range 12 {
		history := recordSource(t, g, load{goroutines: 8, calls: 150}, uint64(round))
		for _, op := range history {
			all = append(all, op.Output.(stretch))
		}
		if !disorder {
			disorder = checkSource(history, last) == porcupine.Illegal
		}
		last = highest(history, last)
	}
	slices.SortFunc(all, func(a, b stretch) int { return int(a.first - b.first) })
	for i, s := range all[1:] {
		if s.first <= all[i].last {
			t.Errorf("ids %v and %v overlap, want each id once", all[i], s)
		}
	}
	if !disorder {
		t.Error("8 lanes are in order, want histories that the model of one lane refuses")
	}
}
