package uid_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// unfenced is a claim of an authority that forgets the ends of earlier windows: it says that its
// window begins at the beginning of time.
type unfenced struct{ assigner.Claim }

func (c unfenced) Window() (from, until time.Time) {
	_, until = c.Claim.Window()
	return from, until
}

// reuse lets generators with one worker id follow one another on clocks that are wrong by up to
// twenty hours either way and step while they work. Some are closed before the next one starts,
// some still work at the same time, some are never closed. Every start takes the worker id over at
// once, as with a database whose clock is far ahead. It returns how many ids came, and how many of
// them twice.
func reuse(t *testing.T, seed uint64, start func(context.Context, assigner.Assigner, *uid.Both,
	*uid.TestClock) (uid.Generator, error), fenced bool) (ids, twice int) {
	m := &claimtest.Memory{Length: 10 * time.Second}
	var a assigner.Assigner = m
	if !fenced {
		a = altered{m, func(c assigner.Claim) assigner.Claim { return unfenced{c} }}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	step := func() time.Duration {
		size := []time.Duration{time.Millisecond, time.Second, 90 * time.Second,
			time.Hour - time.Second, time.Hour + time.Second, 10 * time.Hour}
		return (size[r.IntN(len(size))] + time.Duration(r.Int64N(int64(time.Second)))) * time.Duration(r.IntN(3)-1)
	}
	seen := map[uid.ID]bool{}
	take := func(g uid.Generator, n int, clock *uid.TestClock) (got int) {
		ctx := within(t, 5*time.Second)
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
		o := uid.Both{
			// No worker bits: one worker id.
			Layout: bitsalloc.Layout{TimeBits: 40, SeqBits: 6,
				Epoch: bubbleEpoch.AddDate(-1, 0, 0)},
			Rollback: uid.RollbackHold(time.Hour),
		}
		clock := uid.NewTestClock()
		clock.Step(2 * step())
		m.Lose(0)
		g := uid.Open(t, start, assigner.Assigner(&once{Assigner: a}), o, clock)
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

// once gives out one claim, so that a lost one is not replaced.
type once struct {
	assigner.Assigner
	asked atomic.Bool
}

func (o *once) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if o.asked.Swap(true) {
		return nil, assigner.ErrWorkersExhausted
	}
	return o.Assigner.Assign(ctx, maxWorker)
}

// TestReuse: whatever the clocks say, no id is repeated from worker ids that are used again.
func TestReuse(t *testing.T) {
	t.Parallel()
	for name, start := range kinds {
		for seed := range uint64(20) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if ids, twice := reuse(t, seed, start, true); twice != 0 || ids < 1000 {
						t.Errorf("seed %d: %d of %d ids were repeated, want none of thousands", seed, twice, ids)
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
					_, twice := reuse(t, seed, start, false)
					found += twice
				})
			}
			if found == 0 {
				t.Error("no id was repeated without the fence: TestReuse cannot fail")
			}
		})
	}
}
