package lincheck

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/ringbuffer"
)

// ring is what is recorded of a ringbuffer.Ring.
type ring interface {
	TryPut(uid int64) bool
	TryPutN(uids []int64) int
	TryTake() (uid int64, ok bool)
	TryTakeN(dst []int64) int
}

// record has several goroutines call r at random, and returns the history. The calls are timed by
// the monotonic clock, which takes no lock and so does not order what it times. The goroutines
// start together, and every uid put is unique.
func record(r ring, goroutines, calls int, seed uint64) []porcupine.Operation {
	histories := make([][]porcupine.Operation, goroutines)
	start := make(chan struct{})
	var wg sync.WaitGroup
	begin := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			history := make([]porcupine.Operation, 0, calls)
			dst := make([]int64, 4)
			next := int64(g+1) << 40
			<-start
			for range calls {
				op := queueOp{take: rnd.IntN(2) == 0, batch: rnd.IntN(3) == 0, want: 1}
				n := 1
				if op.batch {
					n = 1 + rnd.IntN(len(dst))
				}
				if op.take {
					op.want = n
				} else {
					op.uids = make([]int64, n)
					for k := range op.uids {
						op.uids[k] = next + int64(k)
					}
				}
				call := time.Since(begin)
				switch {
				case op.take && op.batch:
					n = r.TryTakeN(dst[:n])
				case op.take:
					var ok bool
					if dst[0], ok = r.TryTake(); !ok {
						n = 0
					}
				case op.batch:
					n = r.TryPutN(op.uids)
				default:
					if !r.TryPut(op.uids[0]) {
						n = 0
					}
				}
				end := time.Since(begin)
				var res queueResult
				if op.take {
					res = append(res, dst[:n]...)
				} else {
					res = op.uids[:n]
					next += int64(n)
				}
				history = append(history, porcupine.Operation{
					ClientId: g, Input: op, Output: res, Call: int64(call), Return: int64(end),
				})
			}
			histories[g] = history
		})
	}
	close(start)
	wg.Wait()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	return all
}

// patience bounds the check of one history. A goroutine that the machine stops in the middle of a
// call overlaps with so many others that the possible orders are beyond counting; nearly all
// histories take milliseconds.
const patience = 2 * time.Second

// check checks a history of a ring that was empty at its beginning. The result is Unknown when
// patience has run out.
func check(history []porcupine.Operation, size int) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(ringModel(size), history, patience)
}

// explain writes porcupine's picture of a history to a file that outlives the test, and returns its
// name.
func explain(t *testing.T, history []porcupine.Operation, size int) string {
	t.Helper()
	model := ringModel(size)
	_, info := porcupine.CheckOperationsVerbose(model, history, patience)
	name := filepath.Join(os.TempDir(), fmt.Sprintf("lincheck-ring-%d.html", os.Getpid()))
	if err := porcupine.VisualizePath(model, info, name); err != nil {
		return err.Error()
	}
	return name
}

// TestRing checks many short histories, each from an empty ring on, and a few long ones.
func TestRing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rounds, goroutines, calls int }{
		{300, 4, 50},
		{40, 8, 30},
		{3, 3, 2000},
	} {
		for _, size := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%d goroutines, %d calls/size %d", c.goroutines, c.calls, size), func(t *testing.T) {
				t.Parallel()
				unknown := 0
				for round := range c.rounds {
					r, err := ringbuffer.New(size, nil)
					if err != nil {
						t.Fatal(err)
					}
					history := record(r, c.goroutines, c.calls, uint64(round))
					switch got := check(history, size); got {
					case porcupine.Ok:
					case porcupine.Unknown:
						if unknown++; unknown > 1+c.rounds/4 {
							t.Fatalf("%d of %d histories could not be decided, the last one of "+
								"%d calls", unknown, round+1, len(history))
						}
					default:
						t.Fatalf("history %d of %d calls is %s, want %s; see %s",
							round, len(history), got, porcupine.Ok, explain(t, history, size))
					}
				}
			})
		}
	}
}

// twoStep is a Ring whose takes look first and claim later, in two steps with a pause in between:
// the flaw of the design that Ring repairs. It serves to show that the check finds such a thing.
type twoStep struct {
	mu           sync.Mutex
	uids         []int64
	tail, cursor int
}

func (r *twoStep) TryPut(uid int64) bool { return r.TryPutN([]int64{uid}) == 1 }

func (r *twoStep) TryPutN(uids []int64) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(uids) && r.tail-r.cursor < len(r.uids) {
		r.uids[r.tail%len(r.uids)] = uids[n]
		r.tail++
		n++
	}
	return n
}

func (r *twoStep) TryTake() (uid int64, ok bool) {
	dst := make([]int64, 1)
	ok = r.TryTakeN(dst) == 1
	return dst[0], ok
}

