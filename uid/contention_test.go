package uid

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestLaneContention has more goroutines than processors take from a lane whose runs are short,
// by the add of Next and by the compare-and-swap of Fill. Every id is compared.
func TestLaneContention(t *testing.T) {
	t.Parallel()
	n := 400_000 / slow
	if testing.Short() {
		n /= 2
	}
	for _, run := range []int{2, 16} {
		t.Run(fmt.Sprintf("run=%d", run), func(t *testing.T) {
			c := Open(t, NewCachedAt, claimtest.Static(1), Both{
				RunLength: run, SeqStart: 1, Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4,
					SeqBits: 12, Tick: time.Millisecond}}, NewTestClock())
			all := make([][]ID, 8)
			var wg sync.WaitGroup
			for k := range all {
				all[k] = make([]ID, n)
				wg.Go(func() {
					ctx, ids := context.Background(), all[k]
					for i := 0; i < n; i += 2 {
						if k%2 == 1 {
							if _, err := c.Fill(ctx, ids[i:i+2]); err != nil {
								t.Error(err)
								return
							}
							continue
						}
						for j := i; j < i+2; j++ {
							id, err := c.Next(ctx)
							if err != nil {
								t.Error(err)
								return
							}
							ids[j] = id
						}
					}
				})
			}
			wg.Wait()
			ids := slices.Concat(all...)
			slices.Sort(ids)
			twice := 0
			for i := range ids[1:] {
				if ids[i] == ids[i+1] {
					twice++
				}
			}
			if twice > 0 {
				t.Errorf("%d of %d ids were handed out twice", twice, len(ids))
			}
		})
	}
}

// TestRefreshLocksLanes holds a lane, as a refill does, while the padder wants to drop its rest:
// the rest stays until the lane is released.
func TestRefreshLocksLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}
		c := Open(t, NewCachedAt, claimtest.Static(1), Both{Layout: l}, NewTestClock())
		c.StopPadder()
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		done := make(chan struct{})
		c.first.mu.Lock()
		go func() {
			c.composer.follow()
			close(done)
		}()
		for !blockedIn("uid.(*composer).refresh(") {
			select {
			case <-done:
				c.first.mu.Unlock()
				t.Fatal("refresh passed a lane that another goroutine held")
			default:
				runtime.Gosched()
			}
		}
		if c.first.isUsedUp() {
			t.Error("the lane's rest was dropped before the lane was locked")
		}
		c.first.mu.Unlock()
		<-done
		if !c.first.isUsedUp() {
			t.Error("the lane has its rest of a minute ago")
		}
	})
}

// blockedIn reports whether a goroutine waits for a mutex in the named function.
func blockedIn(function string) bool {
	buf := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		header, _, _ := strings.Cut(g, "\n")
		if strings.Contains(header, "sync.Mutex.Lock") && strings.Contains(g, function) {
			return true
		}
	}
	return false
}

// TestReplaceEmptiesLanes replaces the window while a caller refills every lane that it finds used
// up, from a ring that takes a while to empty: no lane has a run of the old worker id afterwards.
func TestReplaceEmptiesLanes(t *testing.T) {
	t.Parallel()
	const lanes = 16
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{Lanes: lanes, RunLength: 512,
		Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 6, SeqBits: 21}}, NewTestClock())
	c.StopPadder()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		heads := make([]int64, 1)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				c.refill(&c.lanes[i%lanes], 0, heads, 1)
			}
		}
	})
	for round := range int64(150 / slow) {
		worker := 2 + round%60
		g := *c.keeper.window.Load()
		g.worker = worker
		c.keeper.window.Store(&g)
		for range 2 { // the first batch empties the ring, or the caller's has
			if _, err := c.composer.fill(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.lanes {
			l := &c.lanes[i]
			l.mu.Lock()
			if next := l.next.Load(); next < l.end.Load() {
				if p := c.Parse(c.timeline.keyless(next)); p.Worker != worker {
					t.Errorf("after worker %d began, lane %d has an id of worker %d", worker, i, p.Worker)
				}
			}
			l.mu.Unlock()
		}
		_ = c.composer.fillAll()
	}
	close(stop)
	wg.Wait()
}
