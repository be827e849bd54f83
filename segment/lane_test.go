package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// together runs the functions at the same time: none begins before all of them are running.
func together(fs ...func()) {
	var (
		wg    sync.WaitGroup
		ready atomic.Int64
	)
	for _, f := range fs {
		wg.Go(func() {
			for ready.Add(1); ready.Load() < int64(len(fs)); {
				runtime.Gosched()
			}
			f()
		})
	}
	wg.Wait()
}

// TestLaneSteal: callers that take away from each other what is left, again and again, get each id once, by Next and by Fill.
func TestLaneSteal(t *testing.T) {
	t.Parallel()
	for round := range 3000 {
		const n = 512 // one run, in the lane of the caller who comes first
		b := segment.Cut(segment.Range{From: 3, To: 3 + n}, 1, true, n)
		var got [3][]int64
		steal := func(lane int) func() {
			return func() {
				ids := make([]int64, 1+round%2)
				for failed := 0; failed < 2 || b.Used() < n; {
					k, _ := b.Fill(lane, ids)
					got[lane] = append(got[lane], ids[:k]...)
					if id, ok, _ := b.Next(lane); ok {
						got[lane] = append(got[lane], id)
					} else {
						failed++
					}
				}
			}
		}
		together(steal(0), steal(1), steal(2))
		checkAll(t, slices.Concat(got[:]...), n, 1)
	}
}

// TestLaneOver: once the range is found used up, or was ended, no call that begins after that gets an id, whatever was on its way
// into a lane.
func TestLaneOver(t *testing.T) {
	t.Parallel()
	for round := range 4000 {
		const n = 24
		wide, run := round%2 == 0, int64(1+round/2%12)
		b := segment.Cut(segment.Range{From: 3, To: 3 + n}, 1, wide, run)
		var over atomic.Bool
		lanes, _ := b.Shape()
		take := func(lane int) func() {
			return func() {
				for range 4 * n {
					begun := over.Load()
					if id, ok, _ := b.Next(lane % lanes); ok && begun {
						t.Errorf("%d lanes, runs of %d: id %d after the range was over", lanes, run, id)
						return
					}
				}
			}
		}
		together(take(0), take(5), func() {
			if round%3 == 0 {
				b.Seal()
			}
			for b.Used() < n {
				runtime.Gosched()
			}
			over.Store(true)
		})
	}
}

// TestLaneHeld: what asks whether a range is used up, and what ends it, waits for a caller who holds a lane: he may have a run in
// his hands that is in no lane yet.
func TestLaneHeld(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*segment.Generator){
		"Stats": func(g *segment.Generator) { g.Stats() },
		"Close": func(g *segment.Generator) { _ = g.Close() },
	} {
		g := generator(t, newFake(100), nil)
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		awaitQuiet(t, g)
		release := tag.Hold()
		var done atomic.Bool
		begun, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			close(begun)
			call(g)
			done.Store(true)
		}()
		<-begun
		for range 1000 {
			runtime.Gosched()
		}
		if done.Load() {
			t.Errorf("%s did not wait for who holds the lane", name)
		}
		release()
		<-ended
	}
}

// TestLaneMet: a run that many callers waited for counts once, so that four such runs of 17 are not a quarter.
func TestLaneMet(t *testing.T) {
	t.Parallel()
	const step, callers = 8192, 6
	g := generator(t, newFake(step), &segment.Options{MaxStep: 1})
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	awaitQuiet(t, g)
	for range 4 {
		next(t, g, "a", int(tag.InRun()))
		release := tag.Hold()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, err := tag.Next(t.Context()); err != nil {
					t.Errorf("Next = %v", err)
				}
			})
		}
		for tag.Failed() < callers {
			runtime.Gosched()
		}
		release()
		wg.Wait()
	}
	next(t, g, "a", step-int(stats(t, g, "a").Used)+1)
	if tag.Wide() {
		t.Errorf("many lanes after a range of which %d callers waited for 4 of 17 runs", callers)
	}
}

