// Package backoff paces attempts. A pause is random, so that processes that lost a server together
// do not come back together, and it ends with its context.
package backoff

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry calls try until it succeeds, until it returns an error with most zero, which another
// attempt would not change, or until ctx ends. The first pause is least, and each next one twice as
// long, but none longer than the most that the try before it returned; each is cut at random, by up
// to half. When ctx ends, the error wraps ctx's error, and the last failure before that: one after
// it may be ctx's doing.
func Retry(ctx context.Context, least time.Duration,
	try func() (most time.Duration, err error)) error {
	var last error
	for pause := least; ctx.Err() == nil; {
		most, err := try()
		if err == nil || most == 0 {
			return err
		}
		if ended := ctx.Err(); ended == nil || last == nil && !errors.Is(err, ended) {
			last = err
		}
		pause = min(pause, most)
		Wait(ctx, jitter(pause))
		pause = min(2*pause, most) // overflows after a pause of 73 years at the earliest
	}
	if last == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w; last error: %w", ctx.Err(), last)
}

// jitter returns a random time between half of d and d. d is not negative.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

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
