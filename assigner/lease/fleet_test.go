package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// seated is a memory that serves two requests at a time and takes its time for each.
type seated struct {
	*memory
	seats    chan struct{}
	requests atomic.Int64
}

// serve waits for a seat and keeps it for d.
func (s *seated) serve(d time.Duration) {
	s.requests.Add(1)
	s.seats <- struct{}{}
	time.Sleep(d)
	<-s.seats
}

func (s *seated) List(ctx context.Context) ([]lease.Entry, error) {
	s.serve(2 * time.Millisecond)
	return s.memory.List(ctx)
}

func (s *seated) Get(ctx context.Context, name string) (lease.Entry, error) {
	s.serve(time.Millisecond)
	return s.memory.Get(ctx, name)
}

func (s *seated) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	s.serve(2 * time.Millisecond)
	return s.memory.Put(ctx, old, value)
}

// TestFleetRequests: the pauses of processes that start at once on a new store keep the requests of
// each few.
func TestFleetRequests(t *testing.T) {
	t.Parallel()
	const processes, most = 200, 30
	synctest.Test(t, func(t *testing.T) {
		s := &seated{memory: &memory{}, seats: make(chan struct{}, 2)}
		begin := time.Now()
		var wg sync.WaitGroup
		for range processes {
			wg.Go(func() {
				if _, err := newAssigner(t, s, nil).Assign(t.Context(), processes-1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := s.requests.Load() / processes
		if n >= most {
			t.Errorf("%d requests per process, want fewer than %d", n, most)
		}
		t.Logf("%d requests per process, in %v", n, time.Since(begin))
	})
}

// limited is a memory that accepts as many sessions at a time as there are seats, and refuses the
// others at their first call.
type limited struct {
	*memory
	seats chan struct{}
}

type seatKey struct{}

// Session takes a seat if there is one, for 250 milliseconds at the least.
func (s limited) Session(ctx context.Context) (with context.Context, end func()) {
	select {
	case s.seats <- struct{}{}:
		return context.WithValue(ctx, seatKey{}, true), func() {
			time.Sleep(250 * time.Millisecond)
			<-s.seats
		}
	default:
		return ctx, func() {}
	}
}

var errTooMany = errors.New("too many connections")

func (s limited) Get(ctx context.Context, name string) (lease.Entry, error) {
	if ctx.Value(seatKey{}) == nil {
		return lease.Entry{}, errTooMany
	}
	return s.memory.Get(ctx, name)
}

// TestClosesAtOnce: of a fleet that stops at once, on a server that accepts connections for a seventh
// of it, each process gives its worker id back before the five seconds of its Close end.
func TestClosesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes = 300
		s := limited{&memory{}, make(chan struct{}, processes/7)}
		var claims []assigner.Claim
		for range processes {
			claims = append(claims, assign(t, newAssigner(t, s, nil)))
		}
		var wg sync.WaitGroup
		var lost atomic.Int64
		for _, c := range claims {
			wg.Go(func() {
				if err := c.Release(t.Context(), time.Now()); err != nil {
					lost.Add(1)
				}
			})
		}
		wg.Wait()
		if n := lost.Load(); n > 0 {
			t.Errorf("%d of %d worker ids were not given back", n, processes)
		}
	})
}
