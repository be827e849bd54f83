package uid_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
)

// logged counts log records by their message.
type logged struct {
	mu     sync.Mutex
	counts map[string]int
}

// newLogged returns a logger and what it counts.
func newLogged() (*slog.Logger, *logged) {
	l := &logged{counts: map[string]int{}}
	return slog.New(records(func(r slog.Record) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.counts[r.Message]++
	})), l
}

// of returns how often message was logged.
func (l *logged) of(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[message]
}

// want checks how often messages were logged, from the first number to the second.
func (l *logged) want(t *testing.T, times map[string][2]int) {
	t.Helper()
	for message, want := range times {
		if n := l.of(message); n < want[0] || n > want[1] {
			t.Errorf("%q was logged %d times, want %d to %d", message, n, want[0], want[1])
		}
	}
}

// records is a slog.Handler that passes every record to a function.
type records func(slog.Record)

func (f records) Enabled(context.Context, slog.Level) bool { return true }
func (f records) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f records) WithGroup(string) slog.Handler            { return f }

func (f records) Handle(_ context.Context, r slog.Record) error {
	f(r)
	return nil
}
