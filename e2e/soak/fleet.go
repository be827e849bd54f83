package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/e2e/soak/ledger"
	"github.com/uidring/uidring/uid"
)

// comeback is how long a generator may take after a fault is over: the longest pause of the keeper is 15 s, one attempt may
// hang for 10 s, and the machine may have other things to do.
const comeback = time.Minute

// errEnded stands in for the error of a process that ended without one.
var errEnded = errors.New("nobody told it to")

// kinds are what the processes of a fleet run, in turn: the generator, and whether its worker ids are leased.
var kinds = []struct {
	kind   string
	leased bool
}{{cached, true}, {standard, true}, {lanes, true}, {runOne, true}, {cached, false}, {standard, false}}

// fleet is the processes that run at one time, and what they have handed out. Its methods are safe for concurrent use.
type fleet struct {
	ledger *ledger.Ledger
	dsn    string
	window time.Duration
	broken bool

	mu       sync.Mutex
	slots    []*process // nil while the slot is between two processes
	started  int
	errs     map[string]int64
	stall    time.Duration // longest
	stallOf  string        // kind of generator and fault
	fault    string        // what is being done to the server or the network
	recovery time.Duration // longest
	recFault string        // the fault that it followed
	bad      []error
}

// newFleet starts n processes on the database at dsn.
func newFleet(n int, dsn string, window time.Duration, broken bool) (*fleet, error) {
	alloc, err := bitsalloc.New(layout())
	if err != nil {
		return nil, err
	}
	f := &fleet{ledger: ledger.New(alloc), dsn: dsn, window: window, broken: broken, slots: make([]*process, n),
		errs: map[string]int64{}, fault: noFault}
	for i := range n {
		if err := f.start(i, 0); err != nil {
			return f, errors.Join(err, f.stop())
		}
	}
	return f, nil
}

// noFault is the fault while there is none.
const noFault = "none"

// start starts the process of an empty slot, for which the database's clock is off by so much.
//
// Ahead of the others by hours it takes over worker ids whose windows have not passed, and its own begin where those end: possibly hours
// from here. MaxLead then makes it wait for that long, as it is told, so that nobody can expect an id of it.
func (f *fleet) start(slot int, off time.Duration) error {
	k := kinds[slot%len(kinds)]
	j := job{DSN: f.dsn, Kind: k.kind, Broken: f.broken}
	if off != 0 {
		j.DSN += fmt.Sprintf("&timestamp=%d", time.Now().Add(off).Unix()) // of its sessions, and it stands still
	}
	if slot%2 == 0 {
		// One request per change instead of two, so that the answer that is lost is the change's and not its preparation's.
		j.DSN += "&interpolateParams=true"
	}
	if k.leased {
		j.Window = f.window
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	p, err := startProcess(j, f.started, f)
	if err != nil {
		return fmt.Errorf("starting a worker process: %w", err)
	}
	p.ahead = k.leased && off > 0
	f.slots[slot] = p
	return nil
}

// take empties a slot that is not paused and returns its process, or nil.
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

// any returns a slot at random.
func (f *fleet) any(r *rand.Rand) int { return r.IntN(len(f.slots)) }

// at returns a slot's process, or nil.
func (f *fleet) at(slot int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots[slot]
}

// ids enters what a process handed out.
func (f *fleet) ids(p *process, ids []uid.ID, gap time.Duration) {
	f.ledger.Add(p.serial, ids)
	f.mu.Lock()
	defer f.mu.Unlock()
	if gap > f.stall {
		f.stall, f.stallOf = gap, p.job.Kind+", during or after: "+f.fault
	}
}

// failed counts an error that a caller got.
func (f *fleet) failed(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[kind]++
}

// failure notes something that must not happen.
func (f *fleet) failure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, err)
}

// during says which fault is under way.
func (f *fleet) during(fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// await waits until every process that runs, and may have ids, has handed out some since the call. One that does not within comeback, or that ended by
// itself, is a failure.
func (f *fleet) await(after string) {
	begin := time.Now()
	before := map[*process]int64{}
	for i := range f.slots {
		if p := f.at(i); p != nil {
			before[p], _ = p.count()
		}
	}
	for len(before) > 0 {
		time.Sleep(10 * time.Millisecond)
		for p, n := range before {
			now, running := p.count()
			if now > n || !running || p.ahead {
				delete(before, p)
				continue
			}
			select {
			case <-p.ended:
				f.failure(fmt.Errorf("%s: process ended by itself: %w: %s", p.job.Kind, errors.Join(errEnded, p.err), &p.stderr))
				delete(before, p)
			default:
			}
			if time.Since(begin) > comeback {
				f.failure(fmt.Errorf("%s: no id within %v after %s", p.job.Kind, comeback, after))
				delete(before, p)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := time.Since(begin); d > f.recovery {
		f.recovery, f.recFault = d, after
	}
}

// stop ends all processes cleanly.
func (f *fleet) stop() error {
	var wg sync.WaitGroup
	for i := range f.slots {
		p := f.at(i)
		if p == nil {
			continue
		}
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

// tally returns the errors by kind.
func (f *fleet) tally() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.errs)
}
