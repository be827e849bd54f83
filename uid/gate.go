package uid

import "sync"

// gate lets any number of goroutines wait for the next change of something and wakes all of them at once.
//
// The order that loses no wake-up: a waiter calls wait first and looks at the thing second; who changes the thing changes
// it first and calls open second.
type gate struct {
	mu sync.Mutex // guards ch; held for a few instructions only
	ch chan struct{}
}

// wait returns a channel that the next open closes.
func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

// open wakes everyone who called wait before.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}
