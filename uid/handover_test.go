package uid_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// leaseTable is an authority in memory: for each worker id a fencing token and the end of the reserved window. A new owner
// begins where the last one's window ends, so that windows are disjoint whatever anyone's clock says.
type leaseTable struct {
	mu   sync.Mutex
	rows []leaseRow
}

type leaseRow struct {
	token int
	owned bool
	until time.Time
}

type leaseClaim struct {
	t           *leaseTable
	worker      int64
	token       int
	from, until time.Time
}

func (t *leaseTable) Assign(context.Context, int64) (assigner.Claim, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := rand.IntN(len(t.rows))
	for i := range t.rows {
		w := (at + i) % len(t.rows)
		if r := &t.rows[w]; !r.owned {
			c := &leaseClaim{t: t, worker: int64(w), token: r.token + 1, from: r.until}
			if c.until = r.until.Add(50 * time.Millisecond); time.Until(c.until) < 50*time.Millisecond {
				c.until = time.Now().Add(50 * time.Millisecond)
			}
			*r = leaseRow{token: c.token, owned: true, until: c.until}
			return c, nil
		}
	}
	return nil, assigner.ErrWorkersExhausted
}

// steal takes one worker id away from its owner, who learns of it when it extends next.
func (t *leaseTable) steal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rows[rand.IntN(len(t.rows))]
	r.token, r.owned = r.token+1, false
}

func (c *leaseClaim) Worker() int64 { return c.worker }

func (c *leaseClaim) Window() (from, until time.Time) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.from, c.until
}

func (c *leaseClaim) Extend(_ context.Context, until time.Time) (time.Time, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	r := &c.t.rows[c.worker]
	if r.token != c.token {
		return c.until, assigner.ErrClaimLost
	}
	if until.After(r.until) {
		r.until = until
	}
	c.until = r.until
	return c.until, nil
}

func (c *leaseClaim) Release(_ context.Context, used time.Time) error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	r := &c.t.rows[c.worker]
	if r.token != c.token {
		return assigner.ErrClaimLost
	}
	if used.Before(c.from) {
		used = c.from
	}
	if used.Before(r.until) {
		r.until = used
	}
	r.owned = false
	return nil
}

// TestHandover runs generators that share a few worker ids. Their claims are stolen under load, they are closed and started
// again, and what Close gives back is handed to the next at once: no id comes twice, and with one lane none goes back.
func TestHandover(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []uid.Options{{}, {Lanes: 4}, {RunLength: 1}, {RunLength: 2, BoostPower: uid.NoBoost}, {RunLength: 16, Lanes: 2, TakePolicy: uid.Wait}} {
			t.Run(fmt.Sprintf("%s/run=%d/lanes=%d", name, o.RunLength, o.Lanes), func(t *testing.T) {
				t.Parallel()
				o := o
				o.Layout = bitsalloc.Layout{TimeBits: 42, WorkerBits: 3, SeqBits: 5, Tick: time.Millisecond}
				o.Rollback = uid.HoldUpTo(time.Hour)
				table := &leaseTable{rows: slices.Repeat([]leaseRow{{until: time.Now().Add(-time.Hour)}}, 6)}
				deadline := time.Now().Add(handoverTime)
				var all [3 * 2][]uid.ID
				var wg, thief sync.WaitGroup
				thief.Go(func() {
					for time.Now().Before(deadline) {
						time.Sleep(7 * time.Millisecond)
						table.steal()
					}
				})
				for k := range 3 {
					wg.Go(func() {
						for time.Now().Before(deadline) {
							g, err := make(t.Context(), table, &o, uid.NewTestClock())
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
				ids := slices.Concat(all[:]...)
				slices.Sort(ids)
				for i := range ids[1:] {
					if ids[i] == ids[i+1] {
						t.Fatalf("the id %d came twice", ids[i])
					}
				}
				workers := map[int64]int{}
				for _, id := range ids {
					workers[int64(id)>>5&7]++
				}
				if len(ids) < 1000 || len(workers) < 3 {
					t.Errorf("%d ids of the workers %v, want thousands of several", len(ids), workers)
				}
			})
		}
	}
}

// handoverTime is how long each case of TestHandover runs.
const handoverTime = 250 * time.Millisecond
