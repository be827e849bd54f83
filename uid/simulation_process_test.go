package uid_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// process is a machine with a clock and a program that makes ids. Programs die and are started
// again; the clock stays.
type process struct {
	w     *world
	n     int
	rnd   *rand.Rand // of its lifecycle
	kind  string
	o     uid.Both
	calls int           // goroutines that take ids
	pause time.Duration // the longest time between two calls of one of them
	size  int           // ids per call, at most
	skew  time.Duration // of its clock
	lives int
}

// newProcess draws a process.
func (w *world) newProcess(n int) *process {
	rnd := w.random(1, uint64(n))
	p := &process{w: w, n: n, rnd: rnd, kind: pick(rnd, "cached", "cached", "default"),
		calls: 1 + rnd.IntN(3),
		pause: pick(rnd, 20*time.Millisecond, time.Second, 10*time.Second),
		size:  1 + rnd.IntN(pick(rnd, 1, 50))}
	if len(w.processes) > 50 {
		p.pause = max(p.pause, time.Second)
	}
	p.o = uid.Both{
		Layout:        w.layout,
		BoostPower:    pick(rnd, uid.NoBoost, 1, 3),
		PaddingFactor: pick(rnd, 1, 50, 100),
		RunLength:     1 << rnd.IntN(w.seqBits+1),
		Lanes:         pick(rnd, 1, 1, 4),
		MaxLag:        pick(rnd, 0, 2*w.tick+time.Second, 10*w.tick+time.Second),
		MaxLead:       pick(rnd, 0, time.Nanosecond, 3*w.tick),
		TakePolicy:    pick(rnd, uid.TakePad, uid.TakePad, uid.TakeWait, uid.TakeReject),
		Rollback: pick(rnd, uid.Rollback{}, uid.RollbackWait(time.Minute),
			uid.RollbackHold(time.Minute)),
		SeqStart: pick(rnd, int64(0), 1),
	}
	// An odd interval. The keeper and the padder wake each other, so with the default one, a quarter
	// of a second, their timers would be due at one instant again, and a bubble runs those in an order
	// that it draws.
	lag := max(p.o.MaxLag, 2*w.tick, time.Second)
	p.o.ScheduleInterval = (lag-w.tick)/4 - upTo(w.random(8, uint64(n)), time.Millisecond)
	p.functions(w.random(5, uint64(n)))
	if rnd.IntN(4) == 0 {
		most := pick(rnd, time.Second, time.Minute, 5*time.Hour)
		p.skew = eitherWay(rnd, most)
	}
	return p
}

// functions gives some processes a TakeFunc, a PutFunc, or both. They take their time.
func (p *process) functions(rnd *rand.Rand) {
	var mu sync.Mutex
	pause := func(ctx context.Context) (again bool) {
		mu.Lock()
		d := time.NewTimer(upTo(rnd, time.Second))
		again = rnd.IntN(2) == 0
		mu.Unlock()
		select {
		case <-d.C:
		case <-ctx.Done():
		}
		return again
	}
	if rnd.IntN(6) == 0 {
		p.o.TakeFunc = func(ctx context.Context, reason error) error {
			if pause(ctx) {
				return nil
			}
			return reason
		}
	}
	if rnd.IntN(6) == 0 {
		p.o.PutFunc = func(uid.ID) error {
			if pause(context.Background()) {
				return nil
			}
			return uid.ErrEmpty
		}
	}
}

// life is one run of the program.
type life struct {
	p       *process
	clock   *uid.TestClock
	slow    time.Duration // the longest pause of a goroutine at a reading of its clock; 0: none
	g       uid.Generator
	started time.Time
	o       uid.Both
	layouts string          // what its claims are bound to
	eras    *bitsalloc.Eras // of o
	knows   bool            // all eras
	wg      sync.WaitGroup
	hung    context.Context // of all calls: it ends when one counts as hung
	free    context.CancelFunc

	// Guarded by world.mu.
	rnd      *rand.Rand    // what happens to its calls of the authority
	pauses   *rand.Rand    // and at its readings of the clock
	dead     bool          //
	resume   chan struct{} // closed when a process that stands goes on; nil: it runs
	honest   bool          // its clock has been right, and nothing of it has ever stood still
	over     bool          // no more calls
	sequence sequence      // of what order returns for the ids
	claims   []*simClaim   //
	pulled   bool          // a window's first tick was ahead of the clock
	none     bool          // the last Assign found no worker id
}

