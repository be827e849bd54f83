package suite

import (
	"container/heap"
	"context"
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
	for p := 1; p < 2*runtime.NumCPU(); p *= 2 {
		loads = append(loads, load{min(p, runtime.NumCPU()), min(p, runtime.NumCPU())})
	}
	list := contender.Pick(contender.AddCalled, contender.AddOwn, contender.OneLane,
		contender.ManyLanes, contender.WUID, contender.Bwmarrin)
	if err := paces(ctx, f, "measured", list, loads, pick(c, 5, 100)); err != nil {
		return err
	}
	err := rounds(ctx, pick(c, 5, 30), func(int) error {
		short, err := once(contender.Cached(&uid.Options{RunLength: 1}), 1, contender.Short)
		if err != nil {
			return err
		}
		long, err := once(contender.Cached(nil), 1, contender.Short)
		f.Add("cost", "an id, RunLength 1", "ns", "ns", short, err)
		f.Add("cost", "an id", "ns", "ns", long, err)
		if procs() > 1 {
			least := transfer(500)
			for range 10 {
				least = min(least, transfer(500))
			}
			f.Add("cost", "a transfer of a line", "ns", "ns", least, nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	// The least: a goroutine that is interrupted keeps the other one waiting.
	cost := func(name string) float64 {
		return slices.Min(append(f.Get("cost", name, "ns").Values, math.Inf(1)))
	}
	for _, times := range []float64{1, 4} {
		for _, many := range []bool{false, true} {
			name := "one lane"
			if many {
				name = "many lanes"
			}
			name += fmt.Sprintf(", a transfer %g times as measured", times)
			for p := 1; p <= 128; p *= 2 {
				m := machine{procs: p, many: many, call: cost("an id"),
					refill:   cost("an id, RunLength 1") - cost("an id"),
					transfer: times * cost("a transfer of a line")}
				for seed := range uint64(5) {
					rate := m.run(seed, pick(c, 20_000, 200_000))
					f.Add("simulated", name, fmt.Sprint(p), "M/s", rate, nil)
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
// others have moved apart, as seats do.
func (m machine) run(seed uint64, calls int) float64 {
	calls = max(2000, calls/m.procs)
	random := rand.New(rand.NewPCG(seed, 1))
	seats, length := 1, 2048
	if m.many {
		seats, length = 8<<bits.Len(uint(8*m.procs-1)), 512
	}
	lanes, ring := map[int]*line{}, line{at: -1}
	q := make(queue, m.procs)
	for p := range q {
		seat := random.IntN(seats)
		if lanes[seat] == nil {
			lanes[seat] = &line{at: -1}
		}
		q[p] = &caller{processor: p, lane: lanes[seat], left: calls, ready: random.Float64()}
	}
	heap.Init(&q)
	for q[0].left > 0 {
		c := q[0]
		c.ready = c.lane.use(c.ready, c.processor, m.call, m.transfer)
		if c.lane.left--; c.lane.left < 0 {
			c.ready = ring.use(c.ready, c.processor, m.refill, m.transfer)
			c.lane.free, c.lane.left = c.ready, length
		}
		c.left--
		heap.Fix(&q, 0)
	}
	made := 0
	for _, c := range q {
		made += calls - c.left
	}
	return 1e3 * float64(made) / q[0].ready
}

// caller is a goroutine on a processor of its own.
type caller struct {
	processor, left int
	lane            *line
	ready           float64
}

// queue has the caller that is ready first in front.
type queue []*caller

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].ready < q[j].ready }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(any)          {}
func (q *queue) Pop() any          { return nil }
