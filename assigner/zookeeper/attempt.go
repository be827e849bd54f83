package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/uidring/uidring/assigner"
)

// headroom is how much of the past a new claim's window may hold, so that the tick that is running
// can be stamped.
const headroom = 2 * time.Second

// attempt is one call of Assign: what it is for, and which writes it sent. It makes one claim at
// most.
type attempt struct {
	a        *Assigner
	layout   string
	last     int64     // the highest worker id that it may claim; the lowest is Options.First
	compared bool      // the peers' clocks were compared
	cut      time.Time // where windows for layout end; zero: nowhere
	proof    *proof    // what the cache file proves; nil: nothing

	// sent has the token of every write that may have taken effect, and where a claim by that write
	// begins. A write whose answer was lost is found again by its token.
	sent map[string]time.Time
}

// claim tries until it has a claim, an answer that forbids one, or no time left.
func (at *attempt) claim(ctx context.Context) (*claim, error) {
	pause := 50 * time.Millisecond
	for {
		c, err := at.once(ctx)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, time.Second)
		}
	}
}

func (at *attempt) once(ctx context.Context) (*claim, error) {
	t := at.a.tree
	if err := t.ensure(ctx); err != nil {
		return nil, err
	}
	var err error
	if at.cut, err = at.bind(ctx); err != nil {
		return nil, err
	}
	if !at.cut.IsZero() && !at.a.now().Before(at.cut) {
		return nil, errSuperseded(at.a, at.cut)
	}
	if !at.compared {
		if err := at.a.compareClocks(ctx); err != nil {
			return nil, err
		}
		at.compared = true
	}
	slots, err := at.scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		if from, ok := at.sent[s.rec.Token]; ok {
			return at.won(ctx, s, from)
		}
	}
	if err := at.checkClock(slots); err != nil {
		return nil, err
	}
	for _, candidate := range at.candidates(slots) {
		c, err := at.takeOver(ctx, candidate)
		if err == nil || !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNoNode) {
			return c, err
		} // else another instance was faster
	}
	return at.create(ctx, slots)
}

// own reports whether this instance was the slot's last owner.
func (at *attempt) own(s slot) bool { return s.rec.Instance == at.a.o.Instance }

