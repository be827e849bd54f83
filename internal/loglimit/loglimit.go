// Package loglimit keeps an outage, or a stranger, from filling a log.
package loglimit

import (
	"sync"
	"time"
)

// Limit lets one log line a second pass and counts the others. The zero value is ready to use. Its
// methods are safe for concurrent use.
type Limit struct {
	mu       sync.Mutex // guards the fields below
	next     time.Time  // when the next line may pass
	unlogged int        // lines held back since the last one that passed
}

// Pass reports whether a line may pass at now, and if so, how many were held back since the last.
func (l *Limit) Pass(now time.Time) (unlogged int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.next) {
		l.unlogged++
		return 0, false
	}
	unlogged, l.unlogged, l.next = l.unlogged, 0, now.Add(time.Second)
	return unlogged, true
}
