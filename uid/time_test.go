package uid_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// bubbleLayout is the default layout with an epoch before the bubble's time.
func bubbleLayout() bitsalloc.Layout { return bitsalloc.Layout{Epoch: bubbleEpoch} }

// cachedAt returns a Cached of worker 1 on a clock of the test's.
func cachedAt(t *testing.T, o uid.Both, clock *uid.TestClock) *uid.Cached {
	t.Helper()
	return uid.Open(t, uid.NewCachedAt, claimtest.Static(1), o, clock)
}

// TestCachedIdleIsHonest lets a generator sit idle, or go slowly, for simulated hours: every stamp
// is within MaxLag of the moment at which the id was handed out. The original's stamps are hours
// behind by then.
func TestCachedIdleIsHonest(t *testing.T) {
	t.Parallel()
	ms := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: bubbleEpoch}
	for _, tc := range []struct {
		name   string
		o      uid.Both
		maxLag time.Duration
	}{
		{"default", uid.Both{}, 2 * time.Second},
		{"lanes", uid.Both{Lanes: 16}, 2 * time.Second},
		{"run 1", uid.Both{RunLength: 1, BoostPower: uid.NoBoost}, 2 * time.Second},
		{"milliseconds", uid.Both{Layout: ms}, time.Second},
		{"tight", uid.Both{Layout: ms, MaxLag: 10 * time.Millisecond}, 10 * time.Millisecond},
		{"loose", uid.Both{MaxLag: time.Minute}, time.Minute},
	} {
		for _, pause := range []time.Duration{700 * time.Millisecond, time.Second, 3 * time.Second, 37 * time.Minute} {
			t.Run(fmt.Sprintf("%s/%v", tc.name, pause), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := cachedAt(t, tc.o, uid.NewTestClock())
					if tc.o.RunLength == 1 {
						// A ring of single ids is renewed by the thousand every second.
						pause = min(pause, 7*time.Second)
					}
					if tc.maxLag < pause/1000 {
						pause = tc.maxLag * 1000 // the padder's looks add up
					}
					rounds := 50 / scale
					if pause > time.Minute {
						rounds = 1
					}
					for range rounds {
						time.Sleep(pause)
						p := c.Parse(mustNext(t, c))
						if lag := time.Since(p.Time); lag < 0 || lag > tc.maxLag {
							t.Fatalf("the id's stamp is %v behind, want 0 to %v", lag, tc.maxLag)
						}
						if lag := c.Stats().Lag; lag > tc.maxLag {
							t.Errorf("Stats().Lag = %v, want at most %v", lag, tc.maxLag)
						}
					}
				})
			})
		}
	}
}

// TestCachedSteadyIsHonest runs at rates below the layout's capacity, where the original falls
// behind for ever.
func TestCachedSteadyIsHonest(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 10, 1000, 8000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := cachedAt(t, uid.Both{}, uid.NewTestClock())
				ids := make([]uid.ID, max(1, rate/10))
				for range 400 / scale {
					time.Sleep(time.Second * time.Duration(len(ids)) / time.Duration(rate))
					mustFill(t, c, ids)
					for _, id := range []uid.ID{ids[0], ids[len(ids)-1]} {
						if lag := time.Since(c.Parse(id).Time); lag > 2*time.Second || lag < -2*time.Second {
							t.Fatalf("at %d a second the stamp is %v behind, want within 2 s", rate, lag)
						}
					}
				}
			})
		})
	}
}

// TestCachedBurstBorrowsExactly takes a burst in no time at all: each 8,192 ids borrow one second.
func TestCachedBurstBorrowsExactly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1}, uid.NewTestClock())
		ids := make([]uid.ID, 8192*100)
		mustFill(t, c, ids)
		for i, id := range ids {
			if want := time.Duration(i/8192) * time.Second; time.Until(c.Parse(id).Time) != want {
				t.Fatalf("id %d is stamped %v ahead, want %v", i, time.Until(c.Parse(id).Time), want)
			}
		}
		// 100 s later the clock has caught up with what was handed out, and the stamps are the clock's
		// again.
		time.Sleep(110 * time.Second)
		if lag := time.Since(c.Parse(mustNext(t, c)).Time); lag < 0 || lag > 2*time.Second {
			t.Errorf("after the burst the stamp is %v behind, want 0 to 2 s", lag)
		}
	})
}

