package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/soak/ledger"
	"github.com/uidring/uidring/uid"
)

// Where worker ids come from.
const (
	leased     = "leased"
	ranged     = "leased in a namespace that counts for itself"
	disposable = "disposable"
	numbered   = "numbered" // assigner.Env: a restart has the same worker id
	served     = "served"   // a lease of the service, which forgets it now and then
)

// fleet has the processes that run at one time, and records what they report. Its methods are safe
// for concurrent use.
type fleet struct {
	*soak.Fleet
	authority *authority
	alloc     *bitsalloc.Allocator
	ledger    *ledger.Ledger
	windows   winlog.Log   // of all claims of all processes
	counts    [2]soak.Bits // of a segment\'s ids, and of numbers
	dsn       string
	service   string        // address of the service that hands out worker ids; empty: none
	lease     time.Duration // the leases' Window
	broken    string        // see job

	mu      sync.Mutex    // guards the fields below
	stall   time.Duration // the longest stall
	stallOf string        // its kind of generator, and the fault during or before it
	fault   string        // what is injected into the store, its server or the network

	held map[*soak.Process]winlog.Window // the newest of each process

	outside int64     // ids outside of their process's windows
	example uid.ID    // the first of them
	suspect time.Time // since when windows overlap; zero: they do not
	overlap error     // windows that overlap for certain
	begin   time.Time
	found   time.Duration // from begin to the first finding of look; 0: there is none
}

// newFleet starts n processes on the authority at dsn and the service in front of it.
func newFleet(
	a *authority, n int, dsn, service string, lease time.Duration, broken string,
) (*fleet, error) {
	alloc, err := bitsalloc.New(layout())
	if err != nil {
		return nil, err
	}
	f := &fleet{Fleet: soak.NewFleet(n, "id"), authority: a, alloc: alloc,
		ledger: ledger.New(alloc), dsn: dsn, service: service, lease: lease, broken: broken,
		begin: time.Now(), fault: noFault,
		held: map[*soak.Process]winlog.Window{}}
	return f, f.Fill(f.start)
}

// noFault is the fault while there is none.
const noFault = "none"

// start starts a process in an empty slot.
func (f *fleet) start(slot int) error { return f.startFor(nil)(slot) }

// startFor returns the function that starts a process in an empty slot. The process wants a certain
// worker id; nil: any.
func (f *fleet) startFor(worker *int64) func(slot int) error {
	return func(slot int) error { return f.startJob(slot, worker) }
}

func (f *fleet) startJob(slot int, worker *int64) error {
	k := f.authority.kinds[slot%len(f.authority.kinds)]
	j := job{DSN: f.dsn, Kind: k.kind, Broken: f.broken, Wants: worker}
	if f.authority.dsnOf != nil {
		j.DSN = f.authority.dsnOf(slot)
	}
	if slot%2 == 0 {
		j.DSN += f.authority.text
	}
	if k.from == leased || k.from == ranged {
		j.Window = f.lease
	}
	j.Ranged = k.from == ranged
	j.Numbered = k.from == numbered
	if k.from == served {
		j.DSN = f.service
	}
	return f.Start(slot, func(serial int) soak.Job {
		return soak.Job{Name: k.kind, Worker: workerName, Work: j, Frame: f.reader(serial),
			Env: []string{fmt.Sprint(numberEnv, "=", firstNumber+slot), "GOMAXPROCS=2"}}
	})
}

// reader returns the function that takes what a process writes.
func (f *fleet) reader(serial int) func(*soak.Process, soak.Frame) error {
	var g guard
	return func(p *soak.Process, frame soak.Frame) error {
		switch {
		case frame.Kind == frameIDs:
			f.ids(serial, p, &g, soak.IDs[uid.ID](frame))
		case frame.Kind == frameCount:
			f.count(p, 0, soak.IDs[int64](frame))
		case frame.Kind == frameNumber:
			f.count(p, 1, soak.IDs[int64](frame))
		case frame.Cut:
		case frame.Kind == frameWindow:
			var w winlog.Window
			if err := json.Unmarshal(frame.Payload, &w); err != nil {
				return fmt.Errorf("window %q: %w", frame.Payload, err)
			}
			g.window(w)
			w.Claim += int64(serial) << 32
			f.windows.Put(w)
			f.hold(p, w)
		case frame.Kind == frameError:
			f.Failed(string(frame.Payload))
		default:
			return fmt.Errorf("frame of kind %q", frame.Kind)
		}
		return nil
	}
}

// ids records ids that a process handed out.
func (f *fleet) ids(serial int, p *soak.Process, g *guard, ids []uid.ID) {
	f.arrived(p)
	f.ledger.Add(serial, ids)
	outside, first := g.outside(f.alloc, ids)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outside == 0 {
		f.example = first
	}
	f.outside += outside
}

// count records ids of a segment or numbers that a process handed out.
func (f *fleet) count(p *soak.Process, kind int, ids []int64) {
	f.arrived(p)
	f.counts[kind].Add(ids)
}

// counted returns how many ids of segments and numbers came, and how many were repeated.
func (f *fleet) counted() (n, twice int64) {
	for i := range f.counts {
		ids, again, _, _ := f.counts[i].Sum()
		n, twice = n+ids, twice+again
	}
	return n, twice
}

// arrived records how long a process had no ids.
func (f *fleet) arrived(p *soak.Process) {
	gap := p.Arrived(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if gap > f.stall {
		f.stall, f.stallOf = gap, p.Name+", during or after: "+f.fault
	}
}

// during records which fault is under way.
func (f *fleet) during(fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// hold records the newest window of a process.
func (f *fleet) hold(p *soak.Process, w winlog.Window) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[p] = w
}

// window returns the newest window of a process that ends. ok is false if it has none.
func (f *fleet) window(p *soak.Process) (w winlog.Window, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w = f.held[p]
	return w, !w.Until.IsZero()
}

// look reports whether something was found that must not happen: an id that was repeated, an id
// outside of its window, windows that have overlapped for as long as lateness, or a failure.
func (f *fleet) look(lateness time.Duration) bool {
	overlap := f.windows.Overlap()
	s, bad := f.ledger.Sum(), f.Bad()
	_, twice := f.counted()
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
	if s.Duplicates == 0 && twice == 0 && s.Foreign == 0 && f.outside == 0 &&
		f.overlap == nil && !bad {
		return false
	}
	if f.found == 0 {
		f.found = time.Since(f.begin)
	}
	return true
}
