package lease_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
