package uid_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/uid"
)

// This file holds the flaws of the systems that users come from against the generators here. Each
// test first runs the original's logic, in a few lines of our own, and sees it fail; then it puts
// uid through the same and sees it hold. The numbers of the sections are those of
// bitsalloc/compat/README.md.

// onBubble moves a preset's epoch before the time of a bubble.
func onBubble(l bitsalloc.Layout) bitsalloc.Layout {
	l.Epoch = bubbleEpoch
	return l
}

// duplicates counts the ids among n calls of next that came before, and the calls that failed.
func duplicates(n int, next func() (int64, error)) (twice, failed int) {
	seen := map[int64]bool{}
	for range n {
		id, err := next()
		switch {
		case err != nil:
			failed++
		case seen[id]:
			twice++
		default:
			seen[id] = true
		}
	}
	return twice, failed
}

// ofUID adapts a generator.
func ofUID(t *testing.T, g uid.Generator) func() (int64, error) {
	return func() (int64, error) {
		id, err := g.Next(t.Context())
		return int64(id), err
	}
}

// TestTwitterSequence: 3.O4 and 3.O5. A millisecond has 4,096 ids from sequence 0 on; the next one
// waits for the next millisecond.
func TestTwitterSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter()), SeqStart: 1}, uid.NewTestClock())
		start := time.Now()
		for i := range 3 * 4096 {
			if p := d.Parse(mustNext(t, d)); p.Seq != int64(i%4096) ||
				!p.Time.Equal(start.Add(time.Duration(i/4096)*time.Millisecond)) {
				t.Fatalf("id %d is %+v", i, p)
			}
		}
		if took := time.Since(start); took != 2*time.Millisecond {
			t.Errorf("three milliseconds' ids took %v, want 2 ms of waiting", took)
		}
	})
}

// TestTwitterRollback: 3.O6 and 3.F3. Refusing leaves the position where it was; Cached goes on,
// which is the repair.
func TestTwitterRollback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		o := uid.Both{Layout: onBubble(compat.Twitter())}
		d, c := defaultAt(t, o, clock), cachedAt(t, o, clock)
		defer d.Close()
		defer c.Close()
		time.Sleep(time.Second)
		last, lastCached := mustNext(t, d), mustNext(t, c)
		clock.Step(-250 * time.Millisecond)
		var back *uid.ClockBackError
		if _, err := d.Next(t.Context()); !errors.As(err, &back) || back.By != 250*time.Millisecond {
			t.Errorf("Default: %v, want a refusal for 250 ms", err)
		}
		if id := mustNext(t, c); id <= lastCached {
			t.Errorf("Cached: %d came after %d", id, lastCached)
		}
		time.Sleep(250 * time.Millisecond)
		if id := mustNext(t, d); id <= last {
			t.Errorf("Default: %d came after %d", id, last)
		}
	})
}

// TestTwitterNegative: 3.F2 and 9.F8. Behind the 41 bits the original's shift gives negative ids.
func TestTwitterNegative(t *testing.T) {
	t.Parallel()
	original := func(ms int64) int64 { return ms << 22 }
	if id := original(1 << 41); id >= 0 {
		t.Fatalf("the original gives %d at the end of its time, want a negative id", id)
	}
	synctest.Test(t, func(t *testing.T) {
		l := compat.Twitter()
		l.Epoch = time.Now().Add(-1<<41*time.Millisecond + time.Second)
		d, c := defaultAt(t, uid.Both{Layout: l}, uid.NewTestClock()),
			cachedAt(t, uid.Both{Layout: l}, uid.NewTestClock())
		defer d.Close()
		defer c.Close()
		time.Sleep(2 * time.Second)
		for _, g := range []uid.Generator{d, c} {
			for {
				id, err := g.Next(t.Context())
				if errors.Is(err, uid.ErrExhausted) {
					break
				}
				if err != nil || id < 0 {
					t.Fatalf("%T: %d, %v", g, id, err)
				}
			}
		}
	})
}

