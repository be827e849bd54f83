package assignertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// bounded assigns a claim. ok is false if its window has no end, so that there is nothing to
// extend.
func (e env) bounded(ctx context.Context) (c assigner.Claim, ok bool) {
	c = e.assign(ctx)
	_, until := c.Window()
	return c, !until.IsZero()
}

// checkWindow: a window is not empty, and asking for it twice gives the same.
func checkWindow(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	from, until := c.Window()
	if ok && !from.Before(until) {
		failf("window = [%v, %v), want an end after its start", from, until)
	}
	if from2, until2 := c.Window(); !from2.Equal(from) || !until2.Equal(until) {
		failf("window = [%v, %v), then [%v, %v), without anything between",
			from, until, from2, until2)
	}
}

// checkExtend: a window grows to what was asked for or further, begins where it began, and says so.
func checkExtend(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	for range 3 {
		from, until := c.Window()
		want := until.Add(time.Hour)
		got := extend(ctx, c, want)
		newFrom, newUntil := c.Window()
		switch {
		case !newFrom.Equal(from):
			failf("after Extend the window begins at %v, want %v as before", newFrom, from)
		case !newUntil.Equal(got):
			failf("Extend = %v and Window ends at %v, want the same", got, newUntil)
		case !ok && !got.IsZero():
			failf("Extend of a window without end = %v, want the zero time", got)
		case ok && !e.BoundsLead && got.Before(want):
			failf("Extend(%v) = %v and no error, want no earlier end", want, got)
		case ok && !got.After(until):
			failf("Extend(%v) = %v and no error, want an end after %v", want, got, until)
		}
	}
}

// checkExtendLess: asking for less than there is changes nothing.
func checkExtendLess(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	if !ok {
		return
	}
	from, until := c.Window()
	asks := []time.Time{until, until.Add(-time.Second)}
	if !from.IsZero() {
		asks = append(asks, from)
	}
	for _, ask := range asks {
		got := extend(ctx, c, ask)
		if _, end := c.Window(); got.Before(until) || !end.Equal(got) {
			failf("Extend(%v) = %v and Window ends at %v, want both at %v or later",
				ask, got, end, until)
		}
	}
}

// checkCancelledExtend: a ctx that has ended is an error, and the window is what it was.
func checkCancelledExtend(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	if !ok {
		return
	}
	_, until := c.Window()
	for _, end := range endedContexts() {
		got, err := c.Extend(end.make(), until.Add(time.Hour))
		switch {
		case err == nil:
			failf("Extend with a ctx that is %s = %v, want an error", end.name, got)
		case errors.Is(err, assigner.ErrClaimLost):
			failf("Extend with a ctx that is %s = %w, want an error that is not permanent",
				end.name, err)
		}
		if _, after := c.Window(); !after.Equal(until) {
			failf("after an Extend that failed the window ends at %v, want %v as before",
				after, until)
		}
	}
	extend(ctx, c, until.Add(time.Hour))
}

// checkWindowDuringExtend: Worker and Window may be called while Extend runs, and the end only
// grows. The race detector sees the rest.
func checkWindowDuringExtend(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	if !ok {
		return
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	var problems [4]error
	for i := range problems {
		wg.Go(func() { problems[i] = try(func() { watchWindow(c, done) }) })
	}
	_, until := c.Window()
	err := try(func() {
		for range 5 {
			until = extend(ctx, c, until.Add(time.Minute))
		}
	})
	close(done)
	wg.Wait()
	if err = errors.Join(append(problems[:], err)...); err != nil {
		failf("%w", err)
	}
}

// watchWindow fails if a claim's worker id changes or its window shrinks before done is closed.
func watchWindow(c assigner.Claim, done <-chan struct{}) {
	worker := c.Worker()
	_, last := c.Window()
	for {
		_, until := c.Window()
		if until.Before(last) || c.Worker() != worker {
			failf("during Extend worker %d until %v became worker %d until %v",
				worker, last, c.Worker(), until)
		}
		last = until
		select {
		case <-done:
			return
		default:
		}
	}
}
