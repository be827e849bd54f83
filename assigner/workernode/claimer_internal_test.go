package workernode

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTryBrokenOff: a change that breaks off because the attempt has ended says nothing of the row:
// the next attempt may try it again, and is as patient. Only a row that outlasts the patience is
// left alone, with twice the patience for the next.
func TestTryBrokenOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		attempt  time.Duration // what the attempt has left
		patience time.Duration
		locked   bool
	}{
		{"the attempt ends", 0, 1 << 62, false},
		{"the row takes too long", time.Minute, time.Millisecond, true},
	} {
		c := &claimer{locked: map[int64]bool{}, patience: tt.patience}
		ctx, cancel := context.WithTimeout(t.Context(), tt.attempt)
		defer cancel()
		got, err := c.try(ctx, attempt{mine: row{worker: 7}},
			func(ctx context.Context) (bool, error) {
				<-ctx.Done()
				return false, ctx.Err()
			})
		want := tt.patience
		if tt.locked {
			want *= 2
		}
		if got != nil || !errors.Is(err, context.DeadlineExceeded) || c.patience != want ||
			c.locked[7] != tt.locked || len(c.attempts) != 1 || c.attempts[0].locked != tt.locked {
			t.Errorf("%s: try = %v, %v; patience %v, want %v; locked %v, attempts %+v", tt.name, got, err,
				c.patience, want, c.locked, c.attempts)
		}
	}
}
