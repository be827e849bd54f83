// Package assignertest is the conformance suite of package assigner: what every Assigner has to do, checked from the outside.
// Who writes an Assigner calls Run in a test.
package assignertest

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Factory makes the Assigners that the suite checks.
type Factory struct {
	// Authority makes an authority that no other call shares, such as an empty database, and returns a function that makes
	// Assigners on it. Each of those stands for a process: what one knows the others do not. The clean-up is tb's. Required.
	Authority func(tb testing.TB) (process func() assigner.Assigner)

	// MaxWorker is the highest worker id that the checks ask for, where it does not matter. Default 1<<22 - 1.
	MaxWorker int64

	// Unguarded leaves out the checks that windows of one worker id are disjoint, for an Assigner whose user has
	// to see to that, such as assigner.Static.
	Unguarded bool

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
		if c.guarded && f.Unguarded {
			continue // disjoint windows are the user's to see to
		}
		t.Run(c.name, func(t *testing.T) {
			if err := f.run(t, c); err != nil {
				t.Error(err)
			}
		})
	}
}

// A check returns what an Assigner does wrong. It does not get hold of the test, so that the suite's own tests can see it
// fail.
type check struct {
	name    string
	guarded bool // about claims on one worker id being apart
	run     func(ctx context.Context, e env) error
}

// env is what a check works on.
type env struct {
	process   func() assigner.Assigner
	maxWorker int64
	guarded   bool
}

// checks is read only. Its order is from what everything needs to what few have.
var checks = []check{
	{"range", false, checkRange},
	{"exhausted", false, checkExhausted},
	{"no workers at all", false, checkNegativeMax},
	{"cancelled assign", false, checkCancelledAssign},
	{"window", false, checkWindow},
	{"extend", false, checkExtend},
	{"extend by less", false, checkExtendLess},
	{"cancelled extend", false, checkCancelledExtend},
	{"window during extend", false, checkWindowDuringExtend},
	{"release twice", false, checkReleaseTwice},
	{"extend after release", false, checkExtendAfterRelease},
	{"reuse after release", true, checkReuse},
	{"reuse after nothing stamped", true, checkReuseUnused},
	{"stale release", true, checkStaleRelease},
	{"disjoint", true, checkDisjoint},
	{"layout", false, checkLayout},
	{"clock", false, checkClock},
}

func (f Factory) run(tb testing.TB, c check) error {
	e := env{process: f.Authority(tb), maxWorker: f.MaxWorker, guarded: !f.Unguarded}
	if e.maxWorker == 0 {
		e.maxWorker = 1<<22 - 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return c.run(ctx, e)
}