// TestHutoolRollbackDuplicates: 4.F1. The widely copied version goes on in the last millisecond
// while the clock is behind by less than 2 s. When the sequence wraps there it fails, with the
// sequence already 0, and then hands the millisecond out again.
func TestHutoolRollbackDuplicates(t *testing.T) {
	t.Parallel()
	behind := errors.New("clock moved backwards")
	now, last, seq := int64(1000), int64(1100), int64(4095)
	original := func() (int64, error) {
		ts := now
		if ts < last && last-ts < 2000 {
			ts = last
		}
		if ts == last {
			if seq = (seq + 1) & 4095; seq == 0 {
				return 0, behind // waiting for the next millisecond finds the clock behind
			}
		} else {
			seq = 0
		}
		last = ts
		return ts<<22 | seq, nil
	}
	if twice, _ := duplicates(10_000, original); twice == 0 {
		t.Fatal("the original's logic gives no duplicates; the model is wrong")
	}
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter()),
			Rollback: uid.RollbackHold(2 * time.Second)}, clock)
		time.Sleep(time.Second)
		mustNext(t, d)
		clock.Step(-100 * time.Millisecond)
		if twice, failed := duplicates(10_000, ofUID(t, d)); twice != 0 || failed != 0 {
			t.Errorf("%d duplicates and %d failures, want none", twice, failed)
		}
	})
}

// TestHutoolEvenIds: 4.F2, 6.F6, 7.F7. One id a millisecond, or a second, always has sequence 0 in
// the originals: all ids fall on one shard. TestEvenSpread has the statistics; here are the
// residues.
func TestHutoolEvenIds(t *testing.T) {
	t.Parallel()
	for ms := range int64(100) {
		if original := (ms*7)<<22 | 3<<12; original%4 != 0 {
			t.Fatalf("the original gives %d, want a multiple of 4", original)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter())}, uid.NewTestClock())
		var residues [4]int
		for range 400 {
			time.Sleep(7 * time.Millisecond)
			residues[mustNext(t, d)%4]++
		}
		for r, n := range residues {
			if n < 50 {
				t.Errorf("%d of 400 ids are %d modulo 4, want about 100", n, r)
			}
		}
	})
}

// TestKeyWorkerRollback: 5.F2. The exception is printed and generation goes on with the clock: five
// ids, five duplicates.
func TestKeyWorkerRollback(t *testing.T) {
	t.Parallel()
	now, last, seq := int64(1000), int64(-1), int64(0)
	original := func() (int64, error) {
		if now == last {
			seq = (seq + 1) & 4095
		} else {
			seq = 0
		}
		last = now
		return now<<22 | seq, nil
	}
	calls := 0
	if twice, _ := duplicates(15, func() (int64, error) {
		now = 1000 - int64(calls/5%2) // five ids at 1000, five a millisecond before, five at 1000 again
		calls++
		return original()
	}); twice != 5 {
		t.Fatalf("the original's logic gives %d duplicates, want 5", twice)
	}
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter())}, clock)
		time.Sleep(time.Second)
		calls := 0
		twice, failed := duplicates(15, func() (int64, error) {
			if calls++; calls%10 == 5 {
				clock.Step(-time.Millisecond)
			} else if calls%10 == 0 {
				clock.Step(time.Millisecond)
			}
			return ofUID(t, d)()
		})
		if twice != 0 || failed == 0 {
			t.Errorf("%d duplicates and %d refusals, want none and some", twice, failed)
		}
	})
}

