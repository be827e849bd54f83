package soak

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

// Comeback is how long a process may take after a fault until it has ids of every kind: the longest
// pause of a generator's keeper is 15 s, one attempt may hang for 10 s, a server that failed rests
// for 10 s, and the machine may be busy.
const Comeback = time.Minute

// errEnded is part of the error of a process that ended by itself, which may have no other error.
var errEnded = errors.New("the process ended by itself")

// Fleet has the processes that run at one time, and records what must not happen. Its methods are
// safe for concurrent use.
type Fleet struct {
	kinds []string // of ids: their names

	mu      sync.Mutex               // guards the fields below
	slots   []*Process               // nil while the slot is between two processes
	started int                      // how many processes were started
	errs    map[string]int64         // how many errors of each kind callers got
	longest map[string]time.Duration // the longest recovery after each fault
	bad     []error                  // what must not happen, and did
}

// NewFleet returns a fleet of n empty slots, whose processes have ids of the given kinds.
func NewFleet(n int, kinds ...string) *Fleet {
	return &Fleet{kinds: kinds, slots: make([]*Process, n), errs: map[string]int64{},
		longest: map[string]time.Duration{}}
}

// Start starts a process in an empty slot. job gets the process's number, from 1 on.
func (f *Fleet) Start(slot int, job func(serial int) Job) error {
	f.mu.Lock()
	f.started++
	serial := f.started
	f.mu.Unlock()
	p, err := start(job(serial), len(f.kinds))
	if err != nil {
		return fmt.Errorf("starting a worker process: %w", err)
	}
	f.put(slot, p)
	return nil
}

// Fill starts a process in every slot. After an error it stops them.
func (f *Fleet) Fill(start func(slot int) error) error {
	for i := range f.slots {
		if err := start(i); err != nil {
			return errors.Join(err, f.Stop())
		}
	}
	return nil
}

// take empties a slot and returns its process. It returns nil, and leaves the slot as it is, if the
// slot is empty or its process is paused.
func (f *Fleet) take(slot int) *Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.slots[slot]
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet {
		return nil
	}
	f.slots[slot] = nil
	return p
}

// put fills a slot.
func (f *Fleet) put(slot int, p *Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots[slot] = p
}

// Len returns how many slots there are.
func (f *Fleet) Len() int { return len(f.slots) }

// Sleep pauses the process of a slot until wake is called. p is nil if the slot is empty or its
// process is paused.
func (f *Fleet) Sleep(slot int) (p *Process, wake func()) {
	if p = f.take(slot); p == nil {
		return nil, nil
	}
	p.pause()
	f.put(slot, p)
	return p, p.resume
}

// Replace kills the process of a slot and starts another one with start, unless the slot is empty
// or its process is paused. It reports whether it did.
func (f *Fleet) Replace(slot int, start func(slot int) error) bool {
	p := f.take(slot)
	if p == nil {
		return false
	}
	f.Failure(p.Kill())
	f.Failure(start(slot))
	return true
}

// At returns the process of a slot, or nil if the slot is empty.
func (f *Fleet) At(slot int) *Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots[slot]
}

// Running returns the processes of all slots.
func (f *Fleet) Running() (all []*Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.slots {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// Failed counts an error of a kind that a caller got, and returns how many of it there are.
func (f *Fleet) Failed(kind string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[kind]++
	return f.errs[kind]
}

// Failure records something that must not happen. It ignores nil.
func (f *Fleet) Failure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.bad = append(f.bad, err)
	}
}

// Bad reports whether something has happened that must not.
func (f *Fleet) Bad() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bad) > 0
}

// Summary is what a fleet has recorded.
type Summary struct {
	Starts     int
	Errors     map[string]int64         // how many errors of each kind callers got
	Recovery   time.Duration            // the longest time that Await took
	RecoveryOf string                   // the fault before it
	Longest    map[string]time.Duration // the same for each fault
	Failures   []string                 // what must not happen, and did; never nil
}

// Summary returns what was recorded so far.
func (f *Fleet) Summary() Summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Summary{Starts: f.started, Errors: maps.Clone(f.errs), Longest: maps.Clone(f.longest),
		Failures: []string{}}
	for after, d := range f.longest {
		if d > s.Recovery {
			s.Recovery, s.RecoveryOf = d, after
		}
	}
	for _, err := range f.bad {
		s.Failures = append(s.Failures, err.Error())
	}
	return s
}

// Await waits until every process that runs, and is to have ids, has handed out ids of every kind
// that it took after the call. A process that does not within Comeback, or that ends by itself, is
// a failure. After a failure nothing more is awaited: the run is over.
func (f *Fleet) Await(after string) {
	begin := time.Now()
	before := map[*Process][]int64{}
	for _, p := range f.Running() {
		before[p], _ = p.count()
	}
	for len(before) > 0 && !f.Bad() {
		time.Sleep(10 * time.Millisecond)
		late := time.Since(begin) > Comeback
		maps.DeleteFunc(before, func(p *Process, then []int64) bool {
			now, running := p.count()
			waits := ""
			for k := range now {
				// One frame may have been on its way at the call, so two have to arrive.
				if running && now[k] < then[k]+2 {
					waits = f.kinds[k]
				}
			}
			if err := p.gone(); err != nil {
				if running {
					f.Failure(err)
				}
				return true
			}
			if waits != "" && late {
				f.Failure(fmt.Errorf("%s: no %s within %v after %s", p.Name, waits, Comeback,
					after))
			}
			return waits == "" || late
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.longest[after] = max(f.longest[after], time.Since(begin))
}

// Stop ends all processes cleanly, and returns what must not have happened.
func (f *Fleet) Stop() error {
	var wg sync.WaitGroup
	for _, p := range f.Running() {
		wg.Go(func() { f.Failure(p.Stop()) })
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.bad...)
}

// End is a way for a process to end and be followed by another one.
type End struct {
	Name string
	End  func(*Process) error // nil: it does not end, and is paused with SIGSTOP
	Away time.Duration        // at most that long until the next one starts
}

// Harm ends and pauses processes until stop is closed, each time in one of the ways in ends. A
// pause is no longer than most. start starts the next process of a slot. Harm returns when all have
// come back.
func (f *Fleet) Harm(r *rand.Rand, stop <-chan struct{}, most time.Duration, counts *Counts,
	ends []End, start func(slot int) error) {
	var later sync.WaitGroup
	defer later.Wait()
	for Pause(stop, Between(r, 200*time.Millisecond, 1500*time.Millisecond)) {
		slot, e := r.IntN(len(f.slots)), ends[r.IntN(len(ends))]
		lasts := Between(r, most/20, most)
		away := time.Duration(0)
		if r.IntN(3) > 0 {
			away = Between(r, 0, e.Away)
		}
		p := f.take(slot)
		if p == nil {
			continue
		}
		counts.Add(e.Name)
		if e.End == nil {
			p.pause()
			f.put(slot, p)
			later.Go(func() {
				Pause(stop, lasts)
				p.resume()
			})
			continue
		}
		later.Go(func() {
			f.Failure(e.End(p))
			Pause(stop, away)
			f.Failure(start(slot))
		})
	}
}
