package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workerstore"
	"github.com/uidring/uidring/test/internal/soak"
)

// The bugs that a run can inject.
const (
	endless = "endless" // generators ignore the ends of their windows
	early   = "early"   // windows begin before the last one on the worker id has ended

	// A store that was restored is not repaired before processes connect.
	unrepaired = "unrepaired"

	// An owner that finds its entry gone writes it again with the end that it knows.
	hasty = "hasty"
)

// exposes has for each bug the fault that brings it to light for certain. A run with a bug has no
// other faults, of its processes neither.
var exposes = map[string]fault{
	endless: {"store: away until all windows have passed", away},
	early: {"owner: killed, and its worker id taken over",
		func(in *injector, _ time.Duration) (func() error, error) {
			slot := in.lowest()
			p := in.fleet.At(slot)
			if p == nil {
				return nil, nil
			}
			w, ok := in.fleet.window(p)
			if !ok || !in.fleet.Replace(slot, in.fleet.start) {
				return nil, nil
			}
			return nil, in.await(w)
		}},
	unrepaired: {"store: restored while its owners sleep", usurped},
	hasty: {"owner: asleep until another had its worker id, entry deleted by hand",
		asleep(deletedOf)},
}

// away keeps the store from all processes until all windows have passed.
func away(in *injector, _ time.Duration) (func() error, error) {
	in.proxy.Set(dbtest.Refuse)
	soak.Pause(in.stop, 2*in.fleet.lease)
	return func() error { in.proxy.Set(dbtest.None); return nil }, nil
}

// usurped restores the store to where windows that are still open have passed, while their owners
// sleep, and starts a process that wants the worker id of one.
func usurped(in *injector, lasts time.Duration) (func() error, error) {
	if err := in.keep(); err != nil {
		return nil, err
	}
	soak.Pause(in.stop, 2*in.fleet.lease) // the windows in the backup pass
	slot := in.lowest()
	p, wake := in.sleep(slot)
	if p == nil {
		return nil, nil
	}
	heal := func() error { wake(); return nil }
	w, ok := in.fleet.window(p)
	if !ok {
		return heal, nil
	}
	err := restored(in, w.Worker, lasts)
	if err == nil {
		in.want(w.Worker, p)
	}
	return heal, err
}

// planted is an Assigner with a bug: its claims report other windows than those that were granted.
type planted struct {
	assigner.Assigner
	window func(from, until time.Time) (time.Time, time.Time) // returns the window to report
}

// BindLayout keeps the bug.
func (p planted) BindLayout(layout string) assigner.Assigner {
	if b, ok := p.Assigner.(assigner.LayoutBinder); ok {
		p.Assigner = b.BindLayout(layout)
	}
	return p
}

func (p planted) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := p.Assigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	return plantedClaim{c, p.window}, nil
}

type plantedClaim struct {
	assigner.Claim
	window func(from, until time.Time) (time.Time, time.Time)
}

func (c plantedClaim) Window() (from, until time.Time) { return c.window(c.Claim.Window()) }

// hastyStore is a Store of a process with the bug hasty.
type hastyStore struct {
	*workerstore.Store
	mu   *sync.Mutex
	last map[string]slot // as the process has left its slots; guarded by mu
}

// slot is what the bug has to know of an entry.
type slot struct {
	Form   int    `json:"v"`
	Token  int64  `json:"gen"`
	Random string `json:"token"`
	Owner  string `json:"owner"`
	Layout string `json:"layout,omitempty"`
	Until  int64  `json:"until_ms"`
}

// newHasty returns the Assigner of leases with the bug.
func newHasty(db *gorm.DB, o lease.Options) (assigner.Assigner, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	s, err := sqlstore.New(pool, db.Dialector.Name(), nil)
	if err != nil {
		return nil, err
	}
	rows := s.(*workerstore.Store) //nolint:errcheck,forcetypeassert // as it always is
	return lease.New(hastyStore{rows, new(sync.Mutex), map[string]slot{}}, &o)
}

func (s hastyStore) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	e, err := s.Store.Put(ctx, old, value)
	var v slot
	if err == nil && old.Name != "header" && json.Unmarshal(value, &v) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last[old.Name] = v
	}
	return e, err
}

// Get repairs an entry that is gone.
func (s hastyStore) Get(ctx context.Context, name string) (lease.Entry, error) {
	e, err := s.Store.Get(ctx, name)
	s.mu.Lock()
	v, ok := s.last[name]
	s.mu.Unlock()
	if err != nil || e.Version != "" || !ok {
		return e, err
	}
	v.Token, v.Owner, v.Random = v.Token+1, "", "1"
	value, err := json.Marshal(v)
	if err != nil {
		return e, err
	}
	return s.Store.Put(ctx, e, value)
}
