package measure_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/uid"
)

var errTest = errors.New("test")

// counter hands every number out so many times, leaves one in skip out, and fails from the call
// fail on; 0: never.
type counter struct {
	n                 atomic.Int64
	times, skip, fail int64
}

func (c *counter) take() (int64, error) {
	i := c.n.Add(1)
	if c.fail > 0 && i >= c.fail {
		return 0, errTest
	}
	i = (i - 1) / max(1, c.times)
	if c.skip > 0 {
		i += i / c.skip
	}
	return i, nil
}

func (c *counter) Close() {}

func (c *counter) Run(n int) error {
	for range n {
		if _, err := c.take(); err != nil {
			return err
		}
	}
	return nil
}

func (c *counter) Keys(dst []contender.Key) error {
	for i := range dst {
		id, err := c.take()
		if err != nil {
			return err
		}
		dst[i].Lo = uint64(id)
	}
	return nil
}

// generator is a counter as a uid.Generator. Only Next is called.
type generator struct {
	uid.Generator
	counter
}

func (g *generator) Next(context.Context) (uid.ID, error) {
	id, err := g.take()
	return uid.ID(id), err
}

func (g *generator) Close() error { return nil }

// sleeper takes a millisecond an id on every goroutine.
type sleeper struct{ counter }

func (s *sleeper) Run(n int) error {
	time.Sleep(time.Duration(n) * time.Millisecond)
	return s.counter.Run(n)
}

// The time per id is the wall time of all goroutines together: times the ids it is the elapsed
// time.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, goroutines := range []int{1, 4} {
		s, d := new(sleeper), 20*time.Millisecond
		start := time.Now()
		got, err := measure.Pace(s, goroutines, d, 1)
		most := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		ids := s.n.Load() - 2 // that is what calibration takes
		if took := time.Duration(got.NsPerID * float64(ids)); took < d || took > most {
			t.Errorf("%d goroutines: %v ns per id for %d ids, want %v to %v in all",
				goroutines, got.NsPerID, ids, d, most)
		}
		if least := 0.99e6 / float64(goroutines); got.NsPerID < least {
			t.Errorf("%d goroutines: %v ns per id, want %v and more", goroutines, got.NsPerID, least)
		}
		if got.Allocs < 0 || math.IsNaN(got.Allocs) {
			t.Errorf("%v allocations per id", got.Allocs)
		}
	}
}

func TestErrorsEndAMeasurement(t *testing.T) {
	t.Parallel()
	if _, err := measure.Pace(&counter{fail: 1_000_000}, 2, time.Hour, 5); !errors.Is(err, errTest) {
		t.Errorf("Pace: %v, want %v", err, errTest)
	}
	if _, err := measure.FullLoad(&counter{fail: 100}, 2, time.Hour); !errors.Is(err, errTest) {
		t.Errorf("FullLoad: %v, want %v", err, errTest)
	}
	if _, err := measure.Paced(&counter{fail: 100}, 1, 1e6, time.Hour); !errors.Is(err, errTest) {
		t.Errorf("Paced: %v, want %v", err, errTest)
	}
	if _, err := measure.Duplicates(&counter{fail: 100}, 2, 1000); !errors.Is(err, errTest) {
		t.Errorf("Duplicates: %v, want %v", err, errTest)
	}
	g := &generator{counter: counter{fail: 100}}
	if _, _, err := measure.Skipped(g, 2, 1000, position); !errors.Is(err, errTest) {
		t.Errorf("Skipped: %v, want %v", err, errTest)
	}
}

func position(id uid.ID) int64 { return int64(id) + 1000 }

func TestDuplicates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times int64
		want  int
	}{{1, 0}, {2, 500}, {4, 750}} {
		if got, err := measure.Duplicates(&counter{times: tt.times}, 4, 1000); err != nil || got != tt.want {
			t.Errorf("ids handed out %d times: %d duplicates, %v, want %d", tt.times, got, err, tt.want)
		}
	}
}

func TestSkipped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times, skip         int64
		skipped, duplicates int
	}{
		{1, 0, 0, 0},
		{1, 100, 9, 0}, // of 1,000 numbers, each hundredth but the last one has a successor
		{2, 0, 0, 500},
		{2, 100, 4, 500},
	} {
		g := &generator{counter: counter{times: tt.times, skip: tt.skip}}
		skipped, duplicates, err := measure.Skipped(g, 4, 1000, position)
		if err != nil || skipped != tt.skipped || duplicates != tt.duplicates {
			t.Errorf("%+v: %d skipped, %d duplicates, %v", tt, skipped, duplicates, err)
		}
	}
}

// Each id of a paced run is due at its own time: as many come as the rate and the duration make.
func TestPacedMakesWhatIsDue(t *testing.T) {
	t.Parallel()
	c := new(counter)
	h, err := measure.Paced(c, 4, 10_000, 50*time.Millisecond)
	if err != nil || h.TotalCount() != 500 || c.n.Load() != 500 {
		t.Errorf("%d times of %d ids, %v, want 500", h.TotalCount(), c.n.Load(), err)
	}
}

// staller takes 40 ms for its tenth id and no time for the others.
type staller struct{ counter }

func (s *staller) Run(int) error {
	if n, _ := s.take(); n == 9 {
		time.Sleep(40 * time.Millisecond)
	}
	return nil
}

// A call that stalls makes the ids after it late, and their times say so.
func TestPacedSeesOmittedWaiting(t *testing.T) {
	t.Parallel()
	h, err := measure.Paced(new(staller), 1, 1000, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// 40 ids were due during the stall, evenly spread; half of them waited for 20 ms or longer.
	late := int64(0)
	for _, b := range h.Distribution() {
		if b.From >= (15 * time.Millisecond).Nanoseconds() {
			late += b.Count
		}
	}
	if late < 20 {
		t.Errorf("%d ids of 15 ms and more, want 20 at least", late)
	}
}

func TestProcs(t *testing.T) {
	t.Parallel()
	got := measure.Procs()
	if got[0] != 1 || got[len(got)-1] != runtime.NumCPU() || !slices.IsSorted(got) {
		t.Errorf("Procs = %v, want 1 up to %d", got, runtime.NumCPU())
	}
	if len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("Procs = %v, want each once", got)
	}
}

// holder keeps a buffer alive.
type holder struct {
	counter
	buf []byte
}

func TestHeap(t *testing.T) {
	const size = 8 << 20
	got, err := measure.Heap(func() (contender.Instance, error) {
		return &holder{buf: make([]byte, size)}, nil
	})
	if err != nil || got < size*9/10 || got > 2*size {
		t.Errorf("Heap = %d, %v, want about %d", got, err, size)
	}
}
