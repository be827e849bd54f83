package lease_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// piecewise is a store whose List is ten requests, which stop with its ctx.
type piecewise struct{ *seated }

func (s piecewise) List(ctx context.Context) ([]lease.Entry, error) {
	for range 10 {
		s.serve(5 * time.Millisecond)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return s.memory.List(ctx)
}

// TestFleetPatience: processes start whose lists keep the store busy for 20 seconds, which is longer than any
// other request may take.
func TestFleetPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes = 400
		s := piecewise{&seated{memory: &memory{}, seats: make(chan struct{}, 1)}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for range processes {
			wg.Go(func() {
				if _, err := newAssigner(t, s, nil).Assign(ctx, maxWorker); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// sluggish is a store whose List takes as long as it is told.
type sluggish struct {
	*memory
	takes []time.Duration // the next Lists
	took  []time.Duration // the Lists so far
}

func (s *sluggish) List(ctx context.Context) ([]lease.Entry, error) {
	begin := time.Now()
	defer func() { s.took = append(s.took, time.Since(begin)) }()
	select {
	case <-time.After(s.takes[len(s.took)]):
		return s.memory.List(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestListPatience: a List has twice as long as the last one took, 5 seconds at least and a minute at most.
func TestListPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const s, long = time.Second, time.Hour
		store := &sluggish{memory: &memory{},
			takes: []time.Duration{long, long, long, long, long, long, 50 * s, long, s, long, 3 * s, long, 0, long, 0}}
		a := newAssigner(t, store, nil)
		for range 5 {
			if _, err := a.Slots(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 60 * s, 60 * s, 50 * s, 60 * s,
			s, 5 * s, 3 * s, 6 * s, 0, 5 * s, 0}
		if !slices.Equal(store.took, want) {
			t.Errorf("lists took %v, want %v", store.took, want)
		}
	})
}
