package uid

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// internalDefault returns a Default of worker 1 that the test closes.
func internalDefault(t *testing.T, o *Both) *Default {
	t.Helper()
	d, err := NewDefault(t.Context(), claimtest.Static(1), o.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestDefaultReads: the machine's clock is read through the tick cache, and a clock of the user's
// for every id, so that no step of it comes late.
func TestDefaultReads(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	if _, err := d.Next(t.Context()); err != nil || d.clockTick.until.Load() == 0 {
		t.Errorf("the tick cache is not in use, %v", err)
	}
	var reads atomic.Int64
	clock := NewTestClock()
	clock.OnRead = func() { reads.Add(1) }
	d = internalDefault(t, &Both{Clock: clock.read})
	before := reads.Load()
	for range 100 {
		if _, err := d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := reads.Load() - before; n < 100 {
		t.Errorf("100 ids took %d readings of the user's clock, want one each at least", n)
	}
}

// TestDefaultAheadContended has other calls raise the mark of a claim that begins ahead of the
// clock: each call ends with the mark at its tick or above.
func TestDefaultAheadContended(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	w := *d.keeper.window.Load()
	w.from = d.timeline.at(time.Now().Add(time.Hour))
	last := int64(w.from | d.timeline.of(w.from).seqMask) // the sequence is used up
	const rounds = 20_000 / slow
	high := w.from + 1<<50
	var turn, taken atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); i <= rounds; i++ {
			spin(func() bool { return turn.Load() >= i })
			for range i % 256 { // meets the call between its load and its swap in some rounds
				taken.Load()
			}
			d.ahead.Store(high)
			taken.Store(i)
		}
	})
	for i := int64(1); i <= rounds; i++ {
		d.ahead.Store(0)
		turn.Store(i)
		pos, _, err := d.after(last, &w)
		if ahead := d.ahead.Load(); err != nil || ahead < pos {
			t.Fatalf("after() = %d, %v, and the mark is %d", pos, err, ahead)
		}
		for taken.Load() < i {
			runtime.Gosched()
		}
		if ahead := d.ahead.Load(); ahead < high {
			t.Fatalf("the mark went back from %d to %d", high, ahead)
		}
	}
	wg.Wait()
}

// TestIssuedWhileJumping counts while last jumps ahead: never an id that was not handed out.
func TestIssuedWhileJumping(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	var taken atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for last := int64(noPosition); taken.Load() < 300_000; last += 1001 {
			taken.Add(1)
			if !d.move(last, uint64(last+1001), 1) {
				t.Error("a single caller's move failed")
				return
			}
		}
	})
	for taken.Load() < 300_000 {
		before := taken.Load() - 1 // the last one may be on its way
		n := d.issued()
		if after := taken.Load(); n < before || n > after {
			t.Errorf("%d ids are counted, want %d to %d", n, before, after)
			break
		}
	}
	wg.Wait()
	d.jumping.Add(1) // a call between last and skipped
	d.last.Add(1000)
	counted := make(chan int64)
	go func() { counted <- d.issued() }()
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case n := <-counted:
		t.Errorf("%d ids are counted in the middle of a jump", n)
	default:
		d.skipped.Add(1000)
		d.jumping.Add(-1)
		if n := <-counted; n != taken.Load() {
			t.Errorf("%d ids are counted, want %d", n, taken.Load())
		}
	}
}

// TestStartAfter: a tick starts at its first number after one that was left in the second half, and
// else at a spread one.
func TestStartAfter(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	tick := d.timeline.at(time.Now())
	next := d.timeline.next(tick)
	spread := d.timeline.of(next).start(next, 1)
	for newest, want := range map[uint64]uint64{
		tick: spread, tick + 4095: spread, tick + 4096: next, tick + 8191: next, 0: spread,
	} {
		if got := d.startAfter(newest, next, 1); got != want {
			t.Errorf("after sequence number %d the next tick starts at %d, want %d",
				newest&8191, got-next, want-next)
		}
	}
}

// TestIssuedWhileClosing counts while the generator is closed: the ids are as many before, meanwhile
// and after.
func TestIssuedWhileClosing(t *testing.T) {
	t.Parallel()
	stop := time.Now().Add(time.Second) // on one processor a round may take as long as a time slice
	for round := 0; round < 1000/slow && (round < 10 || time.Now().Before(stop)); round++ {
		d := internalDefault(t, nil)
		var ids [5]ID
		if _, err := d.Fill(t.Context(), ids[:]); err != nil {
			t.Fatal(err)
		}
		var counted, closed atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for done := false; !done; counted.Store(true) {
				done = closed.Load()
				if n := d.issued(); n != int64(len(ids)) {
					t.Errorf("%d ids are counted, want %d", n, len(ids))
					return
				}
			}
		})
		spin(func() bool { return counted.Load() || t.Failed() })
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}