// TestCachedMaxLead checks the bound to the tick, for each take policy.
func TestCachedMaxLead(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 4} {
		for _, lead := range []time.Duration{time.Nanosecond, time.Second, 5500 * time.Millisecond, 20 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: lead, TakePolicy: uid.TakeReject,
					Lanes: lanes}, uid.NewTestClock())
				synctest.Wait()
				var got int64
				for round := range 5 {
					for {
						id, err := c.Next(t.Context())
						if errors.Is(err, uid.ErrEmpty) {
							synctest.Wait() // the padder was woken
							continue
						}
						if errors.Is(err, uid.ErrLead) {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						if ahead := time.Until(c.Parse(id).Time); ahead > lead {
							t.Fatalf("an id is stamped %v ahead, want at most %v", ahead, lead)
						}
						got++
					}
					// Every second permits another tick. With several lanes a stack that moved may have
					// left ids in the lane that it came from.
					s, want := c.Stats(), 8192*(1+int64(lead/time.Second)+int64(round))
					if ids := s.RunsTaken * int64(s.RunLength); ids != want || s.Issued != got ||
						lanes == 1 && got != want {
						t.Fatalf("lead %v, round %d: got %d ids (Issued %d) of %d before "+
							"ErrLead, want %d", lead, round, got, s.Issued, ids, want)
					}
					time.Sleep(time.Second)
				}
				if s := c.Stats(); s.RejectsLead != 5 {
					t.Errorf("Stats().RejectsLead = %d, want 5", s.RejectsLead)
				}
			})
		}
	}
}

// TestCachedMaxLeadWaits lets callers wait for the clock at the bound.
func TestCachedMaxLeadWaits(t *testing.T) {
	t.Parallel()
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: time.Nanosecond, TakePolicy: policy}, uid.NewTestClock())
			start := time.Now()
			for range 8192*10 + 1 {
				p := c.Parse(mustNext(t, c))
				if p.Time.After(time.Now()) {
					t.Fatalf("an id is stamped at %v, it is %v", p.Time, time.Now())
				}
			}
			if took := time.Since(start); took < 10*time.Second || took > 10*time.Second+10*time.Millisecond {
				t.Errorf("policy %v: ten ticks of ids took %v, want 10 s", policy, took)
			}
			ctx := within(t, 100*time.Millisecond)
			for {
				if _, err := c.Next(ctx); err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("a wait that the ctx ended gives %v, want the deadline", err)
					}
					break
				}
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	t.Parallel()
	// 2^17 seconds from the epoch: about half a day after the bubble begins.
	layout := bitsalloc.Layout{TimeBits: 17, WorkerBits: 33, SeqBits: 7, Epoch: bubbleEpoch}
	for _, lanes := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Both{Layout: layout, Lanes: lanes, SeqStart: 1}, uid.NewTestClock())
			left := int(time.Until(c.Stats().Expires)/time.Second) * 128
			ids := make([]uid.ID, 1<<16)
			got := 0
			for {
				n, err := c.Fill(t.Context(), ids)
				got += n
				for _, id := range ids[:n] {
					if id <= 0 {
						t.Fatalf("got the id %d", id)
					}
				}
				if err != nil {
					if !errors.Is(err, uid.ErrExhausted) {
						t.Errorf("at the end of the time bits: %v, want ErrExhausted", err)
					}
					break
				}
			}
			if got != left {
				t.Errorf("got %d ids until the time bits ran out, want %d", got, left)
			}
			if err := c.Stats().Err; !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("Stats().Err = %v, want ErrExhausted", err)
			}
			if _, err := c.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("Next() = %v, want ErrExhausted", err)
			}
			time.Sleep(10 * time.Minute)
			if _, err := c.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("Next() minutes later = %v, want ErrExhausted", err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(13 * time.Hour)
		for name, f := range map[string]func() (uid.Generator, error){
			"Cached": func() (uid.Generator, error) {
				return uid.NewCached(t.Context(), claimtest.Static(1), &uid.Options{Layout: layout})
			},
			"Default": func() (uid.Generator, error) {
				return uid.NewDefault(t.Context(), claimtest.Static(1), &uid.DefaultOptions{Layout: layout})
			},
		} {
			if _, err := f(); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("%s on an expired layout: %v, want ErrExhausted", name, err)
			}
		}
	})
}

