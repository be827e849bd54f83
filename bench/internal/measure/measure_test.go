package measure_test

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
)

// counting returns an instance that counts, hands every id out times times, and fails from the id fail on; 0: never.
func counting(times, fail int64) (*contender.Instance, *atomic.Int64) {
	n := new(atomic.Int64)
	take := func() (int64, error) {
		i := n.Add(1)
		if fail > 0 && i >= fail {
			return 0, errTest
		}
		return (i - 1) / times, nil
	}
	return &contender.Instance{
		Close: func() {},
		Run: func(c int) error {
			for range c {
				if _, err := take(); err != nil {
					return err
				}
			}
			return nil
		},
		Keys: func(dst []contender.Key) error {
			for i := range dst {
				id, err := take()
				if err != nil {
					return err
				}
				dst[i].Lo = uint64(id)
			}
			return nil
		},
	}, n
}

var errTest = errors.New("test")

func TestRunCountsEveryID(t *testing.T) {
	t.Parallel()
	in, n := counting(1, 0)
	got, err := measure.Run(in, 3, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// Calibration makes ids that belong to no measurement.
	if got.IDs <= 0 || got.IDs > n.Load() {
		t.Errorf("IDs = %d, want 1..%d, all that were made", got.IDs, n.Load())
	}
	if got.Elapsed < 5*time.Millisecond {
		t.Errorf("Elapsed = %v, want at least 5ms", got.Elapsed)
	}
	if want := float64(got.Elapsed.Nanoseconds()) / float64(got.IDs); got.NsPerID() != want {
		t.Errorf("NsPerID = %v, want %v", got.NsPerID(), want)
	}
}

func TestErrorsEndAMeasurement(t *testing.T) {
	t.Parallel()
	in, _ := counting(1, 1_000_000)
	if _, err := measure.Run(in, 2, time.Hour); !errors.Is(err, errTest) {
		t.Errorf("Run: %v, want %v", err, errTest)
	}
	in, _ = counting(1, 100)
	if _, err := measure.FullLoad(in, 2, time.Hour); !errors.Is(err, errTest) {
		t.Errorf("FullLoad: %v, want %v", err, errTest)
	}
	in, _ = counting(1, 100)
	if _, err := measure.Paced(in, 1, 1e6, time.Hour); !errors.Is(err, errTest) {
		t.Errorf("Paced: %v, want %v", err, errTest)
	}
	in, _ = counting(1, 100)
	if _, err := measure.Unique(in, 2, 1000); !errors.Is(err, errTest) {
		t.Errorf("Unique: %v, want %v", err, errTest)
	}
}

func TestUnique(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times int64
		want  int
	}{{1, 0}, {2, 500}, {4, 750}} {
		in, _ := counting(tt.times, 0)
		got, err := measure.Unique(in, 4, 1000)
		if err != nil || got != tt.want {
			t.Errorf("ids handed out %d times: %d duplicates, %v, want %d", tt.times, got, err, tt.want)
		}
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	k := func(hi, lo uint64, ext uint32) contender.Key { return contender.Key{Hi: hi, Lo: lo, Ext: ext} }
	for _, tt := range []struct {
		name string
		keys []contender.Key
		want int
	}{
		{"none", nil, 0},
		{"all differ in one field", []contender.Key{k(0, 0, 1), k(0, 1, 0), k(1, 0, 0), k(0, 0, 0)}, 0},
		{"a pair apart", []contender.Key{k(1, 2, 3), k(9, 9, 9), k(1, 2, 3)}, 1},
		{"three of a kind and a pair", []contender.Key{k(1, 0, 0), k(2, 0, 0), k(1, 0, 0), k(2, 0, 0), k(1, 0, 0)}, 3},
	} {
		if got := measure.Duplicates(tt.keys); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Each id of a paced run is due at its own time: as many come as the rate and the duration make.
func TestPacedMakesWhatIsDue(t *testing.T) {
	t.Parallel()
	in, _ := counting(1, 0)
	got, err := measure.Paced(in, 4, 10_000, 50*time.Millisecond)
	if err != nil || got.IDs != 500 {
		t.Errorf("%d ids, %v, want 500", got.IDs, err)
	}
	if n := got.Response.TotalCount(); n != 500 {
		t.Errorf("%d responses, want 500", n)
	}
}

// A call that stalls makes the ids behind it late. The service time sees one slow call, the response time all that waited.
func TestPacedSeesOmittedWaiting(t *testing.T) {
	t.Parallel()
	calls := 0
	in := &contender.Instance{Close: func() {}, Run: func(int) error {
		if calls++; calls == 10 {
			time.Sleep(40 * time.Millisecond)
		}
		return nil
	}}
	got, err := measure.Paced(in, 1, 1000, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// 40 ids were due during the stall, evenly spread; half of them waited for 20 ms or longer.
	late := int64(0)
	for _, b := range got.Response.Distribution() {
		if b.From >= (15 * time.Millisecond).Nanoseconds() {
			late += b.Count
		}
	}
	if late < 20 {
		t.Errorf("%d responses of 15 ms and more, want 20 at least", late)
	}
	if p := got.Service.ValueAtQuantile(50); p > (10 * time.Millisecond).Nanoseconds() {
		t.Errorf("median service time is %d ns, want that of a call that does nothing", p)
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

func TestHeap(t *testing.T) {
	const size = 8 << 20
	got, err := measure.Heap(func() (*contender.Instance, error) {
		buf := make([]byte, size)
		return &contender.Instance{Close: func() { runtime.KeepAlive(buf) }}, nil
	})
	if err != nil || got < size*9/10 || got > 2*size {
		t.Errorf("Heap = %d, %v, want about %d", got, err, size)
	}
}
