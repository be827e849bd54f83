package soak

import (
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Counts counts faults by their names. The zero value is ready to use, and its methods are safe for
// concurrent use.
type Counts struct {
	mu sync.Mutex
	n  map[string]int64 // guarded by mu
}

// Add counts one.
func (c *Counts) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[name]++
}

// All returns the counts.
func (c *Counts) All() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// Split returns how many faults are of processes, whose names begin so, and how many are not.
func Split(faults map[string]int64) (process, other int64) {
	for name, n := range faults {
		if strings.HasPrefix(name, "process") {
			process += n
		} else {
			other += n
		}
	}
	return process, other
}

// Between returns a random duration from least to most.
func Between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// Pause waits for d, and reports whether d has passed before stop was closed.
func Pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}
