package ringbuffer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/ringbuffer"
)

var waiting = &ringbuffer.Options{TakePolicy: ringbuffer.TakeWait}

// TestWaitersAllWoken: as many uids as waiters wake all of them, however they are put, and not one
// more.
func TestWaitersAllWoken(t *testing.T) {
	t.Parallel()
	const waiters = 50
	for name, put := range map[string]func(r *ringbuffer.Ring){
		"one by one": func(r *ringbuffer.Ring) {
			for i := range int64(waiters) {
				r.TryPut(i)
			}
		},
		"one batch": func(r *ringbuffer.Ring) { r.TryPutN(seq(waiters)) },
		"batches": func(r *ringbuffer.Ring) {
			for i := 0; i < waiters; i += 10 {
				r.TryPutN(seq(waiters)[i : i+10])
				synctest.Wait()
			}
		},
		"concurrently": func(r *ringbuffer.Ring) {
			for i := range int64(waiters) {
				go func() { _ = r.Put(i) }()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, 64, waiting)
				ctx, cancel := context.WithCancel(t.Context())
				var got [waiters]atomic.Int32
				var woken, late atomic.Int32
				for range waiters + 1 {
					go func() {
						uid, err := r.Take(ctx)
						switch {
						case err == nil:
							woken.Add(1)
							got[uid].Add(1)
						case errors.Is(err, context.Canceled):
							late.Add(1)
						default:
							t.Errorf("Take() = %d, %v", uid, err)
						}
					}()
				}
				synctest.Wait()
				if n := r.Waiters(); n != waiters+1 {
					t.Fatalf("%d goroutines wait, want %d", n, waiters+1)
				}
				put(r)
				synctest.Wait()
				if n := woken.Load(); n != waiters {
					t.Errorf("%d waiters were woken, want %d", n, waiters)
				}
				for uid := range got {
					if n := got[uid].Load(); n != 1 {
						t.Errorf("uid %d was taken %d times, want once", uid, n)
					}
				}
				if n := late.Load(); n != 0 {
					t.Errorf("%d waiters ended without a uid before the ctx did, want 0", n)
				}
				cancel()
				synctest.Wait()
				if n := late.Load(); n != 1 {
					t.Errorf("%d waiters ended with the ctx, want 1", n)
				}
				wantEmpty(t, r)
			})
		})
	}
}

// TestWaitDeadline: a waiter ends with its own ctx, at that time and no other, and the others go
// on.
func TestWaitDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 8, waiting)
		begin := time.Now()
		for i := range 5 {
			go func() {
				d := time.Duration(i+1) * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				if _, err := r.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Take() = %v, want %v", err, context.DeadlineExceeded)
				}
				if got := time.Since(begin); got != d {
					t.Errorf("Take ended after %v, want %v", got, d)
				}
			}()
		}
		go func() {
			if uid, err := r.Take(context.Background()); uid != 1 || err != nil {
				t.Errorf("Take() = %d, %v, want 1, nil", uid, err)
			}
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := r.Waiters(); n != 1 {
			t.Errorf("%d goroutines wait, want 1", n)
		}
		r.TryPut(1)
		synctest.Wait()
		if n := r.Waiters(); n != 0 {
			t.Errorf("%d goroutines wait, want 0", n)
		}
	})
}

// TestWaitPassesOn ends the ctx of the waiter that the wake-up goes to. The next waiter must get
// the wake-up.
func TestWaitPassesOn(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			r := newRing(t, 2, waiting)
			ctx, cancel := context.WithCancel(t.Context())
			var took atomic.Int64
			take := func(ctx context.Context) {
				if _, err := r.Take(ctx); err == nil {
					took.Add(1)
				}
			}
			go take(ctx)
			synctest.Wait() // the first in the queue of the channel
			other, stop := context.WithCancel(t.Context())
			go take(other)
			synctest.Wait()
			go cancel()
			go r.TryPut(1)
			synctest.Wait()
			if took.Load() != 1 {
				t.Errorf("%d waiters got the uid, want 1", took.Load())
			}
			stop()
			cancel()
		})
	}
}

// TestWaitStress has waiters that give up at random among putters and takers that do not wait.
// Every uid must come out once, and a lost wake-up would leave a waiter and a uid in the ring for
// ever.
func TestWaitStress(t *testing.T) {
	t.Parallel()
	total := int64(40_000 / scale)
	for _, size := range []int{1, 2, 8} {
		r := newRing(t, size, waiting)
		seen := newBitmap(total)
		var out atomic.Int64
		all, finish := context.WithTimeout(t.Context(), time.Minute)
		var wg sync.WaitGroup
		note := func(uid int64) {
			if !seen.set(uid) {
				t.Errorf("size %d: took %d twice", size, uid)
			}
			if out.Add(1) == total {
				finish()
			}
		}
		for i := range 6 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(i)))
				for all.Err() == nil {
					ctx, cancel := context.WithCancel(all)
					if i < 3 && rnd.IntN(4) == 0 {
						go cancel()
					}
					if uid, err := r.Take(ctx); err == nil {
						note(uid)
					}
					cancel()
				}
			})
		}
		wg.Go(func() {
			for all.Err() == nil {
				if uid, ok := r.TryTake(); ok {
					note(uid)
				}
				runtime.Gosched()
			}
		})
		for p := range int64(2) {
			wg.Go(func() {
				for i := p; i < total && all.Err() == nil; i += 2 {
					for !r.TryPut(i) && all.Err() == nil {
						runtime.Gosched()
					}
				}
			})
		}
		wg.Wait()
		finish()
		if out.Load() != total {
			t.Errorf("size %d: %d uids came out within a minute, want %d; Len %d", size, out.Load(), total, r.Len())
		}
		if n := r.Waiters(); n != 0 {
			t.Errorf("size %d: %d goroutines wait at the end, want 0", size, n)
		}
	}
}

// TestToken: a put leaves a token for a waiter that has counted itself and does not receive yet,
// and nothing leaves one that would wake a waiter for no uid.
func TestToken(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(r *ringbuffer.Ring) bool{
		"TryPut":  func(r *ringbuffer.Ring) bool { return r.TryPut(1) },
		"TryPutN": func(r *ringbuffer.Ring) bool { return r.TryPutN([]int64{1}) == 1 },
	} {
		r := newRing(t, 2, waiting)
		token := func(when string, want bool) {
			t.Helper()
			if got := r.Token(); got != want {
				t.Errorf("%s, %s: token = %t, want %t", name, when, got, want)
			}
		}
		put(r)
		token("a put without a waiter", false)
		r.Enter()
		put(r)
		token("a put with a waiter", true)
		if put(r) {
			t.Errorf("%s: a full ring takes a uid", name)
		}
		token("a put without room", false)
		r.Leave()
		token("the last waiter leaves", false)
		r.Enter()
		r.Enter()
		r.Leave()
		token("a waiter leaves others and uids", true)
		r.TryTake()
		r.TryTake()
		r.Enter()
		r.Leave()
		token("a waiter leaves others and no uids", false)
	}
}
