package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/e2e/soak/ledger"
	"github.com/uidring/uidring/uid"
)

// comeback is how long a generator may take after a fault is over: the longest pause of the keeper
// is 15 s, one attempt may hang for 10 s, and the machine may be busy.
const comeback = time.Minute

// errEnded is part of the error of a process that ended by itself, which may have no other error.
var errEnded = errors.New("it was not asked to")

// Where worker ids come from.
const (
	leased     = "leased"
	disposable = "disposable"
	numbered   = "numbered" // assigner.Env: a restart has the same worker id
	served     = "served"   // a lease of the service, which forgets it now and then
)

// fleet has the processes that run at one time, and records what they report. Its methods are safe
// for concurrent use.
type fleet struct {
	authority *authority
	alloc     *bitsalloc.Allocator
	ledger    *ledger.Ledger
	windows   assignertest.Windows // of all claims of all processes
	dsn       string
	service   string        // address of the service that hands out worker ids; empty: none
	lease     time.Duration // the leases' Window
	broken    string        // see job

	mu       sync.Mutex       // guards the fields below
	slots    []*process       // nil while the slot is between two processes
	started  int              // how many processes were started
	errs     map[string]int64 // how many errors of each kind callers got
	stall    time.Duration    // the longest stall
	stallOf  string           // its kind of generator, and the fault during or before it
	fault    string           // what is injected into the server or the network
	recovery time.Duration    // the longest recovery
	recFault string           // the fault before it
	outside  int64            // ids outside of their process's windows
	example  uid.ID           // the first of them
	suspect  time.Time        // since when windows overlap; zero: they do not
	overlap  error            // windows that overlap for certain
	begin    time.Time
	found    time.Duration // from begin to the first finding of look; 0: there is none
	bad      []error       // what must not happen, and did
}

// newFleet starts n processes on the authority at dsn and the service in front of it.
func newFleet(
	a *authority, n int, dsn, service string, lease time.Duration, broken string,
) (*fleet, error) {
	alloc, err := bitsalloc.New(layout())
	if err != nil {
		return nil, err
	}
	f := &fleet{authority: a, alloc: alloc, ledger: ledger.New(alloc), dsn: dsn, service: service,
		lease: lease, broken: broken,
		slots: make([]*process, n), begin: time.Now(),
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

// start starts a process in an empty slot. Its sessions see a database clock that is wrong by off.
//
// With a clock that is ahead by hours the process takes over worker ids whose windows have not
// passed. Its own windows begin where those end, possibly hours from now. MaxLead makes it wait for
// that long, so no ids are expected of it.
func (f *fleet) start(slot int, off time.Duration) error {
	k := f.authority.kinds[slot%len(f.authority.kinds)]
	j := job{DSN: f.dsn, Kind: k.kind, Broken: f.broken}
	if off != 0 {
		// The sessions' clock stands still at this time.
		j.DSN += fmt.Sprintf("&timestamp=%d", time.Now().Add(off).Unix())
	}
	if slot%2 == 0 && f.authority.tells {
		// A change is one request instead of two, so that a lost answer is the answer to the
		// change, and not to its preparation.
		j.DSN += "&interpolateParams=true"
	}
	if k.from == leased {
		j.Window = f.lease
	}
	j.Numbered = k.from == numbered
	if k.from == served {
		j.DSN = f.service
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	p, err := startProcess(j, firstNumber+slot, f.started, f)
	if err != nil {
		return fmt.Errorf("starting a worker process: %w", err)
	}
	p.ahead = k.from == leased && off > 0
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

// any returns a random slot.
func (f *fleet) any(r *rand.Rand) int { return r.IntN(len(f.slots)) }

// at returns a slot's process, or nil if the slot is empty.
func (f *fleet) at(slot int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots[slot]
}

// ids records ids that a process handed out. gap is the time since the ids before them.
func (f *fleet) ids(p *process, ids []uid.ID, gap time.Duration) {
	f.ledger.Add(p.serial, ids)
	outside, first := p.guard.outside(f.alloc, ids)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outside == 0 {
		f.example = first
	}
	f.outside += outside
	if gap > f.stall {
		f.stall, f.stallOf = gap, p.job.Kind+", during or after: "+f.fault
	}
}

// granted records a window that a process was granted, extended or gave back.
func (f *fleet) granted(p *process, w assignertest.Window) {
	p.guard.window(w)
	w.Claim += int64(p.serial) << 32
	f.windows.Put(w)
}

// failed counts an error of a kind that a caller got.
func (f *fleet) failed(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[kind]++
}

// failure records something that must not happen.
func (f *fleet) failure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = append(f.bad, err)
}

// during records which fault is under way.
func (f *fleet) during(fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// await waits until every process that runs, and may have ids, has handed out some since the call.
// A process that does not within comeback, or that ends by itself, is a failure.
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
				f.failure(fmt.Errorf("%s: process ended by itself: %w: %s",
					p.job.Kind, errors.Join(errEnded, p.err), &p.stderr))
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

// highest returns the highest worker id that any process had from the authority.
func (f *fleet) highest() (n int64) {
	for _, w := range f.windows.All() {
		if w.Worker < firstNumber {
			n = max(n, w.Worker)
		}
	}
	return n
}

// look reports whether something was found that must not happen: an id that came twice, an id
// outside of its window, windows that have overlapped for as long as lateness, or a failure.
func (f *fleet) look(lateness time.Duration) bool {
	overlap := f.windows.Overlap()
	s := f.ledger.Sum()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch now := time.Now(); {
	case overlap == nil:
		f.suspect = time.Time{}
	case f.suspect.IsZero() && lateness > 0:
		f.suspect = now
	case now.Sub(f.suspect) >= lateness:
		f.overlap = overlap
	}
	if s.Duplicates == 0 && s.Foreign == 0 && f.outside == 0 && f.overlap == nil &&
		len(f.bad) == 0 {
		return false
	}
	if f.found == 0 {
		f.found = time.Since(f.begin)
	}
	return true
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

// tally returns how many errors of each kind callers got.
func (f *fleet) tally() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.errs)
}
