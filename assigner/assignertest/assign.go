package assignertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
)

// promptly bounds how long a call may take whose ctx ended before it began.
const promptly = 10 * time.Second

// checkRange: worker ids are in [0, maxWorker], and do not change.
func checkRange(ctx context.Context, e env) error {
	for range 3 {
		c, err := e.assign(ctx)
		if err != nil {
			return err
		}
		if err := inRange(c, e.MaxWorker); err != nil {
			return err
		}
		if err := e.makeRoom(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// checkExhausted: with room for few, those that find none get ErrWorkersExhausted, and the others a
// worker id of their own and in range.
func checkExhausted(ctx context.Context, e env) error {
	const maxWorker, tries = 3, 10
	full := 0
	for range tries {
		c, err := e.watch(e.process()).Assign(ctx, maxWorker)
		switch {
		case errors.Is(err, assigner.ErrWorkersExhausted):
			full++
		case err != nil:
			return fmt.Errorf("Assign(%d) = %w, want a claim or ErrWorkersExhausted",
				maxWorker, err)
		default:
			if err := inRange(c, maxWorker); err != nil {
				return err
			}
		}
	}
	if !e.Unguarded && full < tries-(maxWorker+1) {
		return fmt.Errorf("%d of %d Assign(%d) succeeded at one time, want at most %d",
			tries-full, tries, maxWorker, maxWorker+1)
	}
	return nil
}

// checkNegativeMax: a maxWorker below 0 leaves no worker id to assign.
func checkNegativeMax(ctx context.Context, e env) error {
	c, err := e.process().Assign(ctx, -1)
	if err == nil {
		return fmt.Errorf("Assign(-1) = worker %d, want an error", c.Worker())
	}
	return nil
}

// checkCancelledAssign: a ctx that has ended is an error that says so, at once.
func checkCancelledAssign(_ context.Context, e env) error {
	for _, end := range endedContexts() {
		a := e.process()
		begin := time.Now()
		c, err := a.Assign(end.make(), e.MaxWorker)
		if err == nil {
			return fmt.Errorf("Assign with a ctx that is %s = worker %d, want an error",
				end.name, c.Worker())
		}
		if !errors.Is(err, end.want) {
			return fmt.Errorf("Assign with a ctx that is %s = %w, want an error that wraps %w",
				end.name, err, end.want)
		}
		if d := time.Since(begin); d > promptly {
			return fmt.Errorf("Assign with a ctx that is %s took %v", end.name, d)
		}
	}
	return nil
}

// checkLayout: an authority has claims of one layout only. A claim that names no layout is not one
// of them: nothing would cut its window where the next layout begins.
func checkLayout(ctx context.Context, e env) error {
	const one, two = "28-22-13-0/1s@2026-01-01T00:00:00Z", "29-21-13-0/1s@2016-09-20T00:00:00Z"
	if _, ok := e.process().(assigner.LayoutBinder); !ok {
		return nil
	}
	assign := func(layout string) (assigner.Claim, error) {
		b, ok := e.process().(assigner.LayoutBinder)
		if !ok {
			return nil, errors.New("one process's Assigner is a LayoutBinder and another " +
				"one's is not")
		}
		return e.watch(b.BindLayout(layout)).Assign(ctx, e.MaxWorker)
	}
	c, err := assign(one)
	if err != nil {
		return fmt.Errorf("Assign with the first layout: %w", err)
	}
	if err := e.makeRoom(ctx, c); err != nil {
		return err
	}
	if c, err = assign(two); err == nil {
		return fmt.Errorf("Assign with layout %s after a claim with layout %s = worker %d, "+
			"want ErrLayoutMismatch", two, one, c.Worker())
	}
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		return fmt.Errorf("Assign with another layout = %w, want an error that wraps "+
			"ErrLayoutMismatch",
			err)
	}
	if err := mentions(err, one, two); err != nil {
		return err
	}
	err = refused(e.watch(e.process()).Assign(ctx, e.MaxWorker))
	if err != nil {
		return fmt.Errorf("Assign without a layout after a claim with layout %s = %w", one, err)
	}
	if _, err := assign(one); err != nil {
		return fmt.Errorf("Assign with the first layout, after a refusal of another: %w", err)
	}
	return nil
}

// checkNoLayout: an authority whose claims name no layout has none for a claim that does, while
// a window is open. Whether it has one later is the authority's choice.
func checkNoLayout(ctx context.Context, e env) error {
	b, ok := e.process().(assigner.LayoutBinder)
	if !ok {
		return nil
	}
	c, err := e.assign(ctx)
	if err != nil {
		return err
	}
	err = refused(e.watch(b.BindLayout(firstLayout)).Assign(ctx, e.MaxWorker))
	if err != nil {
		return fmt.Errorf("Assign with a layout while a claim without one is open = %w", err)
	}
	_, until := c.Window()
	if _, err := c.Extend(ctx, until.Add(time.Second)); err != nil {
		return fmt.Errorf("Extend without a layout, after a refusal of one: %w", err)
	}
	if _, err := e.assign(ctx); err != nil {
		return fmt.Errorf("Assign without a layout, after a refusal of one: %w", err)
	}
	return nil
}

// refused returns an error unless the Assign whose results it gets failed with ErrLayoutMismatch.
func refused(c assigner.Claim, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("worker %d, want ErrLayoutMismatch", c.Worker())
	case !errors.Is(err, assigner.ErrLayoutMismatch):
		return fmt.Errorf("%w, want ErrLayoutMismatch", err)
	}
	return nil
}

// checkClock: a claim that can tell the time tells it, and honours its ctx.
func checkClock(ctx context.Context, e env) error {
	c, err := e.assign(ctx)
	if err != nil {
		return err
	}
	clock, ok := c.(assigner.Clock)
	if !ok {
		return nil
	}
	now, err := clock.Now(ctx)
	if err != nil {
		return fmt.Errorf("Now: %w", err)
	}
	// Authorities may be wrong by hours; a time that is off by a year is another unit or another
	// epoch.
	if d := time.Since(now).Abs(); d > 365*24*time.Hour {
		return fmt.Errorf("Now() = %v, which is %v from this machine's time", now, d)
	}
	for _, end := range endedContexts() {
		if _, err := clock.Now(end.make()); err == nil {
			return fmt.Errorf("Now with a ctx that is %s = nil error, want one", end.name)
		}
	}
	return nil
}

// endedContext is a way for a context to have ended.
type endedContext struct {
	name string
	want error
	make func() context.Context
}

func endedContexts() []endedContext {
	return []endedContext{
		{"cancelled", context.Canceled, func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		}},
		{"past its deadline", context.DeadlineExceeded, func() context.Context {
			ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
			cancel()
			return ctx
		}},
	}
}

func inRange(c assigner.Claim, maxWorker int64) error {
	for range 2 {
		if w := c.Worker(); w < 0 || w > maxWorker {
			return fmt.Errorf("worker id = %d, want 0..%d", w, maxWorker)
		}
	}
	return nil
}
