// Package measure times contenders: how many ids a second they make, and how long a single one takes.
package measure

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Throughput is one measurement.
type Throughput struct {
	IDs     int64
	Elapsed time.Duration // from the common start to the last goroutine's end
	Allocs  float64       // per id, of the whole process
	Bytes   float64       // per id, of the whole process
}

// NsPerID returns wall nanoseconds per id, all goroutines together.
func (t Throughput) NsPerID() float64 { return float64(t.Elapsed.Nanoseconds()) / float64(t.IDs) }

// batchTime is how long a goroutine works between two looks at the clock: long enough for the look not to count.
const batchTime = 50 * time.Microsecond

// Run makes ids on the given number of goroutines for about d and returns what came of it. It runs on as many processors as
// GOMAXPROCS says.
func Run(in *contender.Instance, goroutines int, d time.Duration) (Throughput, error) {
	batch, err := calibrate(in)
	if err != nil {
		return Throughput{}, err
	}
	runtime.GC()
	var (
		wg    sync.WaitGroup
		ready sync.WaitGroup
		begin = make(chan struct{})
		parts = make([]part, goroutines)
		start time.Time
		m0    runtime.MemStats
		m1    runtime.MemStats
	)
	ready.Add(goroutines)
	for g := range parts {
		wg.Go(func() {
			ready.Done()
			<-begin
			parts[g] = work(in, batch, start, d)
		})
	}
	ready.Wait()
	runtime.ReadMemStats(&m0)
	start = time.Now()
	close(begin)
	wg.Wait()
	runtime.ReadMemStats(&m1)

	var t Throughput
	var errs []error
	for _, p := range parts {
		t.IDs += p.ids
		t.Elapsed = max(t.Elapsed, p.end)
		errs = append(errs, p.err)
	}
	if err := errors.Join(errs...); err != nil {
		return t, err
	}
	t.Allocs = float64(m1.Mallocs-m0.Mallocs) / float64(t.IDs)
	t.Bytes = float64(m1.TotalAlloc-m0.TotalAlloc) / float64(t.IDs)
	return t, nil
}

// part is one goroutine's share.
type part struct {
	ids int64
	end time.Duration // since the common start
	err error
}

// work makes batches until d has passed since start.
func work(in *contender.Instance, batch int, start time.Time, d time.Duration) part {
	var p part
	for p.end < d {
		if p.err = in.Run(batch); p.err != nil {
			break
		}
		p.ids += int64(batch)
		p.end = time.Since(start)
	}
	return p
}

// calibrate returns a batch size that takes about batchTime, and warms the instance up.
func calibrate(in *contender.Instance) (int, error) {
	for n := 1; ; n *= 2 {
		start := time.Now()
		if err := in.Run(n); err != nil {
			return 0, err
		}
		if time.Since(start) >= batchTime || n >= 1<<20 {
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
func Heap(start func() (*contender.Instance, error)) (int64, error) {
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	in, err := start()
	if err != nil {
		return 0, err
	}
	runtime.GC()
	runtime.ReadMemStats(&m1)
	in.Close()
	return max(0, int64(m1.HeapAlloc)-int64(m0.HeapAlloc)), nil
}
