package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/contender"
)

var errBroken = errors.New("broken")

// sleeps returns a loop whose ids take d each, the one at number late as long as that.
func sleeps(d time.Duration, late int, longer time.Duration) contender.Loop {
	made := 0
	return func(n int) error {
		for range n {
			if made++; made == late {
				time.Sleep(longer)
			}
			for start := time.Now(); time.Since(start) < d; { // a timer is late by more than that
			}
		}
		return nil
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{contender.Short, 5 * time.Millisecond} {
		got, err := once(contender.Plain(sleeps(10*time.Microsecond, 0, 0)), 1, d)
		if err != nil || got < 10_000 {
			t.Errorf("for %v, ids of 10 µs take %v ns, %v", d, got, err)
		}
	}
	_, err := once(contender.Plain(func(int) error { return errBroken }), 1, contender.Short)
	if !errors.Is(err, errBroken) {
		t.Errorf("a broken loop: %v", err)
	}
}

// An open loop counts the ids that were due while an earlier one took its time; a closed one has a
// single slow call.
func TestOpenLoopOmitsNothing(t *testing.T) {
	t.Parallel()
	const stop, length = 100 * time.Millisecond, 200 * time.Millisecond
	open, closed := hdrhistogram.New(1, int64(time.Minute), 3), hdrhistogram.New(1, int64(time.Minute), 3)
	if err := latencies(open, sleeps(0, 100, stop), 1000, length); err != nil {
		t.Fatal(err)
	}
	if open.TotalCount() != 200 {
		t.Errorf("%d ids in 200 ms at 1,000 a second", open.TotalCount())
	}
	// A hundred ids were due during the stop; a quarter of all waited for half of it and more.
	if got := time.Duration(open.ValueAtQuantile(80)); got < stop/4 {
		t.Errorf("p80 is %v, want the ids that were due during the stop to count", got)
	}
	if err := latencies(closed, sleeps(time.Microsecond, 100, stop), 0, length); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(closed.ValueAtQuantile(99)); got > stop/2 {
		t.Errorf("p99 of a closed loop is %v, want one slow call of many", got)
	}
	if got := time.Duration(closed.Max()); got < stop {
		t.Errorf("the longest call took %v, want %v", got, stop)
	}
}

func TestOpenLoopThatCannotKeepItsRate(t *testing.T) {
	t.Parallel()
	h := hdrhistogram.New(1, int64(time.Minute), 3)
	if err := latencies(h, sleeps(time.Millisecond, 0, 0), 1e6, time.Millisecond); err == nil {
		t.Error("a thousand ids of a millisecond each at a million a second succeed")
	}
}
