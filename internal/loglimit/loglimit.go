// Package loglimit keeps an outage, or a stranger, from filling a log.
package loglimit

import (
	"log/slog"
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

// Logger returns log with the number of lines that were held back since the last one that passed,
// for a line to log now. It returns a silent Logger if a line passed within the last second.
func (l *Limit) Logger(log *slog.Logger) *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		l.unlogged++
		return slog.New(slog.DiscardHandler)
	}
	log = log.With("unlogged", l.unlogged)
	l.unlogged, l.next = 0, now.Add(time.Second)
	return log
}