// checkClock refuses a clock that is behind what this instance has stamped already.
func (at *attempt) checkClock(slots []slot) error {
	for _, s := range slots {
		if at.own(s) {
			if err := at.a.checkFront(s.worker, millis(s.rec.Front)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFront refuses if front, which an earlier run had reached, lies too far beyond the local
// clock.
func (a *Assigner) checkFront(worker int64, front time.Time) error {
	ahead := front.Sub(a.now())
	if ahead <= a.o.MaxAhead || a.o.Borrow {
		return nil
	}
	return fmt.Errorf("%w: instance %q had reached %v with worker id %d, %v beyond the local "+
		"clock, MaxAhead is %v; set the clock, or allow Borrow",
		ErrClock, a.o.Instance, front, worker, ahead.Round(time.Millisecond), a.o.MaxAhead)
}

// candidate is a slot that may be taken, and where the new window may begin.
type candidate struct {
	slot
	from time.Time
}

// candidates returns the slots that may be taken, best first: the one whose rest the cache file
// proves to be this machine's, this instance's own, then the others in random order, which keeps
// instances that start together from trying the same ones. A slot is taken only when its window has
// passed by the local clock. Taking it sooner would repeat no tick, but cost its owner the slot.
func (at *attempt) candidates(slots []slot) []candidate {
	a, now := at.a, at.a.now()
	var proven, own, others, borrowed []candidate
	for _, s := range slots {
		until := millis(s.rec.Until)
		ahead := at.own(s) && a.o.Borrow && millis(s.rec.Front).After(now.Add(a.o.MaxAhead))
		switch {
		case s.worker > at.last || s.rec.Until == maxMillis:
		case at.proves(s) && !millis(at.proof.From).After(now):
			proven = append(proven, candidate{s, millis(at.proof.From)})
		case ahead:
			borrowed = append(borrowed, candidate{s, until})
		case until.After(now):
		case at.own(s):
			own = append(own, candidate{s, until})
		default:
			others = append(others, candidate{s, until})
		}
	}
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return slices.Concat(borrowed, proven, own, others)
}

// proves reports whether the cache file is about the very reservation that the slot holds.
func (at *attempt) proves(s slot) bool {
	p := at.proof
	return p != nil && p.Worker == s.worker && p.Token == s.rec.Token && p.NodeVersion == s.version
}

// takeOver claims c's slot if it has not changed since it was read.
func (at *attempt) takeOver(ctx context.Context, c candidate) (*claim, error) {
	from := c.from
	if recent := at.a.now().Add(-headroom); recent.After(from) {
		from = recent
	}
	from = at.a.begin(from)
	rec, err := at.record(from)
	if err != nil {
		return nil, err
	}
	// A proven rest begins before the stored end. Lowering that end would let others claim what the
	// file has proven.
	rec.Until = max(rec.Until, c.rec.Until)
	at.sent[rec.Token] = from
	n, err := at.a.tree.set(ctx, at.a.tree.slot(c.worker), rec.encode(), c.version)
	if err != nil {
		return nil, err
	}
	return at.won(ctx, slot{c.worker, n, rec}, from)
}

// create makes a new slot. ZooKeeper numbers it, so that instances that start at the same instant
// get different ones.
func (at *attempt) create(ctx context.Context, slots []slot) (*claim, error) {
	if n := len(slots); n > 0 && slots[n-1].worker >= at.last {
		return nil, at.exhausted(slots)
	}
	// No instance had the slot before, so all time up to the window's end is free, unless ZooKeeper
	// went back.
	from := at.a.begin(time.Time{})
	rec, err := at.record(from)
	if err != nil {
		return nil, err
	}
	at.sent[rec.Token] = from
	t := at.a.tree
	path, err := call(ctx, t.s, func(c *zk.Conn) (string, error) {
		return c.Create(t.slots()+"/"+slotPrefix, rec.encode(), zk.FlagSequence, t.acl)
	})
	if err != nil {
		return nil, fmt.Errorf("assigner/zookeeper: creating a slot: %w", err)
	}
	worker, ok := t.worker(path[len(t.slots())+1:])
	if !ok {
		return nil, fmt.Errorf("assigner/zookeeper: ZooKeeper made slot %q, want a name such as %q",
			path, slotName(0))
	}
	if worker > at.last {
		// Out of range for everyone here; at worst it stays and is never taken.
		_ = t.remove(ctx, path)
		if now, err := at.scan(ctx); err == nil {
			slots = now // others were faster: the message is to say what they left
		}
		return nil, at.exhausted(slots)
	}
	return at.won(ctx, slot{worker: worker, rec: rec}, from)
}

// record is what the attempt writes to claim a slot from an instant on.
func (at *attempt) record(from time.Time) (record, error) {
	a := at.a
	front := a.now()
	if from.After(front) {
		front = from
	}
	until, err := ceilMillis(earlier(front.Add(a.o.Window+a.o.spare()), at.cut))
	if err != nil {
		return record{}, err
	}
	return a.record(newToken(), at.layout, until, front), nil
}

func (a *Assigner) record(token, layout string, until int64, front time.Time) record {
	host, _ := os.Hostname() // informative only
	return record{Token: token, Instance: a.o.Instance, Host: host, PID: os.Getpid(),
		Layout: layout,
		Until:  until, Front: max(0, front.UnixMilli())}
}

// won returns the claim of a write that took effect.
func (at *attempt) won(ctx context.Context, s slot, from time.Time) (*claim, error) {
	c := &claim{a: at.a, layout: at.layout, worker: s.worker, from: from,
		token: s.rec.Token, version: s.version, reserved: millis(s.rec.Until),
		front: millis(s.rec.Front)}
	if err := c.confirm(ctx); err != nil {
		return nil, err
	}
	c.until = c.reserved.Add(-at.a.o.spare())
	if !c.cut.IsZero() {
		c.until = earlier(millis(c.front.Add(at.a.o.Window).UnixMilli()), c.usable)
	}
	if !c.until.After(from) {
		return nil, errSuperseded(at.a, c.cut)
	}
	if cache := at.a.cache; cache != nil {
		if err := cache.hold(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// exhausted explains that no slot is free, and when one will be.
func (at *attempt) exhausted(slots []slot) error {
	usable, first := 0, int64(maxMillis)
	for _, s := range slots {
		if s.worker <= at.last {
			usable++
			first = min(first, s.rec.Until)
		}
	}
	if first == maxMillis {
		return fmt.Errorf("%w: ZooKeeper has given out all numbers up to %d under %s and %d of "+
			"those slots are there; slots that were deleted are not given again, start over "+
			"under another root",
			assigner.ErrWorkersExhausted, at.last, at.a.o.Root, usable)
	}
	return fmt.Errorf("%w: all %d slots of %d..%d under %s are reserved, the first until %v",
		assigner.ErrWorkersExhausted, usable, at.a.o.First, at.last, at.a.o.Root, millis(first))
}
