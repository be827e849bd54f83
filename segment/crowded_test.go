package segment_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// TestCrowded: what a range of many lanes is followed by. Many lanes were needed if several of them were given several runs, and
// they pay while an id takes less than a microsecond.
func TestCrowded(t *testing.T) {
	t.Parallel()
	const n, run = 100_000, 97
	for _, tt := range []struct {
		name  string
		lasts time.Duration
		takes [][2]int // lane, and how many ids it hands out
		want  bool
	}{
		{"nothing", 0, nil, false},
		{"one lane", 0, [][2]int{{3, 5 * run}}, false},
		{"two lanes", 0, [][2]int{{3, run + 1}, {4, run + 1}}, true},
		{"two lanes, one run in the second", 0, [][2]int{{3, 5 * run}, {4, run}}, false},
		{"one run in each of many", 0, [][2]int{{3, run}, {4, run}, {5, 1}, {6, 1}}, false},
		{"almost too slow", n*time.Microsecond - 1, [][2]int{{3, run + 1}, {4, run + 1}}, true},
		{"too slow", n * time.Microsecond, [][2]int{{3, run + 1}, {4, run + 1}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := segment.NewBuffer(segment.Range{From: 0, To: n * 7, Stride: 7}, 10, true)
			if _, got := b.Shape(); got != run {
				t.Fatalf("runs of %d, want %d", got, run)
			}
			time.Sleep(tt.lasts)
			for _, k := range tt.takes {
				for range k[1] {
					b.Next(k[0])
				}
			}
			if got := b.Crowded(); got != tt.want {
				t.Errorf("%s: crowded %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// TestCrowdedAlone: one goroutine never meets another, however fast it is, and however deep in its stack it is: the call that
// begins a range is deeper than the others, and may come to another lane.
func TestCrowdedAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes
		const step = 8192
		for depth := range 64 {
			g := generator(t, newFake(step), &segment.Options{MaxStep: 1, Refresh: -1})
			tag, err := g.Tag(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for range 5 { // of 17 runs
				next(t, g, "a", int(tag.InRun())+1)
				tag.Meet()
			}
			next(t, g, "a", step-int(stats(t, g, "a").Used)+1)
			if !tag.Wide() {
				t.Fatal("one lane after a range whose callers met")
			}
			synctest.Wait()
			below(depth, func() {
				for n := 0; n < 2*step || tag.Wide() && n < 8*step; n++ { // the stack moves now and then, and the caller to another lane
					if _, err := tag.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
					if n%step == step/2 {
						synctest.Wait() // the next range has arrived
					}
				}
			})
			if tag.Wide() {
				t.Errorf("at depth %d: many lanes after a range that one caller used", depth)
			}
		}
	})
}

// below calls f some frames down the stack.
//
//go:noinline
func below(depth int, f func()) byte {
	var frame [32]byte
	if depth == 0 {
		f()
	} else {
		frame[depth%32] = below(depth-1, f)
	}
	return frame[0]
}
