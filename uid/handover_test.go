package uid_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestHandover runs generators that share a few worker ids. Their claims are stolen under load,
// they are closed and started again, and what Close gives back is handed to the next at once: no id
// is repeated, and with one lane none goes back.
func TestHandover(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []uid.Both{{}, {Lanes: 4}, {RunLength: 1},
			{RunLength: 2, BoostPower: uid.NoBoost},
			{RunLength: 16, Lanes: 2, TakePolicy: uid.TakeWait}} {
			t.Run(fmt.Sprintf("%s/run=%d/lanes=%d", name, o.RunLength, o.Lanes), func(t *testing.T) {
				t.Parallel()
				o := o
				o.Layout = bitsalloc.Layout{TimeBits: 42, WorkerBits: 3, SeqBits: 5, Tick: time.Millisecond}
				o.Rollback = uid.RollbackHold(time.Hour)
				m := &claimtest.Memory{Length: 50 * time.Millisecond, From: time.Now().Add(-time.Hour)}
				deadline := time.Now().Add(handoverTime)
				var taken atomic.Int64
				more := func() bool { return time.Now().Before(deadline) || taken.Load() < leastHandover }
				var all [3 * 2][]uid.ID
				var wg, thief sync.WaitGroup
				thief.Go(func() {
					for more() {
						time.Sleep(7 * time.Millisecond)
						m.Lose(rand.Int64N(6))
					}
				})
				for k := range 3 {
					wg.Go(func() {
						for more() {
							g, err := make(t.Context(), m.Range(0, 5), &o, uid.NewTestClock())
							if errors.Is(err, assigner.ErrWorkersExhausted) {
								time.Sleep(time.Millisecond)
								continue
							}
							if err != nil {
								t.Error(err)
								return
							}
							stop := time.Now().Add(time.Duration(rand.IntN(150)) * time.Millisecond)
							var takers sync.WaitGroup
							for j := range 2 {
								takers.Go(func() {
									last, buf := uid.ID(-1), [37]uid.ID{}
									ctx, cancel := context.WithDeadline(t.Context(), stop.Add(50*time.Millisecond))
									defer cancel()
									for i := 0; ; i++ {
										n, err := g.Fill(ctx, buf[:1+i%len(buf)])
										for _, id := range buf[:n] {
											if id <= last && name == "cached" && o.Lanes < 2 {
												t.Errorf("%d came after %d", id, last)
											}
											last = id
										}
										all[2*k+j] = append(all[2*k+j], buf[:n]...)
										taken.Add(int64(n))
										if errors.Is(err, uid.ErrClosed) || errors.Is(err, context.DeadlineExceeded) {
											return
										}
										if i%16 == 0 {
											time.Sleep(time.Millisecond)
										}
									}
								})
							}
							time.Sleep(time.Until(stop))
							if err := g.Close(); err != nil {
								t.Error(err)
							}
							takers.Wait()
						}
					})
				}
				wg.Wait()
				thief.Wait()
				if err := m.Windows().Overlap(); err != nil {
					t.Error(err)
				}
				ids := slices.Concat(all[:]...)
				slices.Sort(ids)
				for i := range ids[1:] {
					if ids[i] == ids[i+1] {
						t.Fatalf("the id %d was repeated", ids[i])
					}
				}
				workers := map[int64]int{}
				for _, id := range ids {
					workers[int64(id)>>5&7]++
				}
				if len(ids) < leastHandover || len(workers) < 3 {
					t.Errorf("%d ids of the workers %v, want thousands of several", len(ids), workers)
				}
			})
		}
	}
}

// handoverTime is how long each case of TestHandover runs at the least, and leastHandover how many
// ids it takes.
const (
	handoverTime  = 250 * time.Millisecond
	leastHandover = 1000
)
