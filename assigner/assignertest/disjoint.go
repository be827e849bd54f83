package assignertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// checkDisjoint: many processes claim, extend and release at once, and no instant of a worker id
// has two owners.
func checkDisjoint(ctx context.Context, e env) error {
	const processes, rounds = 8, 6
	var (
		wg   sync.WaitGroup
		errs [processes]error
	)
	for p := range processes {
		wg.Go(func() { errs[p] = churn(ctx, e, p, rounds) })
	}
	wg.Wait()
	for p, err := range errs {
		if err != nil {
			return fmt.Errorf("process %d, while others claim: %w", p, err)
		}
	}
	return nil
}

// churn is one process's life: claims that are held, extended, released half used, released unused,
// or forgotten.
func churn(ctx context.Context, e env, p, rounds int) error {
	a := e.watch(e.process())
	for round := range rounds {
		c, err := a.Assign(ctx, e.MaxWorker)
		if err != nil {
			return fmt.Errorf("Assign: %w", err)
		}
		if _, until := c.Window(); (p+round)%2 == 0 && !until.IsZero() {
			if _, err := c.Extend(ctx, until.Add(time.Minute)); err != nil {
				return fmt.Errorf("Extend: %w", err)
			}
		}
		switch (p + round) % 3 {
		case 1:
			err = c.Release(ctx, stamped(c))
		case 2:
			err = c.Release(ctx, time.Time{})
		}
		if err != nil {
			return fmt.Errorf("Release: %w", err)
		}
	}
	return nil
}

// mentions returns an error unless the text of err contains every part.
func mentions(err error, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			return fmt.Errorf("error %q does not mention %q", err, part)
		}
	}
	return nil
}
