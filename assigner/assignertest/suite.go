// Package assignertest is the conformance suite of package assigner: what every Assigner has to do,
// checked from the outside. The author of an Assigner calls Run in a test.
package assignertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// Factory makes the Assigners that the suite checks.
type Factory struct {
	// Authority makes an authority that no other call shares, such as an empty database, and
	// returns a function that makes Assigners on it. Each of those stands for a process: none
	// knows what the others know. Clean up with tb. Required.
	Authority func(tb testing.TB) (process func() assigner.Assigner)

	// Clock is Authority with a function that moves the authority's clock. Nil leaves out the
	// checks of a clock that jumps.
	Clock func(tb testing.TB) (process func() assigner.Assigner, step func(time.Duration))

	// Ranges is Authority for Assigners that keep to the worker ids first to last, all on one
	// authority. Nil leaves out the checks of ranges. Refused stands in for an Assigner that cannot
	// be made.
	Ranges func(tb testing.TB) (process func(first, last int64) assigner.Assigner)

	// Crash ends the process that has a claim as SIGKILL does, where the claim has something that
	// the system takes away, such as a lock. Nil if there is nothing.
	Crash func(tb testing.TB, c assigner.Claim)

	// MaxWorker is the highest worker id that the checks ask for, where it does not matter. Default
	// 1<<22 - 1.
	MaxWorker int64

	// Single says that an authority has one worker id, so that one claim at a time is open.
	Single bool

	// BoundsLead says that Extend may grant less than it is asked for, because the claim bounds how
	// far it reaches ahead of the clock.
	BoundsLead bool

	// Unguarded leaves out the checks that the windows of claims which are open at the same time
	// are disjoint, for an Assigner whose user must ensure that.
	Unguarded bool

	// Forgets leaves out the checks that a process repeats nothing of what the one before it has
	// stamped, for an Assigner whose user must ensure that, such as assigner.Static.
	Forgets bool

	_ struct{} // keeps literals keyed
}

// timeout bounds every single check.
const timeout = time.Minute

// Run runs the suite, each check in a subtest on an authority of its own.
func Run(t *testing.T, f Factory) {
	t.Helper()
	if f.Authority == nil {
		t.Fatal("assignertest: Factory.Authority is nil")
	}
	for _, c := range checks {
		if !f.applies(c) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := f.run(t, c); err != nil {
				t.Error(err)
			}
		})
	}
}

// A check ends with failf when an Assigner does something wrong. It does not get hold of the test,
// so that the suite's own tests can see it fail.
type check struct {
	name string
	kind kind
	run  func(ctx context.Context, e env)
}

// kind says which Assigners a check is for.
type kind int

const (
	always  kind = iota
	guarded      // claims that are open at the same time are apart
	several      // the same, with several claims open
	restart      // claims that follow one another are apart
	clock        // the authority's clock steps
	ranges       // there are ranges
)

// checks is read only. Its order is from what everything needs to what few have.
var checks = []check{
	{"range", always, checkRange},
	{"exhausted", always, checkExhausted},
	{"no workers at all", always, checkNegativeMax},
	{"cancelled assign", always, checkCancelledAssign},
	{"window", always, checkWindow},
	{"extend", always, checkExtend},
	{"extend by less", always, checkExtendLess},
	{"cancelled extend", always, checkCancelledExtend},
	{"window during extend", always, checkWindowDuringExtend},
	{"release twice", always, checkReleaseTwice},
	{"extend after release", always, checkExtendAfterRelease},
	{"restart", restart, checkRestart},
	{"reuse after release", guarded, checkReuse},
	{"reuse after nothing stamped", guarded, checkReuseUnused},
	{"stale release", guarded, checkStaleRelease},
	{"disjoint", several, checkDisjoint},
	{"layout", guarded, checkLayout},
	{"universe", several, checkUniverse},
	{"no layout", several, checkNoLayout},
	{"eras", several, checkEras},
	{"eras added while windows grow", several, checkErasRace},
	{"clock", always, checkClock},
	{"clock jumps", clock, checkClockJumps},
	{"ranges", ranges, checkRanges},
}

// applies reports whether c is for the Assigners of f.
func (f Factory) applies(c check) bool {
	switch c.kind {
	case guarded:
		return !f.Unguarded
	case several:
		return !f.Unguarded && !f.Single
	case restart:
		return !f.Forgets
	case clock:
		return f.Clock != nil
	case ranges:
		return f.Ranges != nil
	}
	return true
}

// run runs c. Windows do not overlap in it, whatever it is about; those of an Unguarded authority
// only where claims follow one another.
func (f Factory) run(tb testing.TB, c check) error {
	e := env{Factory: f, tb: tb, log: &winlog.Log{}}
	if e.MaxWorker == 0 {
		e.MaxWorker = 1<<22 - 1
	}
	if c.kind != clock && c.kind != ranges {
		e.process = f.Authority(tb)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := try(func() { c.run(ctx, e) }); err != nil || f.Unguarded && c.kind < restart {
		return err
	}
	return e.log.Overlap()
}

// failure is the panic of a check that has failed.
type failure struct{ err error }

// failf ends a check.
func failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// try runs do, and returns the error of its failf. Goroutines of a check use it as well.
func try(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	do()
	return nil
}

// env is what a check works on.
type env struct {
	Factory
	tb      testing.TB
	process func() assigner.Assigner
	log     *winlog.Log // of all claims of the check
}

// watch returns a with its windows in the log.
func (e env) watch(a assigner.Assigner) assigner.Assigner { return e.log.Watch(a) }

// assign makes a claim in a new process.
func (e env) assign(ctx context.Context) assigner.Claim {
	c, err := e.watch(e.process()).Assign(ctx, e.MaxWorker)
	if err != nil {
		failf("Assign(%d): %w", e.MaxWorker, err)
	}
	return c
}

// extend extends a claim.
func extend(ctx context.Context, c assigner.Claim, until time.Time) time.Time {
	end, err := c.Extend(ctx, until)
	if err != nil {
		failf("Extend(%v): %w", until, err)
	}
	return end
}

// release releases a claim.
func release(ctx context.Context, c assigner.Claim, used time.Time) {
	if err := c.Release(ctx, used); err != nil {
		failf("Release(%v): %w", used, err)
	}
}

// crash ends the process that has c.
func (e env) crash(c assigner.Claim) {
	if e.Crash != nil {
		e.Crash(e.tb, winlog.Unwatched(c))
	}
}

// makeRoom gives c back if the authority has no other worker id.
func (e env) makeRoom(ctx context.Context, c assigner.Claim) {
	if e.Single {
		release(ctx, c, stamped(c))
	}
}

// Refused returns an Assigner whose Assign fails with err: what a Factory returns for a constructor
// that fails.
func Refused(err error) assigner.Assigner { return failed{err} }

type failed struct{ err error }

func (f failed) Assign(context.Context, int64) (assigner.Claim, error) { return nil, f.err }
