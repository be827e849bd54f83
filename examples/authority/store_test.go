package authority_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/examples/authority"
	"github.com/uidring/uidring/uid"
)

func Example() {
	server := new(authority.Server) // yours is reached over the network
	a, err := lease.New(authority.NewStore(server, "orders"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	gen, err := uid.NewCached(ctx, a, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gen.Close() // gives the worker id back
	id, err := gen.Next(ctx)
	fmt.Println(gen.Parse(id).Worker, err)
	// Output: 0 <nil>
}

// TestStore is the test to copy: the conformance suite, on a new server for each check.
func TestStore(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, factory(t, func(s lease.Store) lease.Store { return s }))
}

// TestStoreUnreliable runs the suite with every eleventh call lost, and every fifth answer to a change.
func TestStoreUnreliable(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, factory(t, func(s lease.Store) lease.Store {
		return unreliable{s, new(atomic.Int64), new(atomic.Int64)}
	}))
}

// factory makes a server for each check. wrap makes the Store of one process.
func factory(t *testing.T, wrap func(lease.Store) lease.Store) assignertest.Factory {
	process := func(s lease.Store, o *lease.Options) assigner.Assigner {
		a, err := lease.New(wrap(s), o)
		if err != nil {
			return assignertest.Refused(err)
		}
		return a
	}
	return assignertest.Factory{
		Authority: func(testing.TB) func() assigner.Assigner {
			s := authority.NewStore(new(authority.Server), t.Name())
			return func() assigner.Assigner { return process(s, nil) }
		},
		Ranges: func(testing.TB) func(first, last int64) assigner.Assigner {
			s := authority.NewStore(new(authority.Server), t.Name())
			return func(first, last int64) assigner.Assigner {
				return process(s, &lease.Options{First: first, Last: last})
			}
		},
	}
}

// unreliable is a Store behind a network that fails: one call in eleven does not arrive, and the
// answer to one change in five is lost. The failures are counted and not random, so that of three
// tries in a row one succeeds.
type unreliable struct {
	lease.Store
	calls, changes *atomic.Int64
}

var errNetwork = errors.New("connection reset")

func (u unreliable) Get(ctx context.Context, name string) (lease.Entry, error) {
	if u.calls.Add(1)%11 == 0 {
		return lease.Entry{}, errNetwork
	}
	return u.Store.Get(ctx, name)
}

func (u unreliable) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	if u.calls.Add(1)%11 == 0 {
		return lease.Entry{}, errNetwork
	}
	e, err := u.Store.Put(ctx, old, value)
	if u.changes.Add(1)%5 == 0 {
		return lease.Entry{}, errNetwork
	}
	return e, err
}
