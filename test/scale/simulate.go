package main

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// The constants of workernode's claims that decide how a fleet shares the free rows.
const (
	candidates = 128
	tries      = 8
	firstPause = 20 * time.Millisecond
	lastPause  = 3 * time.Second
	idle       = 2 * time.Second // how long a connection stays open after its last statement
)

// How many statements an attempt has before its first UPDATE, and after the UPDATE that succeeds.
const (
	before, after = 3, 3
)

// event is a process's next step. Times are since the fleet's start.
type event struct {
	at   time.Duration
	step func(now time.Duration)
}

// events is a heap of events, the earliest first.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(v any) {
	if next, ok := v.(event); ok {
		*e = append(*e, next)
	}
}
func (e *events) Pop() any {
	old := *e
	v := old[len(old)-1]
	*e = old[:len(old)-1]
	return v
}

// simulation is a fleet whose processes claim free rows of one server, all at once.
type simulation struct {
	cost        time.Duration   // what a statement takes on one processor of the server
	processors  []time.Duration // when each of them is free
	connections int             // how many the server has left
	queue       events
	rows        []int32 // the free rows in their order, and some that were taken lately
	taken       []bool  // by row
	r           *rand.Rand

	removed    int             // how many rows had been taken when look last removed them from rows
	took       []time.Duration // when each process got its row; in ascending order at the end
	statements int             // how many were executed
	refused    int             // how many connections were refused
}

// simulate lets n processes claim n free rows. The same arguments give the same result.
func simulate(n, processors, connections int, cost time.Duration) *simulation {
	s := &simulation{cost: cost, processors: make([]time.Duration, processors),
		connections: connections,
		taken:       make([]bool, n), r: rand.New(rand.NewPCG(1, uint64(n)))}
	for i := range n {
		s.rows = append(s.rows, int32(i))
		s.in(0, func(now time.Duration) { s.attempt(now, firstPause, 0, false) })
	}
	heap.Init(&s.queue)
	for len(s.queue) > 0 {
		if e, ok := heap.Pop(&s.queue).(event); ok {
			e.step(e.at)
		}
	}
	slices.Sort(s.took)
	return s
}

// in lets step run at a time.
func (s *simulation) in(at time.Duration, step func(time.Duration)) {
	heap.Push(&s.queue, event{at, step})
}

// run lets the least busy processor execute a number of statements, and then calls done.
func (s *simulation) run(now time.Duration, statements int, done func(time.Duration)) {
	s.statements += statements
	p := 0
	for i, free := range s.processors {
		if free < s.processors[p] {
			p = i
		}
	}
	s.processors[p] = max(now, s.processors[p]) + time.Duration(statements)*s.cost
	s.in(s.processors[p], done)
}

// attempt looks for free rows and tries to take one, after connecting if no connection is open. The
// connection stays open during the pause before the next attempt, unless that is longer than idle.
func (s *simulation) attempt(now, pause time.Duration, offset int, open bool) {
	again := func(now time.Duration, offset int, open bool) {
		wait := pause/2 + time.Duration(s.r.Int64N(int64(pause/2)))
		if open && wait > idle {
			s.in(now+idle, func(time.Duration) { s.connections++ })
			open = false
		}
		s.in(now+wait, func(now time.Duration) {
			s.attempt(now, min(2*pause, lastPause), offset, open)
		})
	}
	if !open {
		if s.connections == 0 {
			s.refused++
			again(now, offset, false)
			return
		}
		s.connections--
	}
	s.run(now, before, func(now time.Duration) {
		seen := s.look(offset)
		s.r.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
		s.take(now, seen[:min(tries, len(seen))], func(now time.Duration) {
			again(now, max(candidates, 2*offset), true)
		})
	})
}

// look returns the free rows that one read of the table finds.
func (s *simulation) look(offset int) []int32 {
	if len(s.took)-s.removed > len(s.taken)/1000 {
		s.removed = len(s.took)
		s.rows = slices.DeleteFunc(s.rows, func(row int32) bool { return s.taken[row] })
	}
	skip := 0
	if offset > 0 {
		skip = s.r.IntN(offset)
	}
	if skip >= len(s.rows) {
		skip = 0
	}
	return slices.Clone(s.rows[skip:min(skip+candidates, len(s.rows))])
}

// take tries the rows one by one, and calls giveUp if all of them are taken.
func (s *simulation) take(now time.Duration, rows []int32, giveUp func(time.Duration)) {
	if len(rows) == 0 {
		giveUp(now)
		return
	}
	s.run(now, 1, func(now time.Duration) {
		if s.taken[rows[0]] {
			s.take(now, rows[1:], giveUp)
			return
		}
		s.taken[rows[0]] = true
		s.run(now, after, func(now time.Duration) {
			s.took = append(s.took, now)
			s.in(now+idle, func(time.Duration) { s.connections++ })
		})
	})
}

// printSimulation writes a table of simulated fleets, most of them too large for one machine. The
// cost of a statement is that of starts which have the machine for themselves. It includes client,
// server and disk.
func (r *result) printSimulation(w io.Writer) {
	var costs []time.Duration
	for _, m := range r.Runs {
		if m.Kind == leased && m.Scenario == rolling {
			costs = append(costs, time.Duration(float64(m.median())/m.PerStart["Questions"]))
		}
	}
	processors := 0
	_, err := fmt.Sscanf(r.Machine, "%d processors", &processors)
	if err != nil || len(costs) == 0 {
		return
	}
	slices.Sort(costs)
	cost := costs[len(costs)/2]
	fmt.Fprintf(w, "\nSimulated with %v a statement and processor, %d processors:\n\n",
		cost.Round(time.Microsecond), processors)
	fmt.Fprintln(w, "| processes | connections | median | slowest | statements "+
		"| refused connections |")
	fmt.Fprintln(w, "| ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range []struct{ n, connections int }{
		{200, 1000}, {200, 151}, {10_000, 1000}, {10_000, 10_000}, {100_000, 1000},
		{100_000, 10_000},
	} {
		s := simulate(c.n, processors, c.connections, cost)
		n := float64(c.n)
		fmt.Fprintf(w, "| %d | %d | %s | %s | %.1f | %.1f |\n", c.n, c.connections,
			text(s.took[c.n/2]), text(s.took[c.n-1]), float64(s.statements)/n, float64(s.refused)/n)
	}
}