// stand blocks while the process stands still.
func (l *life) stand() {
	for {
		l.p.w.mu.Lock()
		resume := l.resume
		l.p.w.mu.Unlock()
		if resume == nil {
			return
		}
		<-resume
	}
}

// read is what happens at a reading of the clock: the process may stand still, or the goroutine may
// be interrupted while others go on. No lock is held there, and what the goroutine has looked at
// before grows old.
func (l *life) read() {
	l.stand()
	w := l.p.w
	if l.slow == 0 || w.calm() {
		return
	}
	d := time.Duration(0)
	w.set(func() {
		if l.pauses.IntN(4) == 0 {
			d = upTo(l.pauses, l.slow)
		}
	})
	time.Sleep(d)
}

func (l *life) isDead() bool {
	l.p.w.mu.Lock()
	defer l.p.w.mu.Unlock()
	return l.dead
}

// run starts the program again and again until the world is calm and it has shown that it works.
func (p *process) run() {
	time.Sleep(upTo(p.rnd, pick(p.rnd, time.Second, 5*time.Second)))
	for {
		calm := p.w.calm()
		l := p.live(calm)
		if l == nil && !calm {
			time.Sleep(upTo(p.rnd, time.Second))
			continue
		}
		if l != nil {
			p.suffer(l)
		}
		if calm {
			return
		}
	}
}

// live starts the program. It returns nil if that fails.
func (p *process) live(calm bool) *life {
	w := p.w
	p.lives++
	l := &life{p: p, clock: uid.NewTestClock(), started: time.Now(),
		rnd:    w.random(2, uint64(p.n), uint64(p.lives)),
		pauses: w.random(4, uint64(p.n), uint64(p.lives))}
	l.slow = pick(l.pauses, 0, 0, time.Millisecond, time.Second)
	l.honest = p.skew == 0 && l.slow == 0
	l.clock.Step(p.skew)
	l.clock.OnRead = l.read
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l.learns(calm)
	l.sequence = newSequence(p.kind, &l.o)
	g, err := kinds[p.kind](ctx, l, &l.o, l.clock)
	w.log(p.n, "starts: %v", err)
	if err != nil {
		l.end(true)
		if calm && !unassigned(err) {
			w.problem("process %d cannot start: %v", p.n, err)
		}
		return nil
	}
	l.g = g
	l.hung, l.free = context.WithCancel(context.Background())
	held := g.Stats().ClockHeld > 0 // the authority's clock is far behind
	w.set(func() {
		w.lives++
		l.honest = l.honest && !held
	})
	l.wg.Go(func() { l.probe(w.random(7, uint64(p.n), uint64(p.lives))) })
	for k := range p.calls {
		l.wg.Go(func() { l.take(w.random(3, uint64(p.n), uint64(p.lives), uint64(k)), k == 1) })
	}
	return l
}

// end ends a life's calls; a dead one gets no answers any more.
func (l *life) end(dead bool) {
	l.p.w.set(func() {
		l.over = true
		if l.dead = dead; l.resume != nil {
			close(l.resume)
			l.resume = nil
		}
	})
}

// suffer is what happens to a program that runs, until it ends.
func (p *process) suffer(l *life) {
	w, rnd := p.w, p.rnd
	for {
		quiet := upTo(rnd, pick(rnd, time.Second, 20*time.Second))
		time.Sleep(min(quiet, time.Until(w.end)+upTo(rnd, time.Second)))
		if w.calm() {
			p.settle(l)
			return
		}
		switch rnd.IntN(8) {
		case 0, 1: // killed: nothing is given back
			w.log(p.n, "is killed")
			l.end(true)
			_ = l.g.Close()
			l.gone()
			return
		case 2: // ended in order
			w.log(p.n, "is closed")
			if p.o.PutFunc != nil { // Close waits for it, and nothing drops old ids meanwhile
				w.set(func() { l.honest = false })
			}
			_ = l.g.Close()
			l.end(false)
			l.gone()
			l.closed()
			return
		case 3: // stands still in the middle of whatever it does, and is killed perhaps
			w.log(p.n, "stands")
			w.set(func() { l.resume, l.honest = make(chan struct{}), false })
			time.Sleep(upTo(rnd, pick(rnd, time.Second, 3*w.window)))
			if rnd.IntN(3) == 0 {
				w.log(p.n, "is killed")
				l.end(true)
				_ = l.g.Close()
				l.gone()
				return
			}
			w.log(p.n, "goes on")
			w.set(func() {
				close(l.resume)
				l.resume = nil
			})
		case 4: // the clock steps
			most := pick(rnd, 100*time.Millisecond, 5*time.Second, time.Minute, 5*time.Hour)
			by := eitherWay(rnd, most)
			if rnd.IntN(3) == 0 {
				by = -p.skew
			}
			w.log(p.n, "its clock steps by %v", by)
			w.set(func() { l.honest = false })
			p.skew += by
			l.clock.Step(by)
		}
	}
}

