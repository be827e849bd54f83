package lease_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
)

// newAssigner returns an Assigner on a store.
func newAssigner(tb testing.TB, s lease.Store, o *lease.Options) *lease.Assigner {
	tb.Helper()
	a, err := lease.New(s, o)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// TestConformance runs the suite on a store without a clock, one that loses answers, and one with a
// clock.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() func(op, name string) (bool, error){
		"sound":          func() func(op, name string) (bool, error) { return nil },
		"answers lost":   func() func(op, name string) (bool, error) { return losing(3) },
		"answers lost 5": func() func(op, name string) (bool, error) { return losing(5) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assignertest.Run(t, assignertest.Factory{
				Authority: func(tb testing.TB) func() assigner.Assigner {
					m := &memory{fault: fault()}
					return func() assigner.Assigner { return newAssigner(tb, m, nil) }
				},
				Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
					m, c := &memory{fault: fault()}, &clock{}
					return func() assigner.Assigner {
						a := newAssigner(tb, m, nil)
						a.SetClock(c.now)
						return a
					}, c.step
				},
				Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
					m := &memory{fault: fault()}
					return func(first, last int64) assigner.Assigner {
						a, err := lease.New(m, &lease.Options{First: first, Last: last})
						if err != nil {
							return assignertest.Refused(err)
						}
						return a
					}
				},
			})
		})
	}
	t.Run("with a clock", func(t *testing.T) {
		t.Parallel()
		assignertest.Run(t, assignertest.Factory{
			Authority: func(tb testing.TB) func() assigner.Assigner {
				s := told{&memory{}, &clock{}}
				return func() assigner.Assigner { return newAssigner(tb, s, nil) }
			},
			Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
				s := told{&memory{}, &clock{}}
				return func() assigner.Assigner { return newAssigner(tb, s, nil) }, s.clock.step
			},
		})
	})
}
