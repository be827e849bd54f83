package kubernetes_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/lease"
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
		f := &faults{quiet: map[string]int{}}
		return &fake{
			before: func(w http.ResponseWriter, r *http.Request) bool {
				if !f.due(r, 0) {
					return false
				}
				status(w, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out")
				return true
			},
			after: func(r *http.Request) error {
				if !f.due(r, 11) {
					return nil
				}
				return errors.New("connection reset by peer")
			},
		}
	}))
}

// faults says which requests fail: one in 22 before it is carried out, and one in 22 after. Extend and
// Release try three times only, so an object is spared for a while after a fault.
type faults struct {
	mu    sync.Mutex
	n     [2]int         // requests seen: before and after
	quiet map[string]int // by path: how many requests do not fail next
}

// due reports whether a request fails: each 22nd, where rest is its number modulo 22.
func (f *faults) due(r *http.Request, rest int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := &f.n[min(rest, 1)]
	*n++
	if f.quiet[r.URL.Path] > 0 {
		f.quiet[r.URL.Path]--
		return false
	}
	if *n%22 != rest {
		return false
	}
	f.quiet[r.URL.Path] = 24
	return true
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
					Lease: lease.Options{First: first, Last: last}})
			}
		},
	}
}

// open returns New's Assigner, or one whose Assign fails with New's error.
func open(c *kubernetes.Cluster, o *kubernetes.Options) assigner.Assigner {
	a, err := kubernetes.New(c, o)
	if err != nil {
		return assignertest.Refused(err)
	}
	return a
}
