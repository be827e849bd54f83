package uid_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/ringbuffer"
	"github.com/uidring/uidring/uid"
)

// TestBadOptions checks that every error names the field, the value and the bound.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    uid.Options
		want []string
	}{
		{uid.Options{BoostPower: -2}, []string{"BoostPower", "-2", "30"}},
		{uid.Options{BoostPower: 31}, []string{"BoostPower", "31", "30"}},
		{uid.Options{BoostPower: 30, RunLength: 1}, []string{"BoostPower", "30", "16777216"}},
		{uid.Options{PaddingFactor: 101}, []string{"PaddingFactor", "101", "100"}},
		{uid.Options{PaddingFactor: -1}, []string{"PaddingFactor", "-1"}},
		{uid.Options{RunLength: 3}, []string{"RunLength", "3", "power of two"}},
		{uid.Options{RunLength: 16384}, []string{"RunLength", "16384", "8192"}},
		{uid.Options{RunLength: -8}, []string{"RunLength", "-8"}},
		{uid.Options{Lanes: 3}, []string{"Lanes", "3", "power of two"}},
		{uid.Options{Lanes: 2048}, []string{"Lanes", "2048", "1024"}},
		{uid.Options{Lanes: -2}, []string{"Lanes", "-2"}},
		{uid.Options{SeqStart: -1}, []string{"SeqStart", "-1", "8192"}},
		{uid.Options{SeqStart: 8193}, []string{"SeqStart", "8193", "8192"}},
		{uid.Options{MaxLag: time.Second}, []string{"MaxLag", "1s", "1.004s"}},
		{uid.Options{MaxLag: -time.Second}, []string{"MaxLag", "-1s"}},
		{uid.Options{MaxLead: -time.Second}, []string{"MaxLead", "-1s", "0"}},
		{uid.Options{ScheduleInterval: time.Microsecond}, []string{"ScheduleInterval", "1µs", "1ms"}},
		{uid.Options{ScheduleInterval: time.Second}, []string{"ScheduleInterval", "1s", "500ms"}},
		{uid.Options{MaxJump: time.Millisecond}, []string{"MaxJump", "1ms", "1s"}},
		{uid.Options{PutPolicy: 9}, []string{"PutPolicy", "9"}},
		{uid.Options{TakePolicy: 9}, []string{"TakePolicy", "9"}},
		{uid.Options{Rollback: uid.WaitUpTo(0)}, []string{"Rollback", "0s"}},
		{uid.Options{Rollback: uid.HoldUpTo(-time.Second)}, []string{"Rollback", "-1s"}},
		{uid.Options{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 20, SeqBits: 10}}, []string{"Layout", "70", "63"}},
		{uid.Options{Layout: bitsalloc.Layout{Epoch: time.Now().Add(time.Hour)}}, []string{"Layout.Epoch"}},
	} {
		for name, make := range kinds {
			g, err := make(t.Context(), assigner.Static(1), &tc.o, uid.NewTestClock())
			if err == nil {
				g.Close()
				t.Errorf("%s: %+v was accepted", name, tc.o)
				continue
			}
			if !errors.Is(err, uid.ErrOptions) {
				t.Errorf("%s: %v does not wrap ErrOptions", name, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q does not name %q", name, err, w)
				}
			}
		}
	}
	_, err := uid.NewCached(t.Context(), assigner.Static(1), &uid.Options{Layout: bitsalloc.Layout{TimeBits: 63, WorkerBits: 1}})
	if !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("%v does not wrap ErrLayout", err)
	}
}

