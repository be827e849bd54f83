package lease_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

// unsafe is a memory that shows a change before it is safe, as a MySQL does that waits for its
// replica after the commit: while no replica acknowledges, changes are made and shown, and not
// answered. A change that is answered makes all before it safe. promote forgets the others.
type unsafe struct {
	*memory
	alone bool                   // no replica acknowledges
	safe  map[string]lease.Entry // what the replica has
}

func (s *unsafe) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	e, err := s.memory.Put(ctx, old, value)
	if err != nil {
		return e, err
	}
	if s.alone {
		return lease.Entry{}, errLost
	}
	s.safe = maps.Clone(s.entries)
	return e, nil
}

func (s *unsafe) promote() {
	s.set(func() { s.entries = maps.Clone(s.safe) })
	s.alone = false
}

// TestReadBack: a change whose answer is lost and that is read back by its token may not be safe yet.
// No window grows by it, and no claim is given by it, until one more change was answered.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"Assign", "Extend"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &unsafe{memory: &memory{}}
				var log winlog.Log
				claims := int64(0)
				put := func(c assigner.Claim) {
					claims++
					log.Put(winlog.Window{Claim: claims, Worker: c.Worker(), From: from(c), Until: until(c)})
				}
				put(assign(t, newAssigner(t, s, nil))) // makes the header
				a := newAssigner(t, s, nil)
				var c assigner.Claim
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var err error
				if by == "Assign" {
					s.alone = true
					c, err = a.Assign(ctx, maxWorker)
				} else {
					c = assign(t, a)
					s.alone = true
					_, err = c.Extend(ctx, until(c).Add(time.Hour))
				}
				if !errors.Is(err, errLost) || errors.Is(err, assigner.ErrClaimLost) {
					t.Errorf("%s without a replica = %v, want its lost answer", by, err)
				}
				if c != nil {
					put(c)
				}
				s.promote()
				for range 3 {
					put(assign(t, newAssigner(t, s, nil)))
					time.Sleep(25 * time.Minute)
				}
				if err := log.Overlap(); err != nil {
					t.Error(err)
				}
				// What was forgotten was never answered, so the store did not go back.
				if c, err := a.Assign(t.Context(), maxWorker); err != nil {
					t.Errorf("Assign after the promotion = %v, %v", c, err)
				}
			})
		})
	}
}
