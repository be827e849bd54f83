package ringbuffer_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/ringbuffer"
)

// puts are the ways to put one uid.
var puts = map[string]func(r *ringbuffer.Ring, uid int64) bool{
	"TryPut":  (*ringbuffer.Ring).TryPut,
	"TryPutN": func(r *ringbuffer.Ring, uid int64) bool { return r.TryPutN([]int64{uid}) == 1 },
}

// TestPutLooksLast has a waiter count itself while a put has begun and has put nothing: the put
// looks for waiters afterwards, and leaves a token.
func TestPutLooksLast(t *testing.T) {
	t.Parallel()
	for name, put := range puts {
		r, done := newRing(t, 2, waiting), make(chan bool)
		release := r.HoldPuts()
		go func() { done <- put(r, 1) }()
		for buf := make([]byte, 1<<20); !heldUp(string(buf[:runtime.Stack(buf, true)]), name); {
			runtime.Gosched()
		}
		r.Enter()
		release()
		if ok := <-done; !ok || !r.Token() {
			t.Errorf("%s = %t and leaves no token for a waiter that was there before the uid", name, ok)
		}
		r.Leave()
	}
}

// heldUp reports whether a goroutine of stacks waits for a lock in the put of that name.
func heldUp(stacks, name string) bool {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if strings.Contains(stack, "ringbuffer.(*Ring)."+name+"(") &&
			strings.Contains(stack, "sync.(*Mutex).Lock") {
			return true
		}
	}
	return false
}

// TestWaitPingPong puts one uid for one waiter, again and again, at each instant of the beginning
// of the wait: the waiter, which has no deadline, gets it. The waiter hangs if it counts itself
// after its look at the ring, or if a put looks for waiters before it fills the ring.
func TestWaitPingPong(t *testing.T) {
	t.Parallel()
	for name, put := range puts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, 1, waiting)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				rounds := int64(4_000_000 / scale)
				if testing.Short() {
					rounds /= 10
				}
				var turn, took atomic.Int64
				go func() {
					for i := int64(1); i <= rounds; i++ {
						turn.Store(i)
						for range i * 7 % 199 {
							took.Load()
						}
						if uid, err := r.Take(ctx); uid != i || err != nil {
							return
						}
						took.Store(i)
					}
				}()
				for i := int64(1); i <= rounds; i++ {
					reached(&turn, i)
					for range i % 101 {
						turn.Load()
					}
					if !put(r, i) {
						t.Fatalf("round %d: the ring has no room", i)
					}
					if !reached(&took, i) {
						synctest.Wait() // the waiter has returned, or sleeps for good
						if took.Load() != i {
							t.Fatalf("round %d: the waiter sleeps with a uid in the ring; Len %d, Waiters %d",
								i, r.Len(), r.Waiters())
						}
					}
				}
			})
		})
	}
}

// reached spins until word is at least i, and gives up after a while.
func reached(word *atomic.Int64, i int64) bool {
	for n := 0; word.Load() < i; n++ {
		if n%1024 == 1023 {
			runtime.Gosched()
		}
		if n == 1<<20 {
			return false
		}
	}
	return true
}
