// Package claimtest has authorities in memory, for tests of what uses Assigners, and a test that
// stores share.
package claimtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// Endless is a Length: windows without end.
const Endless = time.Duration(-1)

// Memory is an authority in memory, for tests: every worker id has a fencing token and the end of
// the window that is reserved, and a new owner begins where the last window ends. Its clock steps,
// its answers fail, come late or get lost, and its claims are taken away when a test says so; it
// counts its calls and keeps a log of all windows.
//
//	m := &claimtest.Memory{Length: time.Minute} // and the program's generator on m
//	m.Fail(errors.New("no route to host"), claimtest.OpExtend)
//	// Ids go on to the end of the window, and then calls fail.
//	m.Fail(nil)
//	m.Lose(0) // The claim is lost at its next extension, and the program needs another one.
//
// The zero value is ready to use, and assigns the lowest worker id that is free. Set changes fields
// after the first call. Methods are safe for concurrent use. It implements assigner.LayoutBinder:
// the first claim's layout, and what succeeds it, are the only ones; if that claim names none,
// none may. Its times are those of time.Now, so that it works in a testing/synctest bubble.
type Memory struct {
	// Length is how far a new window reaches beyond the clock, or beyond its start if that is
	// later. Default 10 minutes.
	Length time.Duration

	// Span is what claims say of the length of a new window, as an assigner.Windowed. Default 0:
	// they do not know.
	Span time.Duration

	// From is where the first window of every worker id begins. Default: the beginning of time.
	From time.Time

	// TellTime makes claims implement assigner.Clock.
	TellTime bool

	// Before, when not nil, is called before each call is carried out. It may wait, until ctx ends.
	// Its error is the call's result, and the authority does not hear of the call.
	Before func(ctx context.Context, c Call) error

	// After, when not nil, is called after each call that succeeded. Its error is the call's
	// result: the authority has done what the caller does not know of.
	After func(ctx context.Context, c Call) error

	// Grant, when not nil, returns the end that OpExtend grants when it is asked for the given one.
	// An end that is not after the window's grants nothing, as of an authority that bounds how far
	// its windows reach. It must not call m's methods.
	Grant func(asked time.Time) time.Time

	mu     sync.Mutex
	offset time.Duration // of the clock
	fails  map[Op]error  // what Fail says
	layout string
	rows   map[int64]*row
	calls  []Call
	claims int64
	log    winlog.Log
}

// row is the state of a worker id. Guarded by Memory.mu.
type row struct {
	token int64 // fencing token: one more with each owner
	owned bool
	until time.Time
}

// Op is the kind of a Call.
type Op string

// The calls of an authority.
const (
	OpAssign  Op = "Assign"
	OpExtend  Op = "Extend"
	OpRelease Op = "Release"
	OpNow     Op = "Now"
)

// Call is a call of an authority or one of its claims.
type Call struct {
	Op     Op
	Worker int64     // -1 for OpAssign
	At     time.Time // by time.Now, whatever the authority's clock says
	Asked  time.Time // what OpExtend asks for, what OpRelease says was used
}

// Now returns the time by the authority's clock.
func (m *Memory) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

func (m *Memory) now() time.Time { return time.Now().Add(m.offset).UTC().Round(0) }

// Step moves the authority's clock by d.
func (m *Memory) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += d
}

// Set calls f to change m's fields, at any time. f must not call m's methods.
func (m *Memory) Set(f func(m *Memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// Fail makes every call fail with err, as in an outage, until Fail(nil): calls of the given kinds
// only, if there are any. The authority does not hear of a call that fails. Before comes first.
func (m *Memory) Fail(err error, ops ...Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(ops) == 0 {
		ops = []Op{OpAssign, OpExtend, OpRelease, OpNow}
	}
	if m.fails == nil {
		m.fails = map[Op]error{}
	}
	for _, op := range ops {
		m.fails[op] = err
	}
}

// Lose takes a worker id from its owner, whose next Extend fails with assigner.ErrClaimLost. The
// worker id is free, and its next window begins where the lost one ends.
func (m *Memory) Lose(worker int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rows[worker]; r != nil {
		r.token++
		r.owned = r.owned && r.until.IsZero() // nothing can begin after a window without end
	}
}

// Calls returns the calls so far in the order in which they began, those of the given kinds if
// there are any.
func (m *Memory) Calls(ops ...Op) []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.calls), func(c Call) bool {
		return len(ops) > 0 && !slices.Contains(ops, c.Op)
	})
}

// Windows returns the log of all windows that claims ever had.
func (m *Memory) Windows() *winlog.Log { return &m.log }

// Assign claims the lowest worker id that is free: one without an owner, or whose window has passed
// by the authority's clock.
func (m *Memory) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	return m.Range(0, math.MaxInt64).Assign(ctx, maxWorker)
}

