// Package measure times contenders: how fast they make ids, how long a single one takes, and which
// ids come out.
package measure

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
)

// batchTime is how long a goroutine works between two readings of the clock: long enough for a
// reading not to count, and short against a slice.
const batchTime = 20 * time.Microsecond

// Tries is how often a short measurement is repeated to find a calm one.
const Tries = 5

// Sample is one measurement of a contender's pace.
type Sample struct {
	NsPerID float64 // wall time, all goroutines together
	Allocs  float64 // per id, of the whole process
}

// Pace makes ids on the given number of goroutines for about d, up to tries times, and returns the
// calmest measurement.
func Pace(in contender.Instance, goroutines int, d time.Duration, tries int) (Sample, error) {
	batch, err := calibrate(in)
	if err != nil {
		return Sample{}, err
	}
	return calmest(tries, preemptions, func() (Sample, error) {
		return pace(in, goroutines, batch, d)
	})
}

func pace(in contender.Instance, goroutines, batch int, d time.Duration) (Sample, error) {
	var (
		wg     sync.WaitGroup
		ready  atomic.Int64
		begin  atomic.Bool
		start  time.Time
		parts  = make([]part, goroutines)
		m0, m1 runtime.MemStats
	)
	for g := range parts {
		wg.Go(func() {
			ready.Add(1)
			for !begin.Load() {
				runtime.Gosched() // a channel would start them one after another
			}
			parts[g].work(in, batch, start, d)
		})
	}
	for ready.Load() < int64(goroutines) {
		runtime.Gosched()
	}
	runtime.ReadMemStats(&m0)
	start = time.Now()
	begin.Store(true)
	wg.Wait()
	runtime.ReadMemStats(&m1)
	var ids int64
	var perNs float64
	var errs []error
	for _, p := range parts {
		ids += p.ids
		perNs += float64(p.ids) / float64(p.took)
		errs = append(errs, p.err)
	}
	allocs := float64(m1.Mallocs-m0.Mallocs) / float64(ids)
	return Sample{NsPerID: 1 / perNs, Allocs: allocs}, errors.Join(errs...)
}

// part is one goroutine's share.
type part struct {
	ids  int64
	took time.Duration // since the common start, so that waiting for a processor counts
	err  error
}

// work makes batches until d has passed since start.
func (p *part) work(in contender.Instance, batch int, start time.Time, d time.Duration) {
	for p.took < d && p.err == nil {
		p.err = in.Run(batch)
		p.ids += int64(batch)
		p.took = time.Since(start)
	}
}

// calibrate returns a batch size that takes about batchTime, and warms the instance up. A size
// counts only if it takes that long twice: the machine may have been busy with something else.
func calibrate(in contender.Instance) (int, error) {
	for n, slow := 1, 0; ; {
		start := time.Now()
		if err := in.Run(n); err != nil {
			return 0, err
		}
		if time.Since(start) < batchTime && n < 1<<20 {
			n, slow = 2*n, 0
		} else if slow++; slow == 2 {
			return n, nil
		}
	}
}

// WithProcs runs f with GOMAXPROCS set to n and sets it back.
func WithProcs(n int, f func() error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	return f()
}

// Procs returns 1, 2, 4, ... and the number of processors, in ascending order and each once.
func Procs() []int {
	var out []int
	n := runtime.NumCPU()
	for p := 1; p < n; p *= 2 {
		out = append(out, p)
	}
	return append(out, n)
}

// Heap returns the bytes of live heap that an instance holds.
func Heap(start func() (contender.Instance, error)) (int64, error) {
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	in, err := start()
	if err != nil {
		return 0, err
	}
	runtime.GC()
	runtime.ReadMemStats(&m1)
	defer in.Close() // the instance is alive until then
	return max(0, int64(m1.HeapAlloc)-int64(m0.HeapAlloc)), nil
}
