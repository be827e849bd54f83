package assigner

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// errReleased is the error of Extend after Release.
var errReleased = errors.New("the claim is released")

// opened holds the worker ids that open claims of this process have. Every Assigner in the program
// shares it: two of them with one worker id would repeat ids, and neither knows of the other. It is
// the only mutable state of this package.
var opened holders

// holders is a set of worker ids, each of one layout. Its methods are safe for concurrent use.
type holders struct {
	mu   sync.Mutex
	held map[holding]bool
}

// holding is a worker id and the text of the first layout that ids are stamped with. Generators
// that differ in later layouts alone make the same ids until then.
type holding struct {
	layout string
	worker int64
}

// hold adds a worker id of the layouts, which are empty if they are not known. It returns a
// function that removes the worker id again, which may be called more than once.
func (s *holders) hold(layouts string, worker int64) (release func(), err error) {
	first, _, _ := strings.Cut(layouts, ",")
	h := holding{first, worker}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[h] {
		return nil, fmt.Errorf("%w: worker id %d is in use by another generator of this process; "+
			"close that one first, or share it", ErrWorkersExhausted, worker)
	}
	if s.held == nil {
		s.held = map[holding]bool{}
	}
	s.held[h] = true
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, h)
	}), nil
}
