package assignertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
)

// promptly bounds how long a call may take whose ctx ended before it began.
const promptly = 10 * time.Second

// checkRange: worker ids are in [0, maxWorker], and do not change.
func checkRange(ctx context.Context, e env) {
	for range 3 {
		c := e.assign(ctx)
		inRange(c, e.MaxWorker)
		e.makeRoom(ctx, c)
	}
}

// checkExhausted: with room for few, those that find none get ErrWorkersExhausted, and the others a
// worker id of their own and in range.
func checkExhausted(ctx context.Context, e env) {
	const maxWorker, tries = 3, 10
	full := 0
	for range tries {
		c, err := e.watch(e.process()).Assign(ctx, maxWorker)
		switch {
		case errors.Is(err, assigner.ErrWorkersExhausted):
			full++
		case err != nil:
			failf("Assign(%d) = %w, want a claim or ErrWorkersExhausted", maxWorker, err)
		default:
			inRange(c, maxWorker)
		}
	}
	if !e.Unguarded && full < tries-(maxWorker+1) {
		failf("%d of %d Assign(%d) succeeded at one time, want at most %d",
			tries-full, tries, maxWorker, maxWorker+1)
	}
}

// checkNegativeMax: a maxWorker below 0 leaves no worker id to assign.
func checkNegativeMax(ctx context.Context, e env) {
	if c, err := e.process().Assign(ctx, -1); err == nil {
		failf("Assign(-1) = worker %d, want an error", c.Worker())
	}
}

// checkCancelledAssign: a ctx that has ended is an error that says so, at once.
func checkCancelledAssign(_ context.Context, e env) {
	for _, end := range endedContexts() {
		a := e.process()
		begin := time.Now()
		c, err := a.Assign(end.make(), e.MaxWorker)
		switch {
		case err == nil:
			failf("Assign with a ctx that is %s = worker %d, want an error", end.name, c.Worker())
		case !errors.Is(err, end.want):
			failf("Assign with a ctx that is %s = %w, want an error that wraps %w",
				end.name, err, end.want)
		}
		if d := time.Since(begin); d > promptly {
			failf("Assign with a ctx that is %s took %v", end.name, d)
		}
	}
}

// checkLayout: an authority has claims of one layout only. A claim that names no layout is not one
// of them: nothing would cut its window where the next layout begins.
func checkLayout(ctx context.Context, e env) {
	const other = "29-21-13-0/1s@2016-09-20T00:00:00Z"
	c, ok, err := e.assignBound(ctx, firstLayout)
	if !ok {
		return
	}
	if err != nil {
		failf("Assign with the first layout: %w", err)
	}
	e.makeRoom(ctx, c)
	text := e.refused(ctx, other, "with another layout")
	for _, part := range []string{firstLayout, other} {
		if !strings.Contains(text, part) {
			failf("error %q does not mention %q", text, part)
		}
	}
	_, err = e.watch(e.process()).Assign(ctx, e.MaxWorker)
	mismatch(err, "without a layout, after a claim with one")
	if _, _, err := e.assignBound(ctx, firstLayout); err != nil {
		failf("Assign with the first layout, after a refusal of another: %w", err)
	}
}

// checkNoLayout: an authority whose claims name no layout has none for a claim that does, while
// a window is open. Whether it has one later is the authority's choice.
func checkNoLayout(ctx context.Context, e env) {
	if _, ok := e.process().(assigner.LayoutBinder); !ok {
		return
	}
	c := e.assign(ctx)
	e.refused(ctx, firstLayout, "with a layout, while a claim without one is open")
	_, until := c.Window()
	extend(ctx, c, until.Add(time.Second))
	e.assign(ctx)
}

// assignBound makes a claim for a list of layouts in a new process. ok is false if the Assigner is
// not bound to layouts.
func (e env) assignBound(
	ctx context.Context, list string,
) (c assigner.Claim, ok bool, err error) {
	b, ok := e.process().(assigner.LayoutBinder)
	if !ok {
		return nil, false, nil
	}
	c, err = e.watch(b.BindLayout(list)).Assign(ctx, e.MaxWorker)
	return c, true, err
}

// refused fails unless Assign for a list of layouts, which what describes, fails with
// ErrLayoutMismatch. It returns the text of that error.
func (e env) refused(ctx context.Context, list, what string) string {
	_, ok, err := e.assignBound(ctx, list)
	if !ok {
		failf("one process's Assigner is a LayoutBinder and another one's is not")
	}
	mismatch(err, what)
	return err.Error()
}

// mismatch fails unless err, of an Assign that what describes, is ErrLayoutMismatch.
func mismatch(err error, what string) {
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		failf("Assign %s = %v, want ErrLayoutMismatch", what, err)
	}
}

// checkClock: a claim that can tell the time tells it, and honours its ctx.
func checkClock(ctx context.Context, e env) {
	clock, ok := e.assign(ctx).(assigner.Clock)
	if !ok {
		return
	}
	now, err := clock.Now(ctx)
	if err != nil {
		failf("Now: %w", err)
	}
	// Authorities may be wrong by hours; a time that is off by a year is another unit or another
	// epoch.
	if d := time.Since(now).Abs(); d > 365*24*time.Hour {
		failf("Now() = %v, which is %v from this machine's time", now, d)
	}
	for _, end := range endedContexts() {
		if _, err := clock.Now(end.make()); err == nil {
			failf("Now with a ctx that is %s = nil error, want one", end.name)
		}
	}
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

func inRange(c assigner.Claim, maxWorker int64) {
	for range 2 {
		if w := c.Worker(); w < 0 || w > maxWorker {
			failf("worker id = %d, want 0..%d", w, maxWorker)
		}
	}
}
