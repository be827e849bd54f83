package uid

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// heldUp waits until a goroutine that has called caller waits for a lock in callee.
func heldUp(caller, callee string) {
	for buf := make([]byte, 1<<20); ; runtime.Gosched() {
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "sync.(*Mutex).Lock") && strings.Contains(stack, callee) &&
				strings.Contains(stack, caller) {
				return
			}
		}
	}
}

// usedUpIn returns a generator whose ids are used up until the clock's next tick, in a bubble.
func usedUpIn(t *testing.T, kind string, policy TakePolicy) (g Generator, c *core) {
	t.Helper()
	o := Both{SeqStart: 1, MaxLead: time.Nanosecond, BoostPower: NoBoost, TakePolicy: policy,
		Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 2, Epoch: time.Now().Add(-time.Hour)}}
	if kind == "cached" {
		cached := Open(t, NewCachedAt, claimtest.Static(1), o, NewTestClock())
		g, c = cached, cached.core
	} else {
		d := Open(t, NewDefaultAt, claimtest.Static(1), o, NewTestClock())
		g, c = d, d.core
	}
	if n, err := g.Fill(t.Context(), make([]ID, 4)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	return g, c
}

var waitingKinds = []struct {
	kind   string
	policy TakePolicy
}{{"cached", TakePad}, {"cached", TakeWait}, {"default", TakePad}}

// TestCloseBeforeGate holds a Close up where it opens the gate: the generator is closed by then, so
// that a caller that the gate wakes sees it.
func TestCloseBeforeGate(t *testing.T) {
	t.Parallel()
	for _, tc := range waitingKinds {
		synctest.Test(t, func(t *testing.T) {
			g, c := usedUpIn(t, tc.kind, tc.policy)
			synctest.Wait()
			c.gate.mu.Lock()
			closed := make(chan error)
			go func() { closed <- g.Close() }()
			heldUp("Close", "uid.(*gate).open(")
			isClosed := c.closed.Load()
			c.gate.mu.Unlock()
			if err := <-closed; err != nil || !isClosed {
				t.Errorf("%+v: Close() = %v opens the gate, and closed is %t", tc, err, isClosed)
			}
		})
	}
}

// TestWaitBeforeLook closes a generator while a caller that found no id is on its way to the gate,
// and opens the gate before the caller is there: the caller looks after that, and does not wait.
func TestWaitBeforeLook(t *testing.T) {
	t.Parallel()
	for _, tc := range waitingKinds {
		synctest.Test(t, func(t *testing.T) {
			g, c := usedUpIn(t, tc.kind, tc.policy)
			synctest.Wait()
			start, failed := time.Now(), make(chan error)
			c.gate.mu.Lock()
			go func() {
				_, err := g.Next(t.Context())
				failed <- err
			}()
			heldUp("Next", "uid.(*gate).wait(")
			c.closed.Store(true)
			switch g := g.(type) {
			case *Default:
				g.last.Swap(closedPosition)
			case *Cached:
				g.StopPadder() // or it opens the gate when it finds that the generator is closed
			}
			c.gate.mu.Unlock()
			if err := <-failed; !errors.Is(err, ErrClosed) || time.Since(start) != 0 {
				t.Errorf("%+v: Next() = %v after %v, want ErrClosed at once", tc, err, time.Since(start))
			}
		})
	}
}

// TestCloseWaiters closes generators at each instant of the calls of callers that have no deadline:
// all of them return.
func TestCloseWaiters(t *testing.T) {
	t.Parallel()
	rounds := 10_000 / slow
	for _, tc := range waitingKinds {
		synctest.Test(t, func(t *testing.T) {
			for round := range rounds / len(waitingKinds) {
				var returned atomic.Int32
				g, c := usedUpIn(t, tc.kind, tc.policy)
				ctx, cancel := context.WithCancel(context.Background())
				var begun atomic.Int32
				for k := range 2 {
					go func() {
						begun.Add(1)
						ids := make([]ID, 1+k)
						for {
							if _, err := g.Fill(ctx, ids); err != nil {
								if !errors.Is(err, ErrClosed) && ctx.Err() == nil {
									t.Errorf("%+v: %v, want ErrClosed", tc, err)
								}
								returned.Add(1)
								return
							}
						}
					}()
				}
				spin(func() bool { return begun.Load() == 2 })
				for range round % 997 {
					c.closed.Load()
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				n := returned.Load()
				cancel()
				synctest.Wait()
				if n != 2 {
					t.Fatalf("%+v, round %d: after Close %d of 2 calls return, the others wait", tc, round, n)
				}
			}
		})
	}
}
