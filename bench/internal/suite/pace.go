package suite

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

// tries is how often a short measurement is repeated to find a calm one.
const tries = 5

// once returns the wall nanoseconds per id, to a picosecond, of a fresh generator that so many
// goroutines use for about d, all goroutines together. Of a short d it is the calmest measurement.
func once(start contender.Start, goroutines int, d time.Duration) (ns float64, err error) {
	n := 1
	if d == contender.Short {
		n = tries
	}
	err = fresh(start, func(run contender.Loop) error {
		batch, err := calibrate(run)
		if err == nil {
			ns, err = calmest(n, preemptions, func() (float64, error) {
				return pace(run, goroutines, batch, d)
			})
		}
		return err
	})
	return float64(int64(ns*1000+0.5)) / 1000, err
}

func pace(run contender.Loop, goroutines, batch int, d time.Duration) (float64, error) {
	var (
		wg    sync.WaitGroup
		ready atomic.Int64
		begin atomic.Bool
		start time.Time
		rates = make([]float64, goroutines) // ids a nanosecond
		errs  = make([]error, goroutines)
	)
	for g := range goroutines {
		wg.Go(func() {
			ready.Add(1)
			for !begin.Load() {
				runtime.Gosched() // a channel would start them one after another
			}
			rates[g], errs[g] = work(run, batch, start, d)
		})
	}
	for ready.Load() < int64(goroutines) {
		runtime.Gosched()
	}
	start = time.Now()
	begin.Store(true)
	wg.Wait()
	all := 0.0
	for _, rate := range rates {
		all += rate
	}
	return 1 / all, errors.Join(errs...)
}

// work makes batches until d has passed since the common start, so that waiting for a processor
// counts, and returns ids a nanosecond.
func work(run contender.Loop, batch int, start time.Time, d time.Duration) (float64, error) {
	for ids := batch; ; ids += batch {
		if err := run(batch); err != nil {
			return 0, err
		}
		if took := time.Since(start); took >= d {
			return float64(ids) / float64(took), nil
		}
	}
}

// calibrate returns a batch size that takes about batchTime, and warms the generator up. A size
// counts only if it takes that long twice: the machine may have been busy with something else.
func calibrate(run contender.Loop) (int, error) {
	for n, slow := 1, 0; ; {
		start := time.Now()
		if err := run(n); err != nil {
			return 0, err
		}
		if time.Since(start) < batchTime && n < 1<<20 {
			n, slow = 2*n, 0
		} else if slow++; slow == 2 {
			return n, nil
		}
	}
}