// TestOddLayouts runs layouts at the edges of what is allowed.
func TestOddLayouts(t *testing.T) {
	t.Parallel()
	year := time.Now().UTC().Year()
	epoch := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, l := range []bitsalloc.Layout{
		{TimeBits: 62, SeqBits: 1, Epoch: epoch},
		{TimeBits: 31, WorkerBits: 31, SeqBits: 1, Epoch: epoch},
		{TimeBits: 40, WorkerBits: 1, SeqBits: 22, Epoch: epoch},
		{TimeBits: 26, WorkerBits: 1, SeqBits: 36, Epoch: epoch},
		{TimeBits: 10, WorkerBits: 1, SeqBits: 52, Tick: 24 * time.Hour, Epoch: epoch},
		{TimeBits: 60, WorkerBits: 1, SeqBits: 2, Tick: time.Nanosecond, Epoch: epoch},
		{TimeBits: 32, WorkerBits: 8, SeqBits: 13, Epoch: epoch}, // 53 bits
		{TimeBits: 32, WorkerBits: 1, SeqBits: 10, GeneBits: 20, Epoch: epoch},
		{TimeBits: 28, WorkerBits: 1, SeqBits: 1, GeneBits: 33, Epoch: epoch},
		{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: epoch},
	} {
		for _, lanes := range []int{1, 4} {
			t.Run(fmt.Sprintf("%v/lanes=%d", l, lanes), func(t *testing.T) {
				t.Parallel()
				c, err := uid.NewCached(t.Context(), assigner.Static(1), &uid.Options{Layout: l, Lanes: lanes})
				if l.WorkerBits == 0 {
					c, err = uid.NewCached(t.Context(), assigner.Static(0), &uid.Options{Layout: l, Lanes: lanes})
				}
				if bits.UintSize == 32 && l.SeqBits > 50 {
					// No int holds a run that is long enough.
					if !errors.Is(err, uid.ErrOptions) {
						t.Errorf("on 32 bits: %v, want ErrOptions", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				seen := map[uid.ID]bool{}
				ids := make([]uid.ID, 1000)
				for i := range 20 {
					var n int
					if i%2 == 0 {
						ids[0], err = c.Next(t.Context())
						n = 1
					} else {
						n, err = c.Fill(t.Context(), ids)
					}
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range ids[:n] {
						if id <= 0 || seen[id] {
							t.Fatalf("id %d: not positive, or seen before", id)
						}
						seen[id] = true
						p := c.Parse(id)
						if lag := time.Since(p.Time); lag > time.Second+2*max(time.Second, c.Stats().Layout.Tick) {
							t.Fatalf("%+v is stamped %v behind", p, lag)
						}
						if l.WorkerBits > 0 && p.Worker != 1 {
							t.Fatalf("%+v is of another worker", p)
						}
					}
				}
			})
		}
	}
}

// TestGene checks that genes land where they belong, that ids of all genes are distinct, and that keyless ids spread.
func TestGene(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 32, WorkerBits: 14, SeqBits: 13, GeneBits: 4}
	for name, make := range kinds {
		for _, lanes := range []int{1, 4} {
			g, err := make(t.Context(), assigner.Static(1), &uid.Options{Layout: l, Lanes: lanes}, uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			seen, keyless := map[uid.ID]bool{}, map[int64]int{}
			add := func(id uid.ID, err error, key int64) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				// Without its gene, too, an id is one of its kind: two keys never share a (tick, seq).
				if base := id &^ 15; seen[base] {
					t.Fatalf("%s: (tick, seq) of %d came twice", name, id)
				} else {
					seen[base] = true
				}
				if key >= -100 && int64(id)&15 != key&15 {
					t.Fatalf("%s: id %d has gene %d, want %d", name, id, int64(id)&15, key&15)
				}
			}
			for key := int64(-50); key < 50; key++ {
				id, err := g.NextGene(t.Context(), key)
				add(id, err, key)
				id, err = g.Next(t.Context())
				add(id, err, -1000)
				keyless[g.Parse(id).Gene]++
			}
			if len(keyless) < 8 {
				t.Errorf("%s: keyless ids have the genes %v, want them spread", name, keyless)
			}
			ids := [300]uid.ID{}
			filler := g.(interface {
				FillGene(context.Context, int64, []uid.ID) (int, error)
			})
			if n, err := filler.FillGene(t.Context(), -3, ids[:]); n != len(ids) || err != nil {
				t.Fatalf("FillGene() = %d, %v", n, err)
			}
			for _, id := range ids {
				add(id, nil, -3)
			}
		}
		g, err := make(t.Context(), assigner.Static(1), nil, uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if _, err := g.NextGene(t.Context(), 1); !errors.Is(err, uid.ErrNoGene) {
			t.Errorf("%s: NextGene without GeneBits = %v, want ErrNoGene", name, err)
		}
	}
}

// TestTakePolicies empties rings that the padder may not fill.
func TestTakePolicies(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	calls := 0
	for _, tc := range []struct {
		name string
		o    uid.Options
		want error
	}{
		{"reject", uid.Options{TakePolicy: uid.Reject}, uid.ErrLead},
		{"func", uid.Options{TakeFunc: func(_ context.Context, reason error) error {
			if !errors.Is(reason, uid.ErrLead) && !errors.Is(reason, uid.ErrEmpty) {
				return fmt.Errorf("reason %w", reason)
			}
			if calls++; calls < 3 {
				return nil
			}
			return stop
		}}, stop},
	} {
		synctest.Test(t, func(t *testing.T) {
			tc.o.MaxLead = time.Nanosecond
			c := cachedAt(t, tc.o, uid.NewTestClock())
			defer c.Close()
			for {
				_, err := c.Next(t.Context())
				if errors.Is(err, uid.ErrEmpty) {
					synctest.Wait()
					continue
				}
				if err != nil {
					if !errors.Is(err, tc.want) {
						t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
					}
					return
				}
			}
		})
	}
}

// TestTakeFuncPanics lets a user's function panic in the middle: the generator is whole afterwards.
func TestTakeFuncPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := true
		c := cachedAt(t, uid.Options{MaxLead: time.Nanosecond, TakeFunc: func(context.Context, error) error {
			if boom {
				panic("boom")
			}
			time.Sleep(time.Second)
			return nil
		}}, uid.NewTestClock())
		defer c.Close()
		seen := map[uid.ID]bool{}
		panics := 0
		for len(seen) < 3*8192 {
			func() {
				defer func() {
					if recover() != nil {
						panics++
						boom = false
					}
				}()
				id := mustNext(t, c)
				if seen[id] {
					t.Fatalf("the id %d came twice", id)
				}
				seen[id] = true
			}()
		}
		if panics != 1 {
			t.Errorf("%d panics, want 1", panics)
		}
	})
}

