package uid_test

import (
	"context"
	"log/slog"
	"sync"
)

// logged counts log records by their message.
type logged struct {
	mu     sync.Mutex
	counts map[string]int
}

// newLogged returns a logger and what it counts.
func newLogged() (*slog.Logger, *logged) {
	l := &logged{counts: map[string]int{}}
	return slog.New(l), l
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Message]++
	return nil
}

// of returns how often message was logged.
func (l *logged) of(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[message]
}
