package segment_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// stats returns the tag's figures.
func stats(tb testing.TB, g *segment.Generator, tag string) segment.TagStats {
	tb.Helper()
	for _, s := range g.Stats().Tags {
		if s.Tag == tag {
			return s
		}
	}
	tb.Fatalf("no tag %q in %v", tag, g.Stats())
	return segment.TagStats{}
}

// TestNext: a tag hands out the ids of its ranges in order, and tags are independent of each other.
func TestNext(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.tags["b"] = &segment.Row{Tag: "b", Next: 500, Step: 3}
	g := segtest.New(t, f, &segment.Options{MaxStep: 1})
	for i, id := range segtest.Next(t, g, "a", 95) {
		if id != int64(i) {
			t.Fatalf("id %d of a is %d, want %d", i, id, i)
		}
	}
	for i, id := range segtest.Next(t, g, "b", 20) {
		if id != int64(500+i) {
			t.Fatalf("id %d of b is %d, want %d", i, id, 500+i)
		}
	}
	if ids := segtest.Next(t, g, "a", 1); ids[0] != 95 {
		t.Errorf("the next id of a is %d, want 95", ids[0])
	}
	tag, err := g.Tag(t.Context(), "a")
	if err != nil || tag.Name() != "a" {
		t.Fatalf("Tag = %v, %v", tag, err)
	}
	if id, err := tag.Next(t.Context()); id != 96 || err != nil {
		t.Errorf("the handle's next id is %d, %v, want 96", id, err)
	}
}

// TestExactlyOnce: goroutines take ids one by one and several at a time, with ranges of one id and
// more. Each id is handed out once, and no id of a used-up range is missing. The ids of a call rise,
// and lie above every id that was returned before the call began.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{0, 100 * time.Microsecond} { // without latency callers rarely wait
		for _, step := range []int64{1, 2, 3, 7, 100, 1500, 20_000} {
			t.Run(fmt.Sprint("latency ", latency, " step ", step), func(t *testing.T) {
				t.Parallel()
				const goroutines = 16
				each := max(1500, int(step)*2)
				if latency > 0 {
					each = min(each, int(step)*50)
				}
				f := newFake(step)
				f.latency = latency
				g := segtest.New(t, f, &segment.Options{MaxStep: 1})
				got := make([][]int64, goroutines)
				var highest atomic.Int64
				highest.Store(-1)
				var wg sync.WaitGroup
				for i := range got {
					wg.Go(func() {
						for len(got[i]) < each {
							ids := make([]int64, 1+len(got[i])%5)
							low := highest.Load()
							var err error
							if i%2 == 0 {
								_, err = g.Fill(t.Context(), "a", ids)
							} else {
								ids = ids[:1]
								ids[0], err = g.Next(t.Context(), "a")
							}
							if err != nil {
								t.Errorf("goroutine %d: %v", i, err)
								return
							}
							got[i] = append(got[i], ids...)
							if ids[0] <= low || !slices.IsSorted(ids) {
								t.Errorf("goroutine %d got %v after %d was returned", i, ids, low)
								return
							}
							for last := ids[len(ids)-1]; low < last && !highest.CompareAndSwap(low, last); {
								low = highest.Load()
							}
						}
					})
				}
				wg.Wait()
				var all []int64
				for _, ids := range got {
					all = append(all, ids...)
				}
				segtest.Distinct(t, all)
				s := stats(t, g, "a")
				if n := int64(len(all)); s.Current.From+s.Used != n {
					t.Errorf("%d ids were handed out, but Stats has %d of %v and all before", n, s.Used, s.Current)
				}
				for i, id := range all[:s.Current.From] {
					if id != int64(i) {
						t.Fatalf("id %d of the ranges before %v is missing", i, s.Current)
					}
				}
				if n := len(all); all[n-1] != int64(n-1) {
					t.Errorf("%d ids end at %d, want %d", n, all[n-1], n-1)
				}
			})
		}
	}
}

// TestStride: Next and Fill hand out the ids of a range with a stride, such as a ticket server's.
func TestStride(t *testing.T) {
	t.Parallel()
	at := int64(1)
	g := segtest.New(t, segtest.Func(func(_ context.Context, _ string, step int64) (segment.Range, error) {
		r := segment.Range{From: at, To: at + 2*3 + 1, Stride: 3} // three ids
		at += 9
		return r, nil
	}), nil)
	ids := segtest.Next(t, g, "a", 4)
	rest := make([]int64, 4)
	if n, err := g.Fill(t.Context(), "a", rest); n != 4 || err != nil {
		t.Fatalf("Fill = %d, %v, want 4", n, err)
	}
	if ids = append(ids, rest...); !slices.Equal(ids, []int64{1, 4, 7, 10, 13, 16, 19, 22}) {
		t.Errorf("the ids are %v, want 1, 4, 7 and so on", ids)
	}
}

