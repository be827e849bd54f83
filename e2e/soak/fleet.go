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
// is 15 s, one attempt may hang for 10 s, and the machine may have other things to do.
const comeback = time.Minute

// errEnded stands in for the error of a process that ended without one.
var errEnded = errors.New("it was not asked to")

// Where worker ids come from.
const (
	leased     = "leased"
	disposable = "disposable"
	numbered   = "numbered" // by assigner.Env: a restart has the same one
	served     = "served"   // a lease of the service, which forgets it now and then
)

// fleet is the processes that run at one time, and what they have handed out. Its methods are safe
// for concurrent use.
type fleet struct {
	authority *authority
	alloc     *bitsalloc.Allocator
	ledger    *ledger.Ledger
	windows   assignertest.Windows // of all claims of all processes
	dsn       string
	service   string        // the address of the service that hands worker ids out, if there is one
	lease     time.Duration // the window of a lease
	broken    string

	mu       sync.Mutex
	slots    []*process // nil while the slot is between two processes
	started  int
	errs     map[string]int64
	stall    time.Duration // longest
	stallOf  string        // kind of generator and fault
	fault    string        // what is being done to the server or the network
	recovery time.Duration // longest
	recFault string        // the fault that it followed
	outside  int64         // ids outside of their process's windows
	example  uid.ID        // the first of them
	suspect  time.Time     // since when windows overlap; zero: they do not
	overlap  error         // windows that overlap for certain
	begin    time.Time
	found    time.Duration // after which the first fault was found; 0: none
	bad      []error
}

// newFleet starts n processes on the authority at dsn and the service in front of it.
func newFleet(
	a *authority, n int, dsn, service string, lease time.Duration, broken string,
) (*fleet, error) {
	alloc, err := bitsalloc.New(layout())
	if err != nil {
		return nil, err
	}
	f := &fleet{authority: a, alloc: alloc, ledger: ledger.New(alloc), dsn: dsn, service: service, lease: lease, broken: broken,
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

// start starts the process of an empty slot, for which the database's clock is off by so much.
//
// Ahead of the others by hours it takes over worker ids whose windows have not passed, and its own
// begin where those end: possibly hours from here. MaxLead then makes it wait for that long, as it
// is told, so that no id is expected of it.
func (f *fleet) start(slot int, off time.Duration) error {
	k := f.authority.kinds[slot%len(f.authority.kinds)]
	j := job{DSN: f.dsn, Kind: k.kind, Broken: f.broken}
	if off != 0 {
		// of its sessions, and it stands still
		j.DSN += fmt.Sprintf("&timestamp=%d", time.Now().Add(off).Unix())
	}
	if slot%2 == 0 && f.authority.tells {
		// One request per change instead of two, so that the answer that is lost is the change's
		// and not its preparation's.
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

// granted enters a window that a process was granted, extended or gave back.
func (f *fleet) granted(p *process, w assignertest.Window) {
	p.guard.window(w)
	w.Claim += int64(p.serial) << 32
	f.windows.Put(w)
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

// await waits until every process that runs, and may have ids, has handed out some since the call.
// One that does not within comeback, or that ended by itself, is a failure.
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

// look reports whether something was found that must not be: an id that came twice, an id outside
// of its window, windows that have overlapped for as long as lateness, or a failure.
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

// tally returns the errors by kind.
func (f *fleet) tally() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.errs)
}
