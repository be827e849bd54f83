package lease_test

import (
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// TestMemoryTogether: claims of one Assigner read and change what the Assigner knows at the same time,
// and nothing that was noted is lost.
func TestMemoryTogether(t *testing.T) {
	t.Parallel()
	const rounds = 10000
	m := lease.NewMemory()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range int64(2) {
		var last int64
		// Each in a goroutine of its own, so that no other call's lock orders it.
		for _, do := range []func(n int64){
			func(n int64) { m.Note(i, n) },
			func(n int64) { m.Lower(i, n/2) },
			func(n int64) {
				if got := m.Until(i); got < 0 || got >= 2*rounds {
					t.Errorf("worker %d: until = %d, want what was noted", i, got)
				}
			},
			func(n int64) { m.Forgot(n) },
			func(int64) {
				got := m.Begin()
				if got < last {
					t.Errorf("windows begin at %d, want %d or later, as before", got, last)
				}
				last = got
			},
		} {
			wg.Go(func() {
				<-start
				for n := range int64(rounds) {
					do(2*n + i)
				}
			})
		}
	}
	close(start)
	wg.Wait()
	if got := m.Begin(); got != 2*rounds-1 {
		t.Errorf("windows begin at %d, want %d, the latest end", got, 2*rounds-1)
	}
}

// TestMemoryLower: a claim lowers the end that is known of its own slot, and of no other.
func TestMemoryLower(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		worker      int64
		token       string
		until, want int64
	}{
		{"its slot", 1, lease.MemoryToken, 50, 50},
		{"to a later end", 1, lease.MemoryToken, 150, 100},
		{"the slot of another claim", 1, "other", 50, 100},
		{"another worker id's", 2, lease.MemoryToken, 50, 100},
	} {
		m := lease.NewMemory()
		m.Lower(1, 50) // nothing is known
		m.Note(1, 100)
		m.LowerOf(tt.worker, tt.token, tt.until)
		if got := m.Until(1); got != tt.want {
			t.Errorf("%s: the end is %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestMemoryRows: what is known of one slot is kept when another is noted.
func TestMemoryRows(t *testing.T) {
	t.Parallel()
	m := lease.NewMemory()
	m.Note(1, 100)
	m.Note(2, 200)
	if one, two := m.Until(1), m.Until(2); one != 100 || two != 200 {
		t.Errorf("the ends are %d and %d, want 100 and 200", one, two)
	}
}

// TestMemoryLocked: each method waits for another one that is at work.
func TestMemoryLocked(t *testing.T) {
	t.Parallel()
	m := lease.NewMemory()
	methods := m.Methods()
	unlock := m.Lock()
	done := make(chan string, len(methods))
	var wg sync.WaitGroup
	for name, do := range methods {
		wg.Go(func() { do(); done <- name })
	}
	select {
	case name := <-done:
		t.Errorf("%s did not wait", name)
	case <-time.After(20 * time.Millisecond): // a method that does not wait takes no time
	}
	unlock()
	wg.Wait()
}

// TestMemoryForgot: what was found out first is not forgotten for a window that ended earlier.
func TestMemoryForgot(t *testing.T) {
	t.Parallel()
	m := lease.NewMemory()
	for _, end := range []int64{5, 3} {
		m.Forgot(end)
	}
	if got := m.Begin(); got != 5 {
		t.Errorf("windows begin at %d, want 5", got)
	}
}