// TestLaneSpread: goroutines have lanes of their own, most of them, and no two of them share one in every range.
func TestLaneSpread(t *testing.T) {
	t.Parallel()
	const (
		goroutines = 32
		ranges     = 16
		n, run     = 1 << 20, 512
		least      = 8 // lanes; 25 are to be expected
	)
	var (
		buffers [ranges]*segment.Buffer
		runs    [ranges][goroutines]int64 // which run each goroutine's id is in
		fs      [goroutines]func()
		grown   sync.WaitGroup
	)
	grown.Add(goroutines)
	for r := range int64(ranges) {
		buffers[r] = segment.Cut(segment.Range{From: r * n, To: (r + 1) * n}, 1, true, run)
	}
	for i := range fs {
		fs[i] = func() {
			segment.Cut(segment.Range{From: 0, To: n}, 1, true, run).Next(-1) // the stack grows, and is where it is to stay
			grown.Done()
			grown.Wait()
			for r, b := range buffers {
				id, _, _ := b.Next(-1)
				runs[r][i] = id % n / run
			}
		}
	}
	together(fs[:]...)
	for r, who := range runs {
		slices.Sort(who[:])
		if lanes := len(slices.Compact(who[:])); lanes < least {
			t.Errorf("range %d: %d goroutines have %d lanes, want %d or more", r, goroutines, lanes, least)
		}
	}
	for i := range goroutines {
		for j := range i {
			shared := 0
			for _, who := range runs {
				if who[i] == who[j] {
					shared++
				}
			}
			if shared == ranges {
				t.Errorf("goroutines %d and %d share a lane in each of %d ranges", i, j, ranges)
			}
		}
	}
}

// TestLaneMark: the mark is rounded up to a whole id, and is the first one at the least.
func TestLaneMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, percent int
		want       int // the id, from 1, whose taker is told
	}{{1, 1, 1}, {1, 99, 1}, {15, 10, 2}, {20, 10, 2}, {21, 10, 3}, {99, 1, 1}, {101, 1, 2}, {101, 99, 100}, {1050, 50, 525}} {
		b := segment.NewBuffer(segment.Range{From: 0, To: int64(tt.n)}, tt.percent, false)
		for i := range tt.n {
			if _, ok, due := b.Next(0); !ok || due != (i+1 == tt.want) {
				t.Errorf("%d ids, mark at %d percent: told at id %d: %v, want it at id %d", tt.n, tt.percent, i+1, due, tt.want)
			}
		}
	}
}

// TestLaneSealUsedUp: nothing is left of a range that was used up, or ended before.
func TestLaneSealUsedUp(t *testing.T) {
	t.Parallel()
	for _, wide := range []bool{false, true} {
		for _, to := range []int64{1 << 14, math.MaxInt64} {
			b := segment.NewBuffer(segment.Range{From: to - 1<<14, To: to}, 10, wide)
			for b.Used() < 1<<14 {
				b.Fill(0, make([]int64, 1000))
			}
			if rest, ok := b.Seal(); ok {
				t.Errorf("wide %v: %v is left of a range that is used up", wide, rest)
			}
			b = segment.NewBuffer(segment.Range{From: to - 1<<14, To: to}, 10, wide)
			if rest, ok := b.Seal(); !ok || rest.Len() != 1<<14 {
				t.Errorf("wide %v: %v, %v is left of a range that was not begun", wide, rest, ok)
			}
			if _, ok := b.Seal(); ok {
				t.Errorf("wide %v: something is left of a range that was ended before", wide)
			}
		}
	}
}

// TestLaneSealRest: what is left right before the end that nobody claimed is part of the rest; what is left elsewhere is below
// ids that were handed out, and is not.
func TestLaneSealRest(t *testing.T) {
	t.Parallel()
	const n, run, stride = 100, 8, 7
	for _, tt := range []struct {
		name  string
		wide  bool
		takes [][2]int // lane, and how many ids it hands out
		want  int64    // position of the rest
	}{
		{"one lane", false, [][2]int{{0, 5}}, 5},
		{"one lane, a whole run", false, [][2]int{{0, run}}, run},
		{"the newest run first", true, [][2]int{{1, 2}, {0, 3}}, run + 3},
		{"the newest run last", true, [][2]int{{0, 2}, {1, 3}}, run + 3},
		{"the newest run used up", true, [][2]int{{1, 2}, {0, run}}, 2 * run},
	} {
		b := segment.Cut(segment.Range{From: 3, To: 3 + n*stride, Stride: stride}, 1, tt.wide, run)
		for _, k := range tt.takes {
			for range k[1] {
				b.Next(k[0])
			}
		}
		rest, ok := b.Seal()
		if want := (segment.Range{From: 3 + tt.want*stride, To: 3 + n*stride, Stride: stride}); !ok || rest != want {
			t.Errorf("%s: the rest is %v, %v, want %v", tt.name, rest, ok, want)
		}
	}
}

