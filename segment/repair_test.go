package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestRepaired: after a lasting error every call fails at once. The tag and its handle work after the
// next refresh that finds the source repaired, whether the source lists its rows or not.
func TestRepaired(t *testing.T) {
	t.Parallel()
	for _, reason := range []error{segment.ErrExhausted, segment.ErrBadRange} {
		for _, lists := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(10)
				var src segment.Source = f
				if !lists {
					src = segtest.Func(f.Fetch)
				}
				g := segtest.New(t, src, &segment.Options{MaxStep: 1})
				tag, err := g.Tag(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				fail := func(err error) func(f *fake) {
					return func(f *fake) { f.fetchErr = err; f.calls = 0 }
				}
				f.set(fail(fmt.Errorf("%w: as told", reason)))
				segtest.Next(t, g, "a", 20)
				synctest.Wait()
				f.set(func(f *fake) { f.latency = 5 * time.Second }) // no call waits for the source
				for range 150 {
					begin := time.Now()
					if id, err := tag.Next(t.Context()); !errors.Is(err, reason) || time.Since(begin) > 0 {
						t.Fatalf("Next = %d, %v after %v, want %v at once", id, err, time.Since(begin), reason)
					}
					time.Sleep(time.Second)
				}
				if f.calls != 3 {
					t.Errorf("%d fetches in 150 s, want one and then one with each refresh", f.calls)
				}
				f.set(fail(nil))
				time.Sleep(time.Minute + 5*time.Second + time.Millisecond) // for the refresh, and the fetch
				if lists {
					time.Sleep(5 * time.Second) // for the list
				}
				if id, err := tag.Next(t.Context()); id != 20 || err != nil {
					t.Errorf("Next after the repair = %d, %v, want 20", id, err)
				}
				if s := stats(t, g, "a"); s.Err != nil {
					t.Errorf("Stats after the repair has the error %v", s.Err)
				}
			})
		}
	}
}

// TestRaised: a tag whose counter went back accepts ranges again after an operator has raised the
// counter. It does not when other processes have moved the counter past the highest id that this
// process knows, because their ids may be in use twice.
func TestRaised(t *testing.T) {
	t.Parallel()
	for _, lists := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(1000)
			var src segment.Source = f
			if !lists {
				src = segtest.Func(f.Fetch)
			}
			g := segtest.New(t, src, &segment.Options{MaxStep: 1, Refresh: -1})
			segtest.Next(t, g, "a", 1)
			synctest.Wait()
			f.set(func(f *fake) { f.tags["a"].Next = 500 }) // from 2000
			segtest.Next(t, g, "a", 1999)
			synctest.Wait()
			for _, tt := range []struct {
				at    int64
				works bool
			}{{500, false}, {2000, false}, {5000, false}, {1_001_999, false}, {1_002_000, true}} {
				f.set(func(f *fake) { f.tags["a"].Next = tt.at; f.calls = 0 })
				if err := g.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				id, err := g.Next(t.Context(), "a")
				if tt.works && (err != nil || id != tt.at) || !tt.works && !errors.Is(err, segment.ErrRangeWentBack) {
					t.Errorf("lists %v: Next with the counter at %d = %d, %v, want an id: %v",
						lists, tt.at, id, err, tt.works)
				}
				if lists && !tt.works && f.calls != 0 {
					t.Errorf("%d fetches moved a counter at %d that was not raised, want 0", f.calls, tt.at)
				}
			}
			segtest.Next(t, g, "a", 3500)
			synctest.Wait()
			f.set(func(f *fake) { f.tags["a"].Next = 500 })
			segtest.Next(t, g, "a", int(stats(t, g, "a").Left))
			synctest.Wait()
			if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrRangeWentBack) {
				t.Errorf("Next after the counter went back again = %d, %v, want ErrRangeWentBack", id, err)
			}
		})
	}
}

// TestRaisedToTheEnd: near 2^63, where the counter cannot be raised, the bound does not overflow.
func TestRaisedToTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.tags["a"].Next = math.MaxInt64 - 1000
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.tags["a"].Next = 0 })
		segtest.Next(t, g, "a", 19)
		for range 2 {
			if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrRangeWentBack) {
				t.Errorf("Next = %d, %v, want ErrRangeWentBack", id, err)
			}
			if err := g.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}

// TestExhaustedStep: a counter that has no room for the doubled step is asked for its own step before
// the tag is exhausted.
func TestExhaustedStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const from, limit = 1000, 1350
		f := newFake(100)
		f.tags["a"].Next = from
		g := segtest.New(t, segtest.Func(func(ctx context.Context, tag string, step int64) (segment.Range, error) {
			if max(step, 100) > limit-f.tags["a"].Next {
				return segment.Range{}, fmt.Errorf("%w: as told", segment.ErrExhausted)
			}
			return f.Fetch(ctx, tag, step)
		}), nil)
		ids := segtest.Next(t, g, "a", 300) // ranges of 100 and 200; then 400 do not fit, and neither do 100
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Next after %d ids up to %d = %d, %v, want ErrExhausted", len(ids), ids[len(ids)-1], id, err)
		}
	})
}

// TestRefreshStep: a refresh notices a row that was edited to a step below 1. Ids that are left are
// handed out, and then calls fail until a refresh finds the row repaired. No range is lost over that.
func TestRefreshStep(t *testing.T) {
	t.Parallel()
	for _, step := range []int64{0, -7} {
		for _, used := range []int{1, 20} { // with and without a next range left
			synctest.Test(t, func(t *testing.T) {
				f := newFake(10)
				g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
				segtest.Next(t, g, "a", 1)
				synctest.Wait()
				f.set(func(f *fake) { f.tags["a"].Step = step })
				if err := g.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				calls := f.calls
				want := fmt.Sprintf("the row's step is %d, want 1 or more", step)
				err := g.Stats().Tags[0].Err
				if !errors.Is(err, segment.ErrBadRange) || !strings.Contains(err.Error(), want) {
					t.Errorf("Stats().Tags[0].Err = %v, want ErrBadRange with %q", err, want)
				}
				last := int64(0)
				for range used - 1 {
					id, err := g.Next(t.Context(), "a")
					if err != nil || id != last+1 {
						t.Fatalf("Next = %d, %v after %d, want the ids that are left", id, err, last)
					}
					last = id
				}
				if used == 20 {
					if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrBadRange) {
						t.Errorf("Next = %d, %v, want ErrBadRange", id, err)
					}
				}
				synctest.Wait()
				if f.calls != calls {
					t.Errorf("the source was asked %d times after the row was bad, want never", f.calls-calls)
				}
				f.set(func(f *fake) { f.tags["a"].Step = 10 })
				if err := g.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for range 40 {
					id, err := g.Next(t.Context(), "a")
					if err != nil || id != last+1 {
						t.Fatalf("Next = %d, %v after %d, want no gap", id, err, last)
					}
					last = id
				}
				if s := g.Stats().Tags[0]; s.Err != nil {
					t.Errorf("Stats().Tags[0].Err = %v, want none", s.Err)
				}
			})
		}
	}
}
