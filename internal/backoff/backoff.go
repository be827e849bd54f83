// Package backoff paces attempts. A pause is random, so that processes that lost a server together
// do not come back together, and it ends with its context.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter returns a random time between half of d and d. d is not negative.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Wait waits for d, and returns false if ctx ends first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
