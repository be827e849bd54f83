package uid_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestFirstTick runs generators whose layout begins above older ids: times, windows and the bound
// on the lead are those of the clock.
func TestFirstTick(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			const old = 1 << 57
			l, err := bitsalloc.Layout{TimeBits: 36, WorkerBits: 10, SeqBits: 13}.Above(old,
				time.Now().Add(-time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			a := &claimtest.Memory{}
			g := uid.Open(t, start, a.Range(5, 5), uid.Both{Layout: l, MaxLead: 3 * time.Second,
				TakePolicy: uid.TakeReject}, uid.NewTestClock())
			last := uid.ID(old)
			for range 2000 {
				id, err := g.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				p := g.Parse(id)
				if off := time.Until(p.Time); id <= last || off < -2*time.Second ||
					off > 4*time.Second || p.Worker != 5 {
					t.Fatalf("%s: %+v came after %d, %v off", kind, p, last, off)
				}
				last = id
				time.Sleep(700 * time.Millisecond)
			}
			if n := len(extensions(a)); n < 3 {
				t.Errorf("%s: extended %d times in 23 minutes", kind, n)
			}
			err = g.Close()
			if used := a.Calls(claimtest.OpRelease)[0].Asked; err != nil || time.Until(used).Abs() > 5*time.Second {
				t.Errorf("%s: released from %v on, %v", kind, used, err)
			}
		})
	}
}

// erasFrom returns options with four eras that follow one another every three seconds, with other
// widths and ticks, at instants that are on no tick's border. The first has 53 bits.
func erasFrom(now time.Time, gene int) uid.Both {
	at := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	return uid.Both{
		Layout: bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 13 - gene, GeneBits: gene,
			Epoch: now.Add(-time.Hour)},
		Eras: []bitsalloc.Era{
			{From: at(3.3), Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 12, SeqBits: 15 - gene, GeneBits: gene}},
			{From: at(6.7), Layout: bitsalloc.Layout{TimeBits: 45, WorkerBits: 10,
				SeqBits: 8 - gene, GeneBits: gene, Tick: time.Millisecond}},
			{From: at(9.1), Layout: bitsalloc.Layout{TimeBits: 37, WorkerBits: 14,
				SeqBits: 12 - gene, GeneBits: gene, Tick: 250 * time.Millisecond}},
		},
	}
}

// TestErasCross takes ids through the changes of era with generators whose clocks differ by
// seconds, quietly, steadily and in bursts that borrow over several changes. No two ids are equal,
// each generator's rise, an id's time is honest, and every id lies in the era of its time.
func TestErasCross(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		for _, gene := range []int{0, 3} {
			for name, rate := range map[string]int{"quiet": 1, "steady": 700, "burst": 20_000} {
				if rate > 1000 && (kind == "default" || gene == 0 && scale > 1) {
					continue // never ahead of the clock; millions of ids, once are enough
				}
				t.Run(kind+"/"+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						seen := map[uid.ID]int{}
						var gens []uid.Generator
						var clocks []*uid.TestClock
						for worker := range int64(4) {
							clock := uid.NewTestClock()
							clock.Step(time.Duration(worker-1) * 1700 * time.Millisecond)
							g := uid.Open(t, start, claimtest.Static(worker*341), erasFrom(time.Now(), gene), clock)
							gens, clocks = append(gens, g), append(clocks, clock)
						}
						last := make([]uid.ID, len(gens))
						o := erasFrom(time.Now(), gene)
						all, err := bitsalloc.NewEras(o.Layout, o.Eras...)
						if err != nil {
							t.Fatal(err)
						}
						eras := map[*bitsalloc.Allocator]bool{}
						for range 140 {
							for i, g := range gens {
								ids := make([]uid.ID, max(1, rate/10))
								n, err := g.Fill(t.Context(), ids)
								if err != nil {
									t.Fatal(err)
								}
								for _, id := range ids[:n] {
									p := g.Parse(id)
									if id <= last[i] || p.Worker != int64(i)*341 {
										t.Fatalf("%+v of generator %d came after %d", p, i, last[i])
									}
									if other, twice := seen[id]; twice {
										t.Fatalf("%+v was handed out by generators %d and %d", p, other, i)
									}
									if off := p.Time.Sub(clocks[i].Now()); off < -2*time.Second ||
										rate < 1000 && off > 12*time.Second {
										t.Fatalf("%+v is %v off", p, off)
									}
									seen[id], last[i] = i, id
									eras[all.Of(int64(id))] = true
								}
							}
							time.Sleep(100 * time.Millisecond)
						}
						if len(eras) != 4 {
							t.Errorf("%d eras were passed through, want 4", len(eras))
						}
					})
				})
			}
		}
	}
}

// TestErasFirstAndLast looks at the ids right at a change: the last whole tick before it and the
// first one of the next era, with nothing in between.
func TestErasFirstAndLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := erasFrom(time.Now(), 0)
		o.SeqStart = 1
		eras, err := bitsalloc.NewEras(o.Layout, o.Eras...)
		if err != nil {
			t.Fatal(err)
		}
		c := cachedAt(t, o, uid.NewTestClock())
		all := eras.All()
		var first, last [4]uid.ID
		ids := make([]uid.ID, 1<<12)
		for last[3] == 0 {
			mustFill(t, c, ids)
			for _, id := range ids {
				for i, a := range all {
					if eras.Of(int64(id)) == a {
						if first[i] == 0 {
							first[i] = id
						}
						last[i] = id
					}
				}
			}
		}
		for i, a := range all[:3] {
			end := all[i+1].Layout().Epoch
			p := c.Parse(last[i])
			if p.Tick != a.TickAt(end)-1 || p.Seq != a.MaxSeq() {
				t.Errorf("era %d ends with %+v, want the last id of tick %d", i, p, a.TickAt(end)-1)
			}
			if p := c.Parse(first[i+1]); p.Tick != all[i+1].Layout().FirstTick || p.Seq != 0 || !p.Time.Equal(end) {
				t.Errorf("era %d begins with %+v, want the first id of tick %d", i+1, p, all[i+1].Layout().FirstTick)
			}
		}
	})
}