// chiSquare returns the statistic of counts against an even spread, in standard deviations above
// its mean.
func chiSquare(counts []int) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	want, x := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	df := float64(len(counts) - 1)
	return (x - df) / math.Sqrt(2*df)
}

// TestEvenSpread takes ids from quiet services. The starts are a hash of the tick, so the test
// gives the same figures at every run; 4.5 deviations are a chance of less than 1 in 1,000 even for
// two shards, whose statistic has a long tail.
func TestEvenSpread(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"cached", "lanes", "run 1", "default"} {
		for _, perSecond := range []int{1, 3} {
			if kind == "run 1" && perSecond == 1 && scale > 1 {
				continue // half a minute of the race detector's, on one goroutine
			}
			for _, layout := range []bitsalloc.Layout{bubbleLayout(),
				{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond,
					Epoch: bubbleEpoch}} {
				t.Run(fmt.Sprintf("%s/%d/%v", kind, perSecond, layout.Tick), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						o, n := uid.Both{Layout: layout}, 20_000/scale
						switch kind {
						case "lanes":
							o.Lanes = 8
						case "run 1":
							// A full-sized ring of single ids is renewed by the thousand every
							// second, simulated or not.
							o.RunLength, o.BoostPower, n = 1, uid.NoBoost, max(2_000, 5_000/scale)
							o.Layout.TimeBits, o.Layout.WorkerBits, o.Layout.SeqBits = 41, 10, 11
						}
						var g uid.Generator
						if kind == "default" {
							g = defaultAt(t, o, uid.NewTestClock())
						} else {
							g = cachedAt(t, o, uid.NewTestClock())
						}
						defer g.Close()
						moduli := []int{2, 3, 7, 8, 64, 1000, 1024}
						counts := make([][]int, len(moduli))
						for i, m := range moduli {
							counts[i] = make([]int, m)
						}
						for range n {
							time.Sleep(time.Second / time.Duration(perSecond))
							id := mustNext(t, g)
							for i, m := range moduli {
								counts[i][int64(id)%int64(m)]++
							}
						}
						for i, m := range moduli {
							if x := chiSquare(counts[i]); x > 4.5 {
								t.Errorf("modulo %d: chi-square is %.1f deviations above its "+
									"mean, want at most 4.5; counts %v",
									m, x, counts[i][:min(m, 8)])
							}
						}
					})
				})
			}
		}
	}
}

// TestEvenSpreadCanFail shows what the test says of the plain ways to go on: from zero, and from
// the last number plus one.
func TestEvenSpreadCanFail(t *testing.T) {
	t.Parallel()
	for name, seq := range map[string]func(i int64) int64{
		"zero": func(int64) int64 { return 0 }, "plus one": func(i int64) int64 { return i % 4096 },
	} {
		counts := make([]int, 3)
		for i := range int64(20_000) {
			counts[(i<<35|1<<13|seq(i))%3]++
		}
		if x := chiSquare(counts); name == "plus one" && x < 4.5 {
			t.Errorf("%s: chi-square is %.1f, want it to be refused: 2^35+1 is a multiple of 3", name, x)
		}
		counts = make([]int, 8)
		for i := range int64(20_000) {
			counts[(i<<35|1<<13|seq(i))%8]++
		}
		if x := chiSquare(counts); name == "zero" && x < 4.5 {
			t.Errorf("%s: chi-square is %.1f, want it to be refused", name, x)
		}
	}
}
