package idhttp

import (
	"sync"
	"time"
)

// gate lets one log line a second pass and counts the others. The zero value is ready to use. Its
// methods are safe for concurrent use.
type gate struct {
	mu       sync.Mutex // guards the fields below
	next     time.Time  // when the next line may pass
	unlogged int        // lines held back since the last one that passed
}

// pass reports whether a line may pass at now, and if so, how many were held back since the last.
func (g *gate) pass(now time.Time) (unlogged int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.next) {
		g.unlogged++
		return 0, false
	}
	unlogged, g.unlogged, g.next = g.unlogged, 0, now.Add(time.Second)
	return unlogged, true
}