// TestPrefetch: the next range is fetched when the share of Prefetch is used, and not at 7/8 of it.
// It comes into use when the current one is used up.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		percent int
		used    int64 // of a range of 1000 when the next fetch starts
	}{{0, 100}, {1, 10}, {50, 500}, {99, 990}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(1000)
			g := segtest.New(t, f, &segment.Options{Prefetch: tt.percent, MaxStep: 1, Refresh: -1})
			segtest.Next(t, g, "a", 1000) // the first two ranges are fetched at the start
			synctest.Wait()
			for _, used := range []int64{0, tt.used * 7 / 8} {
				segtest.Next(t, g, "a", int(used-stats(t, g, "a").Used%1000))
				synctest.Wait()
				if s := stats(t, g, "a"); f.calls != 2 || s.Ready.Len() != 0 && used > 0 {
					t.Errorf("%d percent: %d fetches with %d ids of the second range used, want 2",
						tt.percent, f.calls, used)
				}
			}
			segtest.Next(t, g, "a", int(tt.used-stats(t, g, "a").Used))
			synctest.Wait()
			if s := stats(t, g, "a"); f.calls != 3 || segtest.Bounds(s.Ready) != "[2000, 3000)" ||
				segtest.Bounds(s.Current) != "[1000, 2000)" || s.Left != 2000-tt.used {
				t.Errorf("%d percent: %d fetches with %d ids of the second range used, %+v, want 3",
					tt.percent, f.calls, tt.used, s)
			}
			segtest.Next(t, g, "a", 1000-int(tt.used)+1)
			synctest.Wait()
			if s := stats(t, g, "a"); segtest.Bounds(s.Current) != "[2000, 3000)" || s.Used != 1 {
				t.Errorf("%d percent: after the second range Stats has %+v, want [2000, 3000) with one id used",
					tt.percent, s)
			}
		})
	}
}

// TestStep: the step follows the rule of 15 and 30 minutes and reaches its maximum. The original
// doubles 1000 up to 512,000 and stops, because the next double is above its maximum of 1,000,000.
func TestStep(t *testing.T) {
	t.Parallel()
	original := int64(1000)
	for range 20 {
		if original*2 <= 1_000_000 {
			original *= 2
		}
	}
	if original != 512_000 {
		t.Errorf("the original's step ends at %d, want 512000", original)
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g := segtest.New(t, f, nil)
		last := func() int64 { return f.asked[len(f.asked)-1] }
		ids := make([]int64, 1<<20)
		use := func() { // takes all ids that are left, so that a fetch follows
			synctest.Wait()
			for left := stats(t, g, "a").Left; left > 0; left -= int64(min(int(left), len(ids))) {
				if _, err := g.Fill(t.Context(), "a", ids[:min(int(left), len(ids))]); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		segtest.Next(t, g, "a", 1)
		for range 14 {
			use()
		}
		if last() != 1_000_000 {
			t.Errorf("the step of a busy tag ends at %d, want 1000000", last())
		}
		for _, tt := range []struct {
			lasted time.Duration
			want   int64
		}{
			{15 * time.Minute, 1_000_000}, {30*time.Minute - time.Second, 1_000_000},
			{30 * time.Minute, 500_000}, {24 * time.Hour, 250_000}, {20 * time.Minute, 250_000},
			{15 * time.Minute, 250_000}, {15*time.Minute - time.Second, 500_000},
			{time.Hour, 250_000}, {time.Hour, 125_000}, {time.Hour, 62_500}, {time.Hour, 31_250}, {time.Hour, 15_625},
			{time.Hour, 7812}, {time.Hour, 3906}, {time.Hour, 1953}, {time.Hour, 1000}, {time.Hour, 1000},
		} {
			f.set(func(f *fake) { f.asked = f.asked[:0] })
			time.Sleep(tt.lasted)
			use()
			if f.asked[0] != tt.want {
				t.Errorf("after a range that lasted %v the step is %d, want %d", tt.lasted, f.asked[0], tt.want)
			}
		}
	})
}

// TestStepRaised: a step that is raised in the source takes effect with the next fetch after a
// refresh. The original raises only its minimum, and keeps asking for the old step until doubling
// gets there.
func TestStepRaised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g := segtest.New(t, f, nil)
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.tags["a"].Step = 50_000 })
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if s := stats(t, g, "a"); s.BaseStep != 50_000 || s.Step != 50_000 {
			t.Errorf("a minute after the step was raised to 50000 it is %d, base %d", s.Step, s.BaseStep)
		}
		time.Sleep(20 * time.Minute)
		segtest.Next(t, g, "a", int(stats(t, g, "a").Left)+1)
		synctest.Wait()
		if got := f.asked[len(f.asked)-1]; got < 50_000 {
			t.Errorf("the step asked for is %d, want 50000 or more", got)
		}
		// A stored step above the default maximum is kept, and doubled once.
		f.set(func(f *fake) { f.tags["a"].Step = 6_000_000 })
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		segtest.Next(t, g, "a", int(stats(t, g, "a").Left)+1)
		synctest.Wait()
		if got := f.asked[len(f.asked)-1]; got != 12_000_000 {
			t.Errorf("the step asked for is %d, want 12000000", got)
		}
	})
}

// TestTagBeginsAnother: a tag that is a prefix of another tag, even in the same memory, is a
// different tag.
func TestTagBeginsAnother(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.tags["ant"] = &segment.Row{Tag: "ant", Next: 1000, Step: 10}
	g := segtest.New(t, f, &segment.Options{MaxStep: 1})
	name := "ant"
	for i, id := range []int64{1000, 0, 1001, 1} {
		tag := name[:3-i%2*2]
		if got := segtest.Next(t, g, tag, 1)[0]; got != id {
			t.Errorf("the id of %q is %d, want %d", tag, got, id)
		}
	}
}