func (r *twoStep) TryTakeN(dst []int64) (n int) {
	r.mu.Lock()
	for n < len(dst) && r.cursor+n < r.tail {
		dst[n] = r.uids[(r.cursor+n)%len(r.uids)]
		n++
	}
	r.mu.Unlock()
	runtime.Gosched()
	r.mu.Lock()
	r.cursor = min(r.cursor+n, r.tail)
	r.mu.Unlock()
	return n
}

// torn is a Ring whose batches are put one by one.
type torn struct{ *ringbuffer.Ring }

func (r torn) TryPutN(uids []int64) (n int) {
	for n < len(uids) && r.TryPut(uids[n]) {
		n++
		runtime.Gosched()
	}
	return n
}

// TestBrokenRings checks that histories of rings that are broken on purpose are refused.
func TestBrokenRings(t *testing.T) {
	t.Parallel()
	const size, rounds = 4, 200
	for name, broken := range map[string]func() ring{
		"take in two steps": func() ring { return &twoStep{uids: make([]int64, size)} },
		"torn batches": func() ring {
			r, err := ringbuffer.New(size, nil)
			if err != nil {
				t.Fatal(err)
			}
			return torn{r}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				if check(record(broken(), 4, 50, uint64(round)), size) == porcupine.Illegal {
					return
				}
			}
			t.Errorf("all %d histories pass, want one that is refused", rounds)
		})
	}
}

// TestImpossible checks histories written by hand, each of which breaks one rule, next to a lawful
// twin.
func TestImpossible(t *testing.T) {
	t.Parallel()
	const size = 2
	put := func(uids ...int64) queueOp { return queueOp{uids: uids, batch: len(uids) > 1} }
	take := func(n int) queueOp { return queueOp{take: true, want: n, batch: n > 1} }
	type call struct {
		op         queueOp
		begin, end int64
		res        queueResult
	}
	for _, c := range []struct {
		name  string
		want  porcupine.CheckResult
		calls []call
	}{
		{"one after the other", porcupine.Ok, []call{{put(1), 0, 1, queueResult{1}}, {take(1), 2, 3, queueResult{1}}}},
		{"a uid twice", porcupine.Illegal, []call{
			{put(1), 0, 1, queueResult{1}}, {take(1), 2, 5, queueResult{1}}, {take(1), 3, 4, queueResult{1}}}},
		{"a uid from nowhere", porcupine.Illegal,
			[]call{{put(1), 0, 1, queueResult{1}}, {take(1), 2, 3, queueResult{2}}}},
		{"taken before it is put", porcupine.Illegal,
			[]call{{take(1), 0, 1, queueResult{1}}, {put(1), 2, 3, queueResult{1}}}},
		{"taken while it is put", porcupine.Ok,
			[]call{{take(1), 0, 3, queueResult{1}}, {put(1), 1, 4, queueResult{1}}}},
		{"out of order", porcupine.Illegal, []call{
			{put(1), 0, 1, queueResult{1}}, {put(2), 2, 3, queueResult{2}}, {take(1), 4, 5, queueResult{2}}}},
		{"order of concurrent puts is free", porcupine.Ok, []call{
			{put(1), 0, 3, queueResult{1}}, {put(2), 1, 2, queueResult{2}}, {take(1), 4, 5, queueResult{2}}}},
		{"empty with a uid in it", porcupine.Illegal, []call{{put(1), 0, 1, queueResult{1}}, {take(1), 2, 3, nil}}},
		{"a batch finds nothing with a uid in it",
			porcupine.Illegal, []call{{put(1), 0, 1, queueResult{1}}, {take(3), 2, 3, nil}}},
		{"full with room in it", porcupine.Illegal, []call{{put(1), 0, 1, queueResult{1}}, {put(2), 2, 3, nil}}},
		{"full", porcupine.Ok, []call{{put(1, 2), 0, 1, queueResult{1, 2}}, {put(3), 2, 3, nil}}},
		{"more than fits", porcupine.Illegal, []call{{put(1, 2, 3), 0, 1, queueResult{1, 2, 3}}}},
		{"as much as fits", porcupine.Ok,
			[]call{{put(1, 2, 3), 0, 1, queueResult{1, 2}}, {take(4), 2, 3, queueResult{1, 2}}}},
		{"a batch in two parts", porcupine.Illegal, []call{
			{put(1, 2), 0, 9, queueResult{1, 2}}, {take(1), 1, 2, queueResult{1}}, {take(1), 3, 4, nil}}},
		{"more than asked for", porcupine.Illegal, []call{
			{put(1, 2), 0, 1, queueResult{1, 2}}, {take(1), 2, 3, queueResult{1, 2}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var history []porcupine.Operation
			for i, k := range c.calls {
				history = append(history, porcupine.Operation{ClientId: i, Input: k.op,
					Output: k.res, Call: k.begin, Return: k.end})
			}
			if got := check(history, size); got != c.want {
				t.Errorf("the history is %s, want %s", got, c.want)
			}
		})
	}
}