// gone waits for the callers of a life whose generator is closed. One that does not return hangs.
func (l *life) gone() {
	if !l.returned() {
		l.p.w.problem("process %d (%s): a call has not returned ten minutes after Close; %+v",
			l.p.n, l.p.kind, l.g.Stats())
	}
	l.free()
	l.wg.Wait()
	w := l.p.w
	if wrong := l.sequence.end(); wrong != "" { // no call is left
		w.problem("process %d (%s): %s", l.p.n, l.p.kind, wrong)
	}
}

// returned waits for a life's callers, and reports whether they returned within ten minutes, which
// is longer than anything holds one up but the want of ids.
func (l *life) returned() bool {
	done := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(done)
	}()
	patience := time.NewTimer(10 * time.Minute)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

// closed shows that a generator that is closed has no ids any more.
func (l *life) closed() {
	ids := make([]uid.ID, 2)
	for _, ids := range [][]uid.ID{ids[:1], ids} {
		if n, err := l.call(context.Background(), ids); n > 0 || !errors.Is(err, uid.ErrClosed) {
			l.p.w.problem("process %d (%s): %d ids after Close, %v", l.p.n, l.p.kind, n, err)
		}
	}
}

// settle shows that a program hands out ids once nothing happens any more, and ends it.
func (p *process) settle(l *life) {
	w := p.w
	time.Sleep(16*time.Second + 2*w.window) // longer than the keeper ever pauses
	w.set(func() { l.over = true })
	returned := l.returned()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	for range 100 { // TakeReject
		var id uid.ID
		begin := l.begin()
		if id, err = l.g.Next(ctx); err == nil {
			l.record([]uid.ID{id}, begin)
		}
		if !errors.Is(err, uid.ErrEmpty) && !errors.Is(err, uid.ErrLead) {
			break
		}
		time.Sleep(upTo(p.rnd, 100*time.Millisecond))
	}
	early := errors.Is(err, uid.ErrLead) || errors.Is(err, context.DeadlineExceeded)
	behind := w.authority.Now().Sub(l.clock.Now().Add(-l.g.Stats().ClockHeld)) // as the clock is believed
	switch {
	case err == nil:
	case early && l.pulled: // it waits for its window to begin, or for what it borrowed before
	case !l.honest && (early || errors.Is(err, uid.ErrClockBack)):
	case (early || errors.Is(err, uid.ErrClaimExpired)) && w.authority.Grant != nil &&
		behind.Abs() > w.window/4: // less than the difference is granted
	case l.unknowing(err), l.cutOff():
	case errors.Is(err, assigner.ErrClaimLost) && l.none:
	// its window is over before it looks
	case errors.Is(err, assigner.ErrClaimLost) && behind > w.window/4: // its window is over for the others
	default:
		w.problem("process %d (%s) hands out no ids in calm times: %v; %+v", p.n, p.kind, err,
			l.g.Stats())
	}
	// A Fill may wait for the clock, with ids in lanes that are not its own.
	if err == nil && !returned && (p.kind == "default" || p.o.Lanes == 1) && !l.returned() {
		w.problem("process %d (%s): a call waits while others get ids; %+v", p.n, p.kind, l.g.Stats())
	}
	if err := l.g.Close(); err != nil {
		w.problem("Close() = %v in calm times", err)
	}
	l.gone()
	l.closed()
	l.end(false)
	w.log(p.n, "ends: %v", err)
}