// TestShardGeneOddMillisecond: 6.O2, 6.O7, 6.F1, 6.F2. The original steps by 4 from ts & 1 and
// waits when the sequence is 0, which from 1 on it never is: in odd milliseconds it goes round.
func TestShardGeneOddMillisecond(t *testing.T) {
	t.Parallel()
	const odd = int64(1001)
	last, seq := int64(-1), int64(0)
	original := func() (int64, error) {
		if last == odd {
			if seq = (seq + 4) & 4095; seq == 0 {
				return 0, errors.New("waits")
			}
		} else {
			seq = odd & 1
		}
		last = odd
		return odd<<22 | seq, nil
	}
	if twice, _ := duplicates(3000, original); twice != 1976 {
		t.Fatalf("the original's logic gives %d duplicates among 3000, want 1976", twice)
	}
	synctest.Test(t, func(t *testing.T) {
		l := onBubble(compat.ShardGene())
		d := defaultAt(t, uid.Both{Layout: l, SeqStart: 1}, uid.NewTestClock())
		for start := range 2 { // an even and an odd millisecond
			time.Sleep(time.Millisecond)
			begin, perMs := time.Now(), map[time.Time]int{}
			key := int64(0)
			twice, failed := duplicates(3000, func() (int64, error) {
				key++
				id, err := d.NextGene(t.Context(), key)
				if err == nil && int64(id)%4 != key%4 {
					t.Fatalf("id %d does not carry the gene of key %d", id, key)
				}
				perMs[d.Parse(id).Time]++
				return int64(id), err
			})
			if twice != 0 || failed != 0 {
				t.Errorf("from millisecond %d on: %d duplicates, %d failures", start, twice, failed)
			}
			if n := perMs[begin.UTC()]; n != 1024 {
				t.Errorf("the first millisecond has %d ids, want 1024", n)
			}
		}
	})
}

// TestLeafRandomStart: 9.O2. Every millisecond starts at a number below 100.
func TestLeafRandomStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter()), SeqStart: 100}, uid.NewTestClock())
		starts := map[int64]bool{}
		for range 3000 {
			time.Sleep(time.Millisecond)
			starts[d.Parse(mustNext(t, d)).Seq] = true
		}
		if len(starts) != 100 {
			t.Errorf("the milliseconds start at %d different numbers, want 100", len(starts))
		}
		for s := range starts {
			if s > 99 {
				t.Errorf("a millisecond starts at %d, want 0..99", s)
			}
		}
	})
}

// TestLeafRollbackWait: 9.O3. Up to 5 ms behind: wait; beyond: an error.
func TestLeafRollbackWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter()),
			Rollback: uid.RollbackWait(5 * time.Millisecond)}, clock)
		time.Sleep(time.Second)
		last := mustNext(t, d)
		clock.Step(-5 * time.Millisecond)
		if id := mustNext(t, d); id <= last {
			t.Errorf("%d came after %d", id, last)
		}
		clock.Step(-6 * time.Millisecond)
		if _, err := d.Next(t.Context()); !errors.Is(err, uid.ErrClockBack) {
			t.Errorf("6 ms behind: %v, want ErrClockBack", err)
		}
	})
}

// TestPresetsThroughCached runs the cached generator on every layout that users come from: changing
// one line is enough.
func TestPresetsThroughCached(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]bitsalloc.Layout{
		"Twitter": compat.Twitter(), "ShardGene": compat.ShardGene(),
		"Baidu": compat.Baidu(), "BaiduSample": compat.BaiduSample(),
		"Twitter in 53 bits": compat.Twitter().JavaScript(4),
		"default in 53 bits": (bitsalloc.Layout{}).JavaScript(10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := cachedAt(t, uid.Both{Layout: onBubble(l)}, uid.NewTestClock())
				seen, ids := map[uid.ID]bool{}, make([]uid.ID, 5000)
				for round := range 8 {
					time.Sleep(3 * time.Second)
					n := 1
					var err error
					if round%2 == 0 {
						n, err = c.Fill(t.Context(), ids)
					} else {
						ids[0], err = c.Next(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
					for i, id := range ids[:n] {
						p := c.Parse(id)
						if id <= 0 || seen[id] || p.Worker != 1 || i == 0 && time.Since(p.Time).Abs() > 2*time.Second {
							t.Fatalf("id %d of round %d: %+v at %v, or seen before", i, round, p, time.Now())
						}
						seen[id] = true
					}
				}
			})
		})
	}
}