// TestErasWindow has a claim whose window ends right before, in and right after a change of era.
func TestErasWindow(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		for _, until := range []time.Duration{2 * time.Second, 3100 * time.Millisecond,
			3300 * time.Millisecond, 3500 * time.Millisecond, 4300 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				a := newPlace(until)
				a.Fail(errDown, claimtest.OpExtend)
				g := uid.Open(t, start, a, erasFrom(time.Now(), 0), uid.NewTestClock())
				end := time.Now().Add(until)
				var err error
				for ids := make([]uid.ID, 500); err == nil; time.Sleep(50 * time.Millisecond) {
					var n int
					n, err = g.Fill(t.Context(), ids)
					for _, id := range ids[:n] {
						p := g.Parse(id)
						tick := time.Second
						if p.Time.Before(end) && p.Time.Add(tick).After(end) || !p.Time.Before(end) {
							t.Fatalf("%s: %+v lies beyond the window's end %v", kind, p, end)
						}
					}
				}
				if !errors.Is(err, uid.ErrClaimExpired) {
					t.Errorf("%s: %v, want ErrClaimExpired", kind, err)
				}
			})
		}
	}
}

// TestErasOptions refuses what does not fit the eras.
func TestErasOptions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, change := range map[string]func(*uid.Both){
		"RunLength is 512, want a power of two in 1..256": func(o *uid.Both) { o.RunLength = 512 },
		"era 2":       func(o *uid.Both) { o.Eras[1].From = o.Eras[0].From },
		"MaxLag is":   func(o *uid.Both) { o.MaxLag = 900 * time.Millisecond },
		"SeqStart is": func(o *uid.Both) { o.SeqStart = 1<<15 + 1 },
	} {
		o := erasFrom(now, 0)
		change(&o)
		if _, err := uid.NewCached(t.Context(), claimtest.Static(1),
			o.Cached()); !errors.Is(err, uid.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ErrOptions with %q", err, want)
		}
	}
	o := erasFrom(now, 0)
	if _, err := uid.NewCached(t.Context(), claimtest.Static(1<<10),
		o.Cached()); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("a worker id that does not fit the narrowest era: %v", err)
	}
}

// TestErasUnknown adds an era to an authority on which one process does not know it: that process
// stops where the era begins, with ErrSuperseded, and the others pass the change. No id is repeated.
func TestErasUnknown(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeReject} {
			synctest.Test(t, func(t *testing.T) {
				m := &claimtest.Memory{Length: 10 * time.Second, TellTime: true}
				first := bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 13, Epoch: bubbleEpoch}
				from := time.Now().Add(20*time.Second + 500*time.Millisecond)
				era := bitsalloc.Era{From: from, Layout: bitsalloc.Layout{TimeBits: 38, WorkerBits: 12, SeqBits: 13}}
				var gens []uid.Generator
				for i := range 4 {
					o := uid.Both{Layout: first, TakePolicy: policy}
					if i > 0 {
						o.Eras = []bitsalloc.Era{era}
					}
					gens = append(gens, uid.Open(t, start, m, o, uid.NewTestClock()))
				}
				seen := map[uid.ID]bool{}
				stopped := time.Time{}
				last := make([]time.Time, len(gens))
				for range 400 {
					for i, g := range gens {
						id, err := g.Next(t.Context())
						if i == 0 && err != nil && stopped.IsZero() {
							if stopped = time.Now(); !errors.Is(err, assigner.ErrSuperseded) ||
								uid.Temporary(err) || errors.Is(err, assigner.ErrClaimLost) ||
								errors.Is(err, uid.ErrClaimExpired) {
								t.Fatalf("%s without the era: %v, want ErrSuperseded", kind, err)
							}
						}
						if i == 0 && err != nil {
							continue
						}
						if err != nil {
							t.Fatalf("%s with the era: %v", kind, err)
						}
						p := g.Parse(id)
						if last[i] = p.Time; seen[id] || i == 0 && p.Time.Add(time.Second).After(from) {
							t.Fatalf("%s: generator %d made %+v, twice: %v", kind, i, p, seen[id])
						}
						seen[id] = true
					}
					time.Sleep(100 * time.Millisecond)
				}
				if stopped.Before(from.Add(-2*time.Second)) || stopped.After(from.Add(2*time.Second)) {
					t.Errorf("%s without the era stopped at %v, want about %v", kind, stopped, from)
				}
				if h := gens[0].Stats().Health(); h.Status != uid.Down || !strings.Contains(h.Reason, "superseded") {
					t.Errorf("%s without the era: %+v", kind, h)
				}
				if !last[1].After(from.Add(15 * time.Second)) {
					t.Errorf("%s with the era got to %v", kind, last[1])
				}
				// A process that starts without it is refused, one with it is not.
				if _, err := start(t.Context(), m, &uid.Both{Layout: first},
					uid.NewTestClock()); !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("a start without the era: %v", err)
				}
			})
		}
	}
}
