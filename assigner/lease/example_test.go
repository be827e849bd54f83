package lease_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/uid"
)

// shelf is a Store in memory, for one process: what a real one does with a transaction or a request
// that compares.
type shelf struct {
	mu      sync.Mutex
	entries map[string]lease.Entry
	changes int
}

func (s *shelf) List(context.Context) ([]lease.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []lease.Entry
	for _, e := range s.entries {
		list = append(list, e)
	}
	return list, nil
}

func (s *shelf) Get(_ context.Context, name string) (lease.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	e.Name = name
	return e, nil
}

func (s *shelf) Put(_ context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[old.Name].Version != old.Version {
		return lease.Entry{}, lease.ErrConflict
	}
	s.changes++
	e := lease.Entry{Name: old.Name, Value: bytes.Clone(value), Version: strconv.Itoa(s.changes)}
	s.entries[old.Name] = e
	return e, nil
}

// A store of three methods is all that worker ids need.
func Example() {
	ctx := context.Background()
	workers, err := lease.New(&shelf{entries: map[string]lease.Entry{}},
		&lease.Options{Window: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	for range 2 {
		gen, err := uid.NewCached(ctx, workers, nil)
		if err != nil {
			panic(err)
		}
		defer gen.Close()
		id, err := gen.Next(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println("worker", gen.Parse(id).Worker)
	}
	// Output:
	// worker 0
	// worker 1
}
