package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/test/internal/soak"
)

// reach returns the reach of leases with a window. It is as short as it may be, so that owners that
// saw their store go back have ids again soon.
func reach(window time.Duration) time.Duration { return 3 * window }

// backup is a state of the store. restore puts the store back to it, and then does what the
// documents tell the operator, before any process can connect. highest is called when no process
// can change the store any more.
type backup func(in *injector, highest func() int64, reach time.Duration) error

// backUp returns the function that backs up a server's data. repair does what the documents tell
// the operator, on a server that no process can reach.
func backUp(repair repairFunc) func(in *injector) (backup, error) {
	return backUpBy(func(in *injector) (func() error, error) { return in.srv.Backup() }, repair)
}

// backUpBy is backUp for data that save backs up.
func backUpBy(
	save func(in *injector) (restore func() error, err error), repair repairFunc,
) func(in *injector) (backup, error) {
	return func(in *injector) (backup, error) {
		restore, err := save(in)
		return func(in *injector, highest func() int64, reach time.Duration) error {
			in.proxy.Set(dbtest.Refuse)
			defer in.proxy.Set(dbtest.None)
			if err := restore(); err != nil || in.fleet.broken == unrepaired {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
			defer cancel()
			return repair(ctx, in, highest(), reach)
		}, err
	}
}

// repairFunc makes a store that went back fit for claims.
type repairFunc func(ctx context.Context, in *injector, highest int64, reach time.Duration) error

// repairLeases is the repairFunc of stores of package lease, which open opens.
func repairLeases(
	open func(in *injector, o lease.Options) (*lease.Assigner, error),
) repairFunc {
	return func(ctx context.Context, in *injector, highest int64, longest time.Duration) error {
		a, err := open(in, lease.Options{Window: in.fleet.lease,
			Reach: reach(in.fleet.lease)})
		if err != nil {
			return err
		}
		return errors.Join(a.Restore(ctx, highest, longest, canonical()), a.Close())
	}
}

// always returns the faults that every run has, on each authority: the store goes back to an older
// state and is repaired as the documents say, an operator deletes an entry, and owners sleep for so
// long that others get their worker ids, in all combinations.
func always() []fault {
	return []fault{
		{"store: restored from a backup, and repaired", during(restored)},
		{"owner: asleep until another had its worker id", asleep(nil)},
		{"owner: asleep until another had its worker id, store restored and repaired",
			asleep(restored)},
		{"store: the entry of an owner deleted by hand", during(deleted((*fleet).owned))},
		{"store: the entry of a worker id without an owner deleted by hand",
			during(deleted((*fleet).free))},
		{"owner: asleep until another had its worker id, entry deleted by hand",
			asleep(deletedOf)},
	}
}

// step is what happens to the store. worker is the worker id of an owner that sleeps, or none.
type step func(in *injector, worker int64, lasts time.Duration) error

// taken is counted with the faults when a process that starts has got the worker id of an owner
// that is asleep.
const taken = "owner: its worker id taken over while it was asleep"

// none stands for no worker id.
const none = -1

// restored is the step that puts the store back to the last backup.
func restored(in *injector, _ int64, lasts time.Duration) error {
	if in.proxy != nil && in.random.IntN(2) == 0 { // the store is away before it is restored
		in.proxy.Set(dbtest.Refuse)
		soak.Pause(in.stop, lasts)
	}
	longest := in.reach()
	in.gone = time.Now()
	return in.kept(in, in.fleet.highest, longest)
}

// keep makes a backup, to which restored puts the store back.
func (in *injector) keep() (err error) {
	in.had = map[int64]bool{}
	if in.fleet.authority.backup == nil {
		return nil
	}
	for _, w := range in.fleet.windows.All() {
		in.had[w.Worker] = true
	}
	in.kept, err = in.fleet.authority.backup(in)
	return err
}

// reach returns the longest reach for which the documents tell the operator to ask: the longest
// window and the longest lead, or more where processes may have found of late that the store went
// back.
func (in *injector) reach() time.Duration {
	longest, all := in.fleet.lease+maxLead, reach(in.fleet.lease)+in.fleet.lease
	if !in.gone.IsZero() && time.Since(in.gone) < all+2*in.most { // a pause is at most in.most
		longest = all
	}
	return longest
}

// deleted returns the step that deletes the entry of a worker id that pick finds.
func deleted(pick func(f *fleet, now time.Time) []int64) step {
	return func(in *injector, _ int64, lasts time.Duration) error {
		workers := pick(in.fleet, time.Now())
		if len(workers) == 0 {
			return nil // there is none now
		}
		return deletedOf(in, workers[in.random.IntN(len(workers))], lasts)
	}
}

// deletedOf is the step that deletes the entry of a worker id.
func deletedOf(in *injector, worker int64, _ time.Duration) error {
	in.gone = time.Now()
	return in.fleet.authority.remove(in, worker)
}

// during returns the harm of a fault that consists of a step. Processes start after it, to find
// what it has left.
func during(s step) harm {
	return func(in *injector, lasts time.Duration) (func() error, error) {
		return func() error { in.newcomers(); return nil }, s(in, none, lasts)
	}
}

// asleep returns the harm of a fault in which an owner is paused until its window has passed and
// another process has had its worker id. After the step s it wakes up, at once or later, and a
// third process starts that wants this worker id, too. The second is paused from before the step
// until then, because an owner that runs finds out at once what the first is to find.
func asleep(s step) harm {
	return func(in *injector, lasts time.Duration) (func() error, error) {
		p, wake := in.sleep(in.sleeper())
		if p == nil {
			return nil, nil // it is between two processes, or paused
		}
		w, ok := in.fleet.window(p)
		if !ok {
			return func() error { wake(); return nil }, nil
		}
		err := in.await(w)
		if in.fleet.succeeded(w) {
			in.counts.Add(taken)
		}
		next := func() {} // wakes the second owner
		if err == nil && s != nil {
			next = in.pauseOwner(w.Worker)
			err = s(in, w.Worker, lasts)
		}
		heal := func() error {
			wake()
			in.third(w.Worker, p)
			next()
			return nil
		}
		if s == nil || err != nil || in.random.IntN(3) == 0 {
			return heal, err
		}
		return nil, heal()
	}
}

// sleep pauses the process of a slot until wake is called, but not in the middle of a change of a
// file that nobody else could change then. p is nil as that of soak.Fleet.Sleep.
func (in *injector) sleep(slot int) (p *soak.Process, wake func()) {
	alone := in.fleet.authority.alone
	if alone == nil {
		return in.fleet.Sleep(slot)
	}
	in.fleet.Failure(alone(func() { p, wake = in.fleet.Sleep(slot) }))
	return p, wake
}

// pauseOwner pauses the owner of a worker id, if one runs, until wake is called.
func (in *injector) pauseOwner(worker int64) (wake func()) {
	for slot := range in.fleet.Len() {
		if p := in.fleet.At(slot); p != nil {
			if w, ok := in.fleet.window(p); ok && w.Worker == worker {
				if p, wake := in.sleep(slot); p != nil {
					return wake
				}
			}
		}
	}
	return func() {}
}

// sleeper returns the slot of an owner, if possible of a worker id that the last backup does not
// have.
func (in *injector) sleeper() (slot int) {
	if in.fleet.broken != "" {
		return in.lowest()
	}
	for range 20 {
		slot = in.leasedSlot()
		if p := in.fleet.At(slot); p != nil {
			if w, ok := in.fleet.window(p); ok && !in.had[w.Worker] {
				return slot
			}
		}
	}
	return slot
}

// lowest returns the slot of the owner of the lowest worker id. A process that wants it finds no
// other one below.
func (in *injector) lowest() (slot int) {
	least := int64(firstNumber)
	for i := range in.fleet.Len() {
		if p := in.fleet.At(i); p != nil {
			if w, ok := in.fleet.window(p); ok && w.Worker < least {
				slot, least = i, w.Worker
			}
		}
	}
	return slot
}

// await waits until the window w of an owner that is asleep has passed, and starts processes until
// one has its worker id.
func (in *injector) await(w winlog.Window) error {
	if !soak.Pause(in.stop, min(time.Until(w.Until), 5*in.fleet.lease)) {
		return nil
	}
	for range 4 {
		err := in.deleteFree(w.Worker)
		if err != nil || in.fleet.succeeded(w) {
			return err
		}
		if in.want(w.Worker, nil) {
			return nil
		}
	}
	return nil
}

// third starts processes, of which the first wants a worker id that two have had. It leaves the
// first of these alone.
func (in *injector) third(worker int64, first *soak.Process) {
	in.want(worker, first)
	in.newcomers()
}

// want kills a process other than but and starts another one in its place that wants a worker id,
// and reports whether any process got it before that one gave up.
func (in *injector) want(worker int64, but *soak.Process) bool {
	before := in.fleet.claims(worker)
	kinds := in.fleet.authority.kinds
	for range 100 {
		slot := in.leasedSlot()
		fits := (kinds[slot%len(kinds)].from == ranged) == (worker >= firstRanged)
		if fits && in.fleet.At(slot) != but &&
			in.fleet.Replace(slot, in.fleet.startFor(&worker)) {
			break
		}
	}
	for end := time.Now().Add(2 * patience(in.fleet.lease)); time.Now().Before(end); {
		if in.fleet.claims(worker) > before {
			return true
		}
		if !soak.Pause(in.stop, 50*time.Millisecond) {
			return false
		}
	}
	return false
}

// deleteFree deletes the entries of worker ids below one that have no owner, where a process that
// wants that one would take them first.
func (in *injector) deleteFree(below int64) error {
	if !in.fleet.authority.numbers || below >= firstRanged {
		return nil
	}
	free := slices.DeleteFunc(in.fleet.free(time.Now()), func(worker int64) bool {
		return worker >= below
	})
	if len(free) == 0 {
		return nil
	}
	in.gone = time.Now()
	return in.fleet.authority.remove(in, free...)
}

// newcomers kills two processes and starts others, which look for worker ids.
func (in *injector) newcomers() {
	for range 2 {
		soak.Pause(in.stop, soak.Between(in.random, 0, in.fleet.lease/3))
		in.replace()
	}
}

// replace kills a process that has a lease and starts another one in its place.
func (in *injector) replace() {
	in.fleet.Replace(in.leasedSlot(), in.fleet.start)
}

// leasedSlot returns a slot of the fleet whose processes have leases.
func (in *injector) leasedSlot() int {
	kinds := in.fleet.authority.kinds
	for {
		slot := in.random.IntN(in.fleet.Len())
		if from := kinds[slot%len(kinds)].from; from == leased || from == ranged {
			return slot
		}
	}
}
