package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/uid"
)

// processors measures one goroutine on each of 1, 2, 4 and more processors, up to those of this
// machine, and what a simulation of the cache lines says up to 128.
func processors(ctx context.Context, c *Config, f *result.File) error {
	var loads []load
	for p := 1; p < 2*procs(); p *= 2 {
		loads = append(loads, on(min(p, procs()), min(p, procs())))
	}
	list := contender.Pick(contender.AddCalled, contender.AddOwn, contender.OneLane,
		contender.ManyLanes, contender.WUID, contender.Bwmarrin)
	alone := []contender.Contender{{Name: "an id", New: contender.Cached(nil)},
		{Name: "an id, RunLength 1", New: contender.Cached(&uid.Options{RunLength: 1})}}
	if err := errors.Join(paces(ctx, f, "measured", list, loads, pick(c, 5, 100)),
		rounds(ctx, pick(c, 5, 30), func(int) error {
			for range min(10, 10*(procs()-1)) { // there is none on one processor
				f.Add("cost", "a transfer of a line", "ns", "ns", transfer(500), nil)
			}
			return paces(ctx, f, "cost", alone, []load{{"ns", 1, procs()}}, 1)
		})); err != nil {
		return err
	}
	// The least: a goroutine that is interrupted keeps the other one waiting.
	cost := func(name string) float64 {
		return slices.Min(append(f.Get("cost", name, "ns").Values, math.Inf(1)))
	}
	calls := pick(c, 20_000, 200_000)
	for _, times := range []float64{1, 4} {
		for _, lanes := range []string{"one lane", "many lanes"} {
			name := fmt.Sprintf("%s, a transfer %g times as measured", lanes, times)
			for p := 1; p <= 128; p *= 2 {
				m := machine{procs: p, many: lanes == "many lanes", call: cost("an id"),
					refill:   cost("an id, RunLength 1") - cost("an id"),
					transfer: times * cost("a transfer of a line")}
				for seed := range uint64(5) {
					f.Add("simulated", name, fmt.Sprint(p), "M/s", m.run(seed, calls), nil)
				}
			}
		}
	}
	return nil
}

// transfer returns the nanoseconds in which a store of one processor becomes another's: two
// goroutines pass a word to and fro n times.
func transfer(n int64) float64 {
	var w struct {
		_ [128]byte
		v atomic.Int64
		_ [128]byte
	}
	var wg sync.WaitGroup
	var start time.Time
	for side := range int64(2) {
		wg.Go(func() {
			for i := side; i < n; i += 2 {
				for spins := 1; w.v.Load() != i; spins++ {
					if spins%(1<<16) == 0 { // the other one has no processor
						runtime.Gosched()
					}
				}
				if i == 1 { // both are at it
					start = time.Now()
				}
				w.v.Store(i + 1)
			}
		})
	}
	wg.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(n-2)
}

// machine is a computer as the simulation knows it: processors that call Next all the time, the
// lines of the lanes, and that of the ring. A line is at one processor at a time. Another one that
// wants it waits for those before it, and for the transfer. Nothing else takes time: no scheduler,
// no other work, and all transfers take as long. Times are in nanoseconds.
type machine struct {
	procs                  int
	many                   bool
	call, refill, transfer float64
}

// line is a cache line: where it is, from when on it is free, and of a lane what its run has left.
type line struct {
	at   int
	free float64
	left int
}

// use moves the line to a processor, keeps it for d and returns when that is over.
func (l *line) use(now float64, processor int, d, transfer float64) float64 {
	now = max(now, l.free)
	if l.at != processor {
		now += transfer
	}
	l.at, l.free = processor, now+d
	return l.free
}

// run simulates so many calls a processor and returns millions of ids a second. With many lanes, a
// goroutine's stack picks one of the seats at random; those of one seat stay on one lane, and all
// others have moved apart, as seats do. The first processor that has made its calls ends the run.
func (m machine) run(seed uint64, calls int) float64 {
	calls = max(2000, calls/m.procs)
	random := rand.New(rand.NewPCG(seed, 1))
	seats, length := 1, 2048
	if m.many {
		seats, length = 8<<bits.Len(uint(8*m.procs-1)), 512
	}
	lanes, ring := map[int]*line{}, line{at: -1}
	lane, ready := make([]*line, m.procs), make([]float64, m.procs) // by processor
	for p := range m.procs {
		seat := random.IntN(seats)
		if lanes[seat] == nil {
			lanes[seat] = &line{at: -1}
		}
		lane[p], ready[p] = lanes[seat], random.Float64()
	}
	made := make([]int, m.procs)
	for total := 0; ; total++ {
		p := slices.Index(ready, slices.Min(ready))
		if made[p] == calls {
			return 1e3 * float64(total) / ready[p]
		}
		l := lane[p]
		ready[p] = l.use(ready[p], p, m.call, m.transfer)
		if l.left--; l.left < 0 {
			ready[p] = ring.use(ready[p], p, m.refill, m.transfer)
			l.free, l.left = ready[p], length
		}
		made[p]++
	}
}
