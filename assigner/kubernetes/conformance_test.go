package kubernetes_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/slots"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, factory(func(testing.TB) *fake { return &fake{} }))
}

// TestConformanceUnreliable runs the suite on a server that fails one request in 22, and of which
// another one in 22 is carried out and its answer lost.
func TestConformanceUnreliable(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, factory(func(testing.TB) *fake {
		var arrived, answered atomic.Int64
		return &fake{
			before: func(w http.ResponseWriter, _ *http.Request) bool {
				if arrived.Add(1)%22 != 0 {
					return false
				}
				status(w, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out")
				return true
			},
			after: func(*http.Request) error {
				if answered.Add(1)%22 != 11 {
					return nil
				}
				return errors.New("connection reset by peer")
			},
		}
	}))
}

// factory returns the suite's Factory. Each check gets a fake of its own.
func factory(start func(testing.TB) *fake) assignertest.Factory {
	return assignertest.Factory{
		Authority: func(tb testing.TB) func() assigner.Assigner {
			f := start(tb)
			return func() assigner.Assigner { return open(f.cluster(), nil) }
		},
		Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
			f := start(tb)
			step := func(d time.Duration) { f.set(func(f *fake) { f.offset += d }) }
			return func() assigner.Assigner { return open(f.cluster(), nil) }, step
		},
		Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
			f := start(tb)
			return func(first, last int64) assigner.Assigner {
				return open(f.cluster(), &kubernetes.Options{
					Options: slots.Options{First: first, Last: last}})
			}
		},
	}
}

// open returns New's Assigner, or one whose Assign fails with New's error.
func open(c *kubernetes.Cluster, o *kubernetes.Options) assigner.Assigner {
	a, err := kubernetes.New(c, o)
	if err != nil {
		return refused{err}
	}
	return a
}

// refused is the Assigner of a New that failed.
type refused struct{ err error }

func (r refused) Assign(context.Context, int64) (assigner.Claim, error) { return nil, r.err }
