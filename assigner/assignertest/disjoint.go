package assignertest

import (
	"context"
	"sync"
	"time"
)

// checkDisjoint: many processes claim, extend and release at once, and no instant of a worker id
// has two owners.
func checkDisjoint(ctx context.Context, e env) {
	const processes, rounds = 8, 6
	var (
		wg   sync.WaitGroup
		errs [processes]error
	)
	for p := range processes {
		wg.Go(func() { errs[p] = try(func() { churn(ctx, e, p, rounds) }) })
	}
	wg.Wait()
	for p, err := range errs {
		if err != nil {
			failf("process %d, while others claim: %w", p, err)
		}
	}
}

// churn is one process's life: claims that are held, extended, released half used, released unused,
// or forgotten.
func churn(ctx context.Context, e env, p, rounds int) {
	a := e.watch(e.process())
	for round := range rounds {
		c, err := a.Assign(ctx, e.MaxWorker)
		if err != nil {
			failf("Assign: %w", err)
		}
		if _, until := c.Window(); (p+round)%2 == 0 && !until.IsZero() {
			extend(ctx, c, until.Add(time.Minute))
		}
		switch (p + round) % 3 {
		case 1:
			release(ctx, c, stamped(c))
		case 2:
			release(ctx, c, time.Time{})
		}
	}
}