// TestPutPolicies counts what a full ring is answered, and sees that nothing is lost by it.
func TestPutPolicies(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	for _, tc := range []struct {
		o       uid.Options
		rejects bool
	}{
		{uid.Options{}, false},
		{uid.Options{PutPolicy: uid.Fail}, true},
		{uid.Options{PutFunc: func(uid.ID) error { told.Add(1); return nil }}, false},
		{uid.Options{PutFunc: func(uid.ID) error { return ringbuffer.ErrFull }}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, tc.o, uid.NewTestClock())
			defer c.Close()
			ids := make([]uid.ID, 100_000)
			if _, err := c.Fill(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if got := c.Stats().RejectsPut; (got > 0) != tc.rejects {
				t.Errorf("%+v: RejectsPut = %d, want any: %v", tc.o, got, tc.rejects)
			}
		})
	}
	if told.Load() == 0 {
		t.Error("PutFunc was never called")
	}
}

// TestCloseDuringTraffic closes generators under load: every caller gets ErrClosed, no id comes twice, and no goroutine stays.
func TestCloseDuringTraffic(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []*uid.Options{{}, {Lanes: 8}, {RunLength: 1}, {TakePolicy: uid.Wait, BoostPower: uid.NoBoost}} {
			synctest.Test(t, func(t *testing.T) { // a bubble fails if a goroutine is left
				o := *o
				o.Layout = bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 10, Tick: time.Millisecond, Epoch: bubbleEpoch}
				g, err := make(t.Context(), assigner.Static(1), &o, uid.NewTestClock())
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				got := [4][]uid.ID{}
				for k := range got {
					wg.Go(func() {
						for len(got[k]) < 300_000/scale {
							id, err := g.Next(t.Context())
							if errors.Is(err, uid.ErrClosed) {
								return
							}
							if err != nil {
								t.Error(err)
								return
							}
							got[k] = append(got[k], id)
							if len(got[k])%1000 == 0 {
								runtime.Gosched()
							}
						}
					})
				}
				time.Sleep(2 * time.Millisecond)
				wg.Go(func() { g.Close() })
				if err := g.Close(); err != nil {
					t.Errorf("%s: Close() = %v", name, err)
				}
				wg.Wait()
				seen := map[uid.ID]bool{}
				for _, ids := range got {
					for _, id := range ids {
						if seen[id] {
							t.Fatalf("%s: the id %d came twice", name, id)
						}
						seen[id] = true
					}
				}
			})
		}
	}
}

// TestCallsAfterClose checks every method.
func TestCallsAfterClose(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 32, WorkerBits: 14, SeqBits: 13, GeneBits: 4}
	for name, make := range kinds {
		for _, o := range []*uid.Options{{Layout: l}, {Layout: l, Lanes: 4}, {Layout: l, RunLength: 1}} {
			g, err := make(t.Context(), assigner.Static(1), o, uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			id := mustNext(t, g)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
					t.Errorf("%s: Next() = %v, want ErrClosed", name, err)
				}
			}
			if n, err := g.Fill(t.Context(), []uid.ID{1, 2}); n != 0 || !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: Fill() = %d, %v, want ErrClosed", name, n, err)
			}
			if _, err := g.NextGene(t.Context(), 1); !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: NextGene() = %v, want ErrClosed", name, err)
			}
			if err := g.Stats().Err; !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: Stats().Err = %v, want ErrClosed", name, err)
			}
			if g.Parse(id).ID != id {
				t.Errorf("%s: Parse fails after Close", name)
			}
			if err := g.Close(); err != nil {
				t.Errorf("%s: the second Close() = %v", name, err)
			}
		}
	}
}

