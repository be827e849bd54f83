package uid_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// slot is one worker id that every Assign takes over at once, whoever has it: what a database does whose clock is far ahead. Only the
// fence is left, the end of the last window, at which the next one begins.
type slot struct {
	flawed bool // forget the fence

	mu         sync.Mutex
	generation int
	until      time.Time
}

// slotWindow is how far a claim reaches beyond the true time, or the fence if that is later.
const slotWindow = 10 * time.Second

func (s *slot) Assign(context.Context, int64) (assigner.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &slotClaim{s: s, from: s.until}
	if s.flawed {
		c.from = time.Time{}
	}
	s.generation++
	if now := time.Now(); s.until.Before(now) {
		s.until = now
	}
	s.until = s.until.Add(slotWindow)
	c.generation, c.until = s.generation, s.until
	return c, nil
}

type slotClaim struct {
	s           *slot
	generation  int
	from, until time.Time // until is guarded by s.mu
}

func (c *slotClaim) Worker() int64 { return 0 }

func (c *slotClaim) Window() (from, until time.Time) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.from, c.until
}

func (c *slotClaim) Extend(_ context.Context, until time.Time) (time.Time, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.generation != c.s.generation {
		return time.Time{}, assigner.ErrClaimLost
	}
	if until.After(c.s.until) {
		c.s.until, c.until = until, until
	}
	return c.until, nil
}

func (c *slotClaim) Release(_ context.Context, used time.Time) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.generation == c.s.generation {
		c.s.generation++
		c.s.until = c.from
		if used.After(c.from) {
			c.s.until = used
		}
	}
	return nil
}

// reuse lets generators with one worker id follow one another on clocks that are wrong by up to twenty hours either way and step while they
// work. Some are closed before the next one starts, some still work beside it, some are never closed. It returns how many ids came, and
// how many of them twice.
func reuse(t *testing.T, seed uint64, start func(context.Context, assigner.Assigner, *uid.Options, *uid.TestClock) (uid.Generator, error),
	s *slot) (ids, twice int) {
	r := rand.New(rand.NewPCG(seed, 0))
	step := func() time.Duration {
		size := []time.Duration{time.Millisecond, time.Second, 90 * time.Second, time.Hour - time.Second, time.Hour + time.Second, 10 * time.Hour}
		return (size[r.IntN(len(size))] + time.Duration(r.Int64N(int64(time.Second)))) * time.Duration(r.IntN(3)-1)
	}
	seen := map[uid.ID]bool{}
	take := func(g uid.Generator, n int, clock *uid.TestClock) (got int) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for range n {
			id, err := g.Next(ctx)
			if err != nil {
				break // the window, the clock or the time is over; what came before counts
			}
			if seen[id] {
				twice++
			}
			seen[id] = true
			ids, got = ids+1, got+1
			if clock != nil && r.IntN(50) == 0 {
				clock.Step(step())
				time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				clock.Step(step())
			}
		}
		return got
	}
	var paused []uid.Generator
	for round := range 12 {
		o := &uid.Options{
			Layout:     bitsalloc.Layout{TimeBits: 40, SeqBits: 6, Epoch: bubbleEpoch.AddDate(-1, 0, 0)}, // no worker bits: one worker id
			NoReassign: true, Rollback: uid.HoldUpTo(time.Hour),
		}
		clock := uid.NewTestClock()
		clock.Step(2 * step())
		g, err := start(t.Context(), s, o, clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := take(g, 200, clock); got == 0 {
			t.Errorf("seed %d, round %d: no id of a generator whose claim is good: %v", seed, round, g.Stats().Err)
		}
		for _, old := range paused {
			take(old, 100, nil)
		}
		if r.IntN(2) == 0 {
			g.Close()
		} else {
			paused = append(paused, g)
		}
	}
	for _, g := range paused {
		take(g, 1000, nil)
		g.Close()
	}
	return ids, twice
}

// TestReuse: whatever the clocks say, no id comes twice from worker ids that are used again.
func TestReuse(t *testing.T) {
	t.Parallel()
	for name, start := range kinds {
		for seed := range uint64(20) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if ids, twice := reuse(t, seed, start, &slot{}); twice != 0 || ids < 1000 {
						t.Errorf("seed %d: %d of %d ids came twice, want none of thousands", seed, twice, ids)
					}
				})
			})
		}
	}
}

// TestReuseDetects: an authority that forgets the fence is found out.
func TestReuseDetects(t *testing.T) {
	t.Parallel()
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			for seed := range uint64(5) {
				synctest.Test(t, func(t *testing.T) {
					_, twice := reuse(t, seed, start, &slot{flawed: true})
					found += twice
				})
			}
			if found == 0 {
				t.Error("no id came twice without the fence: TestReuse cannot fail")
			}
		})
	}
}
