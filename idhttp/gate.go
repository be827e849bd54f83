package idhttp

import (
	"sync"
	"time"
)

// gate lets one log line through per second and counts the others. The zero value is ready; its
// methods may be called at the same time.
type gate struct {
	mu       sync.Mutex
	next     time.Time // from when on a line may pass
	unlogged int       // lines held back since the last one that passed
}

// pass reports whether a line may pass at now, and how many before it did not.
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
