package uid

import "sync"

// gate lets any number of goroutines wait for the next change of something and wakes all of them at
// once. The zero value is ready to use.
//
// The order that loses no wake-up: a waiter calls wait first and then looks at what it waits for;
// the goroutine that changes it does so first and then calls open. If the waiter's check misses the
// change, the check came first, so wait came before open, and open closes the waiter's channel.
//
//	waiter:   wait ──► look ──► receive
//	changer:  change ──► open
type gate struct {
	mu sync.Mutex    // held for a few instructions only
	ch chan struct{} // guarded by mu; nil while no goroutine waits, so that open costs a lock only
}

// wait returns a channel that the next open closes. It does not block.
func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

// awaited reports whether wait was called since the last open. Waiters that gave up meanwhile still
// count.
func (g *gate) awaited() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ch != nil
}

// open wakes every waiter. A wait that comes later waits for the next open. It does not block and
// costs one lock where no goroutine waits.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}