// TestLaneLines: what every call writes has lines of its own, and what every call only reads has none of those.
func TestLaneLines(t *testing.T) {
	t.Parallel()
	const line = 64
	typ := reflect.TypeFor[segment.Buffer]()
	at := func(name string) (from, to uintptr) {
		f, ok := typ.FieldByName(name)
		if !ok {
			t.Fatalf("a buffer has no field %q", name)
		}
		return f.Offset, f.Offset + f.Type.Size()
	}
	_, read := at("r")
	taken, takenEnd := at("taken")
	one, _ := at("one")
	if taken-read < line || one-takenEnd < line || typ.Size()-one < 2*line {
		t.Errorf("read up to %d, taken at %d, the lane at %d of %d bytes: want %d or more between each", read, taken, one, typ.Size(), line)
	}
	for _, name := range []string{"zero", "add", "many", "bits"} {
		if _, to := at(name); to > read {
			t.Errorf("%s, which every call reads, ends at %d, want it before %d", name, to, read)
		}
	}
	lane := reflect.TypeFor[segment.Lane]()
	for f := range lane.Fields() {
		if f.Type.Kind() == reflect.Pointer {
			t.Errorf("%s is a pointer: an array of lanes with pointers would not begin at a line", f.Name)
		}
	}
}

// TestLaneWaits: the figures count the calls that had to wait for a range.
func TestLaneWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := generator(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Second })
		before := stats(t, g, "a").Waits
		for range 3 { // 19 ids are left, and each call takes 30
			if _, err := g.Fill(t.Context(), "a", make([]int64, 30)); err != nil {
				t.Fatal(err)
			}
		}
		s := stats(t, g, "a")
		if ranges := (s.Current.From - 20 + 10) / 10; s.Waits-before != ranges || s.Waiting != 0 {
			t.Errorf("%d calls waited, %d wait still, want %d and 0", s.Waits-before, s.Waiting, ranges)
		}
	})
}

// TestLaneLast: after a permanent failure the source is not asked again, whatever is left and whoever comes past the mark.
func TestLaneLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := generator(t, sourceFunc(func(context.Context, string, int64) (segment.Range, error) {
			if calls++; calls > 1 {
				return segment.Range{}, fmt.Errorf("%w: for good", segment.ErrExhausted)
			}
			return segment.Range{From: 0, To: 1000}, nil
		}), nil)
		next(t, g, "a", 1000)
		synctest.Wait()
		for range 3 {
			if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Next = %d, %v, want ErrExhausted", id, err)
			}
		}
		synctest.Wait()
		if calls != 2 {
			t.Errorf("the source was asked %d times, want twice", calls)
		}
		if stats(t, g, "a").Loading {
			t.Error("a fetch is under way after the last one")
		}
	})
}

// TestLaneAway: however often a source that is away is asked, the step stays what it was. It is doubled by the first fetch
// after a range that did not last, and by no other.
func TestLaneAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g, err := segment.New(t.Context(), f, &segment.Options{Refresh: -1})
		if err != nil {
			t.Fatal(err)
		}
		f.set(func(f *fake) { f.away = true })
		var wg sync.WaitGroup
		wg.Go(func() { next(t, g, "a", 2100) })
		time.Sleep(10 * time.Second)
		f.set(func(f *fake) { f.away = false })
		wg.Wait() // past the mark of the second range, which has 2000 ids
		synctest.Wait()
		f.set(func(f *fake) { f.away = true })
		next(t, g, "a", int(stats(t, g, "a").Left))
		time.Sleep(10 * time.Second)
		if !stats(t, g, "a").Loading {
			t.Error("no fetch is under way while the source is away")
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if stats(t, g, "a").Loading {
			t.Error("a fetch is under way after Close")
		}
		steps := slices.Compact(slices.Clone(f.asked))
		if !slices.Equal(steps, []int64{0, 2000, 4000, 8000}) || len(f.asked) < 12 {
			t.Errorf("the source was asked for %v in %d fetches, want the source's own, 2000, 4000, 8000", steps, len(f.asked))
		}
	})
}
