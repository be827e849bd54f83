package uid

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestGateBeforeTheLook holds a caller at the gate, closes the generator meanwhile, and wakes
// nobody, as a Close does that is over before the caller has got its channel. A caller that goes to the gate
// first and looks second sees that the generator is closed; one that looks first waits
// for nothing.
func TestGateBeforeTheLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}
		d := Open(t, NewDefaultAt, claimtest.Static(1), Both{Layout: l, SeqStart: 1}, NewTestClock())
		if _, err := d.Fill(t.Context(), make([]ID, 8192)); err != nil {
			t.Fatal(err)
		}
		start, failed := time.Now(), make(chan error)
		d.gate.mu.Lock()
		go func() {
			_, err := d.Next(t.Context()) // the tick is used up
			failed <- err
		}()
		for buf := make([]byte, 1<<20); !strings.Contains(string(buf[:runtime.Stack(buf, true)]),
			"uid.(*gate).wait("); {
			runtime.Gosched()
		}
		d.closed.Store(true)
		d.last.Swap(closedPosition)
		d.gate.mu.Unlock()
		if err := <-failed; !errors.Is(err, ErrClosed) || time.Since(start) != 0 {
			t.Errorf("Next() = %v after %v, want ErrClosed at once", err, time.Since(start))
		}
	})
}

// TestGateWakesAll opens a gate for the callers that wait, once, and not for later ones.
func TestGateWakesAll(t *testing.T) {
	t.Parallel()
	var g gate
	g.open() // nobody waits
	isOpen := func(ready <-chan struct{}) bool {
		select {
		case <-ready:
			return true
		default:
			return false
		}
	}
	for range 3 {
		a, b := g.wait(), g.wait()
		if isOpen(a) || isOpen(b) {
			t.Fatal("open before it was opened")
		}
		g.open()
		if c := g.wait(); !isOpen(a) || !isOpen(b) || isOpen(c) {
			t.Fatalf("the two that wait %v, %v, the later one %v; want true, true, false",
				isOpen(a), isOpen(b), isOpen(c))
		}
		g.open()
	}
}

// TestGateContended opens a gate from two goroutines that wait at it in turn: each waiter is woken.
func TestGateContended(t *testing.T) {
	t.Parallel()
	var g gate
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 100_000 / slow {
				ready := g.wait()
				g.open()
				<-ready
				g.awaited() // for the race detector
			}
		})
	}
	wg.Wait()
}
