package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// comeback is how long a source may take after a fault until every process has ids of it: a server
// that failed rests for 10 s, and the machine may be busy.
const comeback = time.Minute

// errEnded is part of the error of a process that ended by itself, which may have no other error.
var errEnded = errors.New("a process ended by itself")

// fleet has the processes that run at one time, and records what they report. Its methods are safe
// for concurrent use.
type fleet struct {
	ledgers  []*ledger    // by kind
	expanded atomic.Int64 // tickets from here on come from three servers, those below from two

	mu       sync.Mutex       // guards the fields below
	places   places           // of the next process
	slots    []*process       // nil while the slot is between two processes
	started  int              // how many processes were started
	falls    int64            // how many ids were not above the one before
	fall     string           // the first of them
	errs     map[string]int64 // how many errors of each kind callers got
	recovery time.Duration    // the longest recovery
	after    string           // the fault before it
	bad      []error          // what must not happen, and did
}

// newFleet starts n processes.
func newFleet(n int, p places) (*fleet, error) {
	f := &fleet{places: p, slots: make([]*process, n), errs: map[string]int64{}}
	f.expanded.Store(math.MaxInt64)
	for range kinds {
		f.ledgers = append(f.ledgers, &ledger{pages: map[int64]*[pageBits / 64]uint64{}})
	}
	for i := range n {
		if err := f.start(i); err != nil {
			return f, errors.Join(err, f.stop())
		}
	}
	return f, nil
}

// start starts a process in an empty slot.
func (f *fleet) start(slot int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := startProcess(f.places, f)
	if err != nil {
		return fmt.Errorf("starting a worker process: %w", err)
	}
	f.started++
	f.slots[slot] = p
	return nil
}

// take empties a slot and returns its process. It returns nil, and leaves the slot as it is, if the
// slot is empty or its process is paused.
func (f *fleet) take(slot int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.slots[slot]
	if p == nil {
		return nil
	}
	if _, running := p.count(); !running {
		return nil
	}
	f.slots[slot] = nil
	return p
}

// put fills the slot that take has emptied.
func (f *fleet) put(slot int, p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots[slot] = p
}

// running returns the processes of all slots.
func (f *fleet) running() (all []*process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.slots {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// ids records ids of kind k that a process handed out one after the other. They have to increase,
// those of several servers server by server. last has the newest id of each server.
func (f *fleet) ids(k int, ids []int64, last map[int64]int64) {
	f.ledgers[k].add(ids)
	for _, id := range ids {
		server := int64(0)
		switch {
		case kinds[k].origin && id < f.expanded.Load():
			server = id % 2
		case kinds[k].origin:
			server = 2 + id%3
		}
		if before, ok := last[server]; ok && id <= before {
			f.mu.Lock()
			if f.falls++; f.falls == 1 {
				f.fall = fmt.Sprintf("%s: %d after %d", kinds[k].name, id, before)
			}
			f.mu.Unlock()
		}
		last[server] = id
	}
}

// failed counts an error that a caller got. All errors must not happen, except for those of a
// database that is away or busy.
func (f *fleet) failed(k int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[kinds[k].name+": "+text]++
	if !strings.Contains(text, "away or busy") && f.errs[kinds[k].name+": "+text] == 1 {
		f.bad = append(f.bad, fmt.Errorf("%s: %s", kinds[k].name, text))
	}
}

// failure records something that must not happen.
func (f *fleet) failure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, err)
}

// await waits until every process that runs has handed out ids of every kind that it took after the
// call. A process that does not within comeback, or that ends by itself, is a failure.
func (f *fleet) await(after string) {
	begin := time.Now()
	before := map[*process][]int64{}
	for _, p := range f.running() {
		before[p], _ = p.count()
	}
	for len(before) > 0 {
		time.Sleep(10 * time.Millisecond)
		late := time.Since(begin) > comeback
		maps.DeleteFunc(before, func(p *process, then []int64) bool {
			now, running := p.count()
			waits := ""
			for k := range now {
				// One frame may have been on its way at the call, so two have to arrive.
				if running && now[k] < then[k]+2 {
					waits = kinds[k].name
				}
			}
			select {
			case <-p.ended:
				if running {
					f.failure(fmt.Errorf("%w: %s", errors.Join(errEnded, p.err), &p.stderr))
				}
				return true
			default:
			}
			if waits != "" && late {
				f.failure(fmt.Errorf("no id of %s within %v after %s", waits, comeback, after))
			}
			return waits == "" || late
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := time.Since(begin); d > f.recovery {
		f.recovery, f.after = d, after
	}
}

// twice returns how many ids came twice.
func (f *fleet) twice() (n int64) {
	for _, l := range f.ledgers {
		_, twice, _, _ := l.sum()
		n += twice
	}
	return n
}

// noticed reports whether anything was found that must not happen.
func (f *fleet) noticed() bool {
	f.mu.Lock()
	bad := len(f.bad) > 0
	f.mu.Unlock()
	return bad || f.twice() > 0
}

// stop ends all processes cleanly.
func (f *fleet) stop() error {
	var wg sync.WaitGroup
	for _, p := range f.running() {
		wg.Go(func() {
			if err := p.stop(); err != nil {
				f.failure(err)
			}
		})
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.bad...)
}
