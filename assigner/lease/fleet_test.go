package lease_test

import (
	"context"
	"errors"
	"fmt"
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

func (s *seated) Fresh() {}

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

// TestFleetRequests: processes that start at once make few requests each. They do not all try the same
// worker ids, be they new or free.
func TestFleetRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ processes, free, last, most int64 }{
		{200, 0, maxWorker, 11}, {200, 0, 199, 15}, {500, 1000, 1499, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &seated{memory: &memory{}, seats: make(chan struct{}, 2)}
			for i := range tt.free {
				if i == 0 { // makes the header
					assign(t, newAssigner(t, s.memory, nil))
					s.edit(lease.HeaderName, `"used":[]`, fmt.Sprintf(`"used":[[0,%d]]`, tt.free))
				}
				put(s.memory, lease.SlotPrefix+fmt.Sprint(i),
					fmt.Sprintf(`{"v":1,"gen":1,"token":"%d","owner":"","until_ms":%d}`, i, 1000+i))
			}
			begin := time.Now()
			var wg sync.WaitGroup
			for range tt.processes {
				wg.Go(func() {
					_, err := newAssigner(t, s, nil).Assign(t.Context(), tt.last)
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			n := s.requests.Load() / tt.processes
			if n >= tt.most {
				t.Errorf("%d processes, %d free: %d requests per process, want fewer than %d",
					tt.processes, tt.free, n, tt.most)
			}
			t.Logf("%d processes, %d free: %d requests per process, in %v", tt.processes, tt.free, n,
				time.Since(begin))
		})
	}
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
		const processes = 1000
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

// TestStartUnseen: a start whose index is of before the header was made, or whose list or index is of
// before a worker id was given back, does not take the worker ids for exhausted.
func TestStartUnseen(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func() (lease.Store, indexed){
		"list": func() (lease.Store, indexed) {
			s := newIndexed(time.Second, false)
			return lagging{s}, s
		},
		"index": func() (lease.Store, indexed) {
			s := newIndexed(time.Second, false)
			return s, s
		},
		"index, all shown": func() (lease.Store, indexed) {
			s := newIndexed(time.Second, false)
			return s, s
		},
		"index, own worker id": func() (lease.Store, indexed) {
			s := newIndexed(time.Second, true)
			return s, s
		},
		"index, own worker id beyond": func() (lease.Store, indexed) {
			s := newIndexed(time.Second, true)
			return skipping{s, 10}, s
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, shown := store()
			c := assign(t, newAssigner(t, s, nil))
			if name == "index, all shown" {
				time.Sleep(2 * time.Second)
			}
			if err := c.Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			want := map[string]int{"list": 1, "index, all shown": 2}[name]
			if n := len(shown.shown()); n != want {
				t.Fatalf("%s: shows %d entries, want %d", name, n, want)
			}
			again, err := newAssigner(t, s, nil).Assign(t.Context(), c.Worker())
			if err != nil || again.Worker() != c.Worker() {
				t.Errorf("%s: Assign = %v, %v, want worker %d, which was given back", name, again, err, c.Worker())
			}
		})
	}
}