// BindLayout returns an Assigner whose claims are for one layout.
func (m *Memory) BindLayout(layout string) assigner.Assigner {
	return view{m, 0, math.MaxInt64, layout}
}

// Range returns an Assigner that assigns the worker ids first to last only.
func (m *Memory) Range(first, last int64) assigner.Assigner { return view{m, first, last, ""} }

// view is an Assigner on a Memory.
type view struct {
	m           *Memory
	first, last int64
	layout      string
}

func (v view) BindLayout(layout string) assigner.Assigner {
	v.layout = layout
	return v
}

func (v view) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	var claim assigner.Claim
	err := v.m.call(ctx, Call{Op: OpAssign, Worker: -1}, func() (err error) {
		claim, err = v.claim(maxWorker)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// claim makes a claim. The caller holds m.mu.
func (v view) claim(maxWorker int64) (assigner.Claim, error) {
	m := v.m
	if v.first < 0 || v.first > v.last || v.last > maxWorker && v.last != math.MaxInt64 {
		return nil, fmt.Errorf("%w: memory: the range is %d to %d, want one within 0..%d",
			assigner.ErrWorkersExhausted, v.first, v.last, maxWorker)
	}
	cut, err := m.compare(v.layout)
	if err != nil {
		return nil, err
	}
	now, worker := m.now(), v.first
	if !cut.IsZero() && !now.Before(cut) {
		return nil, errSuperseded(cut)
	}
	r := m.rows[worker]
	for r != nil && r.owned && (r.until.IsZero() || r.until.After(now)) {
		if worker == min(v.last, maxWorker) {
			return nil, fmt.Errorf("%w: memory: worker ids %d to %d are owned",
				assigner.ErrWorkersExhausted, v.first, worker)
		}
		worker++
		r = m.rows[worker]
	}
	if worker > maxWorker {
		return nil, fmt.Errorf("%w: memory: worker id is %d, want 0..%d",
			assigner.ErrWorkersExhausted, worker, maxWorker)
	}
	if r == nil {
		r = &row{until: m.From}
		if m.rows == nil {
			m.rows = map[int64]*row{}
		}
		m.rows[worker] = r
	}
	if !cut.IsZero() && !r.until.Before(cut) {
		return nil, errSuperseded(cut)
	}
	if cut.IsZero() {
		m.layout = v.layout
	}
	m.claims++
	r.token++
	r.owned = true
	c := &memoryClaim{m: m, row: r, token: r.token, layout: v.layout}
	c.window = winlog.Window{Claim: m.claims, Worker: worker, From: r.until}
	if m.Length != Endless {
		if begin := r.until; begin.After(now) {
			now = begin
		}
		length := m.Length
		if length == 0 {
			length = 10 * time.Minute
		}
		c.window.Until = now.Add(length)
	}
	if u := c.window.Until; !cut.IsZero() && (u.IsZero() || u.After(cut)) {
		c.window.Until = cut
	}
	r.until = c.window.Until
	m.log.Put(c.window)
	if m.TellTime {
		return memoryClock{c}, nil
	}
	return c, nil
}

// compare returns where windows for layout end, the zero time if nowhere. The caller holds m.mu.
func (m *Memory) compare(layout string) (cut time.Time, err error) {
	if len(m.rows) == 0 {
		return cut, nil // the first claim's layout becomes that of all
	}
	cut, added, err := assigner.CompareLayouts(m.layout, layout)
	if err != nil || added.IsZero() {
		return cut, err
	}
	for worker, r := range m.rows {
		if r.until.IsZero() || r.until.After(added) {
			return cut, fmt.Errorf("%w: memory: a layout is added from %v on, and worker id %d "+
				"has a window that reaches %v", assigner.ErrLayoutMismatch, added, worker, r.until)
		}
	}
	return cut, nil
}

// errSuperseded is the error of a window that would begin or end after cut.
func errSuperseded(cut time.Time) error {
	return fmt.Errorf("%w: it begins at %v", assigner.ErrSuperseded, cut)
}

// call carries out do, between what Before and After say. do holds m.mu.
func (m *Memory) call(ctx context.Context, c Call, do func() error) error {
	c.At = time.Now()
	m.mu.Lock()
	m.calls = append(m.calls, c)
	before := m.Before
	m.mu.Unlock()
	err := ctx.Err()
	if err == nil && before != nil {
		err = before(ctx, c)
	}
	if err == nil {
		m.mu.Lock()
		if err = m.fails[c.Op]; err == nil {
			err = do()
		}
		after := m.After
		m.mu.Unlock()
		if err == nil && after != nil {
			err = after(ctx, c)
		}
	}
	if err != nil {
		return fmt.Errorf("memory: %s: %w", c.Op, err)
	}
	return nil
}
