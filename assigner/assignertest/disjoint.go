package assignertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// checkDisjoint: many processes claim, extend and release at once, and no two ever own the same instant of the same worker
// id.
func checkDisjoint(ctx context.Context, e env) error {
	const processes, rounds = 8, 6
	var (
		rec  recorder
		wg   sync.WaitGroup
		errs [processes]error
	)
	for p := range processes {
		wg.Go(func() { errs[p] = churn(ctx, e, &rec, p, rounds) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return rec.overlap()
}

// churn is one process's life: claims that are held, extended, released half used, released unused, or forgotten.
func churn(ctx context.Context, e env, rec *recorder, p, rounds int) error {
	a := e.process()
	for round := range rounds {
		c, err := a.Assign(ctx, e.maxWorker)
		if err != nil {
			return fmt.Errorf("process %d: Assign while others do: %w", p, err)
		}
		if _, until := c.Window(); (p+round)%2 == 0 && !until.IsZero() {
			if _, err := c.Extend(ctx, until.Add(time.Minute)); err != nil {
				return fmt.Errorf("process %d: Extend while others do: %w", p, err)
			}
		}
		switch (p + round) % 3 {
		case 0:
			rec.add(c)
		case 1:
			used := stamped(c)
			rec.addUsed(c, used)
			if err := c.Release(ctx, used); err != nil {
				return fmt.Errorf("process %d: Release while others do: %w", p, err)
			}
		case 2:
			if err := c.Release(ctx, time.Time{}); err != nil {
				return fmt.Errorf("process %d: Release while others do: %w", p, err)
			}
		}
	}
	return nil
}

// recorder collects the windows that were owned. Its methods are safe for concurrent use.
type recorder struct {
	mu      sync.Mutex
	windows []window
}

// window is what one claim may have stamped: [from, until) on a worker id. The zero times are without bound.
type window struct {
	worker      int64
	from, until time.Time
}

// add records the whole window of c.
func (r *recorder) add(c assigner.Claim) {
	from, until := c.Window()
	r.put(window{c.Worker(), from, until})
}

// addUsed records the part of the window of c that ends at used.
func (r *recorder) addUsed(c assigner.Claim, used time.Time) {
	from, _ := c.Window()
	r.put(window{c.Worker(), from, used})
}

func (r *recorder) put(w window) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.windows = append(r.windows, w)
}

// overlap returns an error that shows two windows of one worker id which overlap, if there are any. Sorted by begin, each
// window must begin at or after the end of every earlier one, and so of the one before it.
func (r *recorder) overlap() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.windows, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), a.from.Compare(b.from), a.until.Compare(b.until))
	})
	for i := 1; i < len(r.windows); i++ {
		a, b := r.windows[i-1], r.windows[i]
		if a.worker == b.worker && (a.until.IsZero() || b.from.Before(a.until)) {
			return fmt.Errorf("worker %d was owned twice at a time: in [%v, %v) and in [%v, %v)", a.worker, a.from, a.until, b.from, b.until)
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