// TestCancelledContext: a ctx that is over stops construction and waiting, and nothing else.
func TestCancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, make := range kinds {
		if _, err := make(ctx, assigner.Static(1), nil, uid.NewTestClock()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
		g, err := make(t.Context(), assigner.Static(1), nil, uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if _, err := g.Next(ctx); err != nil {
			t.Errorf("%s: Next does not have to wait, but gave %v", name, err)
		}
	}
}

// TestStats looks at the figures of a generator whose every step is known.
func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Options{SeqStart: 1, RunLength: 256}, uid.NewTestClock())
		defer c.Close()
		s := c.Stats()
		if s.Worker != 1 || s.Cap != 65536 || s.Len != 65536 || s.Tail != 255 || s.Cursor != -1 || s.RunLength != 256 || s.Lanes != 1 {
			t.Errorf("a new generator has %+v", s)
		}
		if s.Lead != 0 || time.Until(s.Position) != 8*time.Second || s.Lag != 0 || s.Err != nil || s.RunsTaken != 0 || s.PadderRuns != 0 {
			t.Errorf("a new generator has %+v", s)
		}
		if want := time.Date(2034, 7, 3, 21, 24, 16, 0, time.UTC).Add(bubbleEpoch.Sub(bitsalloc.DefaultEpoch())); s.Expires.Sub(want).Abs() > 48*time.Hour {
			t.Errorf("Expires = %v, want about %v", s.Expires, want)
		}
		for range 257 {
			mustNext(t, c)
		}
		if s := c.Stats(); s.RunsTaken != 2 || s.Cursor != 1 || s.Len != 65536-512 {
			t.Errorf("after two runs: %+v", s)
		}
		time.Sleep(3 * time.Second)
		if s := c.Stats(); s.RunsStale == 0 || s.RunsTaken != 2 || s.Len != 65536 {
			t.Errorf("after three idle seconds: %+v", s)
		}
	})
}

// TestParse checks the original's text form of an id.
func TestParse(t *testing.T) {
	t.Parallel()
	a := allocator(t, bitsalloc.Layout{})
	id, err := a.Compose(86400, 7, 9)
	if err != nil {
		t.Fatal(err)
	}
	p := uid.ParseParts(a, uid.ID(id))
	want := uid.Parts{ID: uid.ID(id), Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Tick: 86400, Worker: 7, Seq: 9}
	if p != want {
		t.Errorf("ParseParts() = %+v, want %+v", p, want)
	}
	text := fmt.Sprintf(`{"UID":"%d","timestamp":"2026-01-02 08:00:00","workerId":"7","sequence":"9"}`, id)
	if got := p.BaiduJSON(time.FixedZone("CST", 8*3600)); got != text {
		t.Errorf("BaiduJSON() = %s, want %s", got, text)
	}
}

// TestReleaseCoversTraffic closes generators under load: what Close gives back begins behind every id that anyone got, also
// when a caller is composing ids itself at that moment.
func TestReleaseCoversTraffic(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []uid.Options{{}, {Lanes: 8}, {RunLength: 1}, {RunLength: 2, BoostPower: uid.NoBoost, Lanes: 4}, {RunLength: 1, BoostPower: uid.NoBoost}} {
			o.Layout = bitsalloc.Layout{TimeBits: 50, WorkerBits: 4, SeqBits: 3, Tick: time.Millisecond}
			for range 40 / scale {
				a := &scriptedAssigner{worker: 1, from: time.Now().Add(-time.Hour), until: time.Now().Add(1000 * time.Hour)}
				g, err := make(t.Context(), a, &o, uid.NewTestClock())
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				var newest [4]uid.ID
				for k := range newest {
					wg.Go(func() {
						for {
							id, err := g.Next(t.Context())
							if err != nil {
								return
							}
							newest[k] = max(newest[k], id)
						}
					})
				}
				time.Sleep(200 * time.Microsecond)
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				for _, id := range newest {
					if end := g.Parse(id).Time.Add(time.Millisecond); id != 0 && end.After(a.released[0]) {
						t.Fatalf("%s, %+v: an id's tick ends at %v, but the window was given back from %v on", name, o, end, a.released[0])
					}
				}
			}
		}
	}
}
