package assignertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// bounded assigns a claim. ok is false if its window has no end, so that there is nothing to
// extend.
func bounded(ctx context.Context, e env) (c assigner.Claim, ok bool, err error) {
	if c, err = e.assign(ctx); err != nil {
		return nil, false, err
	}
	_, until := c.Window()
	return c, !until.IsZero(), nil
}

// checkWindow: a window is not empty, and asking for it twice gives the same.
func checkWindow(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil {
		return err
	}
	from, until := c.Window()
	if ok && !from.Before(until) {
		return fmt.Errorf("window = [%v, %v), want an end after its start", from, until)
	}
	if from2, until2 := c.Window(); !from2.Equal(from) || !until2.Equal(until) {
		return fmt.Errorf("window = [%v, %v), then [%v, %v), without anything between",
			from, until, from2, until2)
	}
	return nil
}

// checkExtend: a window grows to what was asked for or further, begins where it began, and says so.
func checkExtend(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil {
		return err
	}
	for range 3 {
		from, until := c.Window()
		want := until.Add(time.Hour)
		got, err := c.Extend(ctx, want)
		if err != nil {
			return fmt.Errorf("Extend(%v): %w", want, err)
		}
		newFrom, newUntil := c.Window()
		if !newFrom.Equal(from) {
			return fmt.Errorf("after Extend the window begins at %v, want %v as before",
				newFrom, from)
		}
		if !newUntil.Equal(got) {
			return fmt.Errorf("Extend = %v and Window ends at %v, want the same", got, newUntil)
		}
		if !ok && !got.IsZero() {
			return fmt.Errorf("Extend of a window without end = %v, want the zero time", got)
		}
		if ok && !e.BoundsLead && got.Before(want) {
			return fmt.Errorf("Extend(%v) = %v and no error, want no earlier end", want, got)
		}
		if ok && !got.After(until) {
			return fmt.Errorf("Extend(%v) = %v and no error, want an end after %v", want, got,
				until)
		}
	}
	return nil
}

// checkExtendLess: asking for less than there is changes nothing.
func checkExtendLess(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil || !ok {
		return err
	}
	from, until := c.Window()
	asks := []time.Time{until, until.Add(-time.Second)}
	if !from.IsZero() {
		asks = append(asks, from)
	}
	for _, ask := range asks {
		got, err := c.Extend(ctx, ask)
		if err != nil {
			return fmt.Errorf("Extend(%v) of a window that ends at %v: %w", ask, until, err)
		}
		if _, end := c.Window(); got.Before(until) || !end.Equal(got) {
			return fmt.Errorf("Extend(%v) = %v and Window ends at %v, want both at %v or later",
				ask, got, end, until)
		}
	}
	return nil
}

// checkCancelledExtend: a ctx that has ended is an error, and the window is what it was.
func checkCancelledExtend(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil || !ok {
		return err
	}
	_, until := c.Window()
	for _, end := range endedContexts() {
		got, err := c.Extend(end.make(), until.Add(time.Hour))
		if err == nil {
			return fmt.Errorf("Extend with a ctx that is %s = %v, want an error", end.name, got)
		}
		if errors.Is(err, assigner.ErrClaimLost) {
			return fmt.Errorf("Extend with a ctx that is %s = %w, want an error that is "+
				"not permanent",
				end.name, err)
		}
		if _, after := c.Window(); !after.Equal(until) {
			return fmt.Errorf("after an Extend that failed the window ends at %v, want "+
				"%v as before",
				after, until)
		}
	}
	if _, err := c.Extend(ctx, until.Add(time.Hour)); err != nil {
		return fmt.Errorf("Extend after one with a ctx that had ended: %w", err)
	}
	return nil
}

// checkWindowDuringExtend: Worker and Window may be called while Extend runs, and the end only
// grows. The race detector sees the rest.
func checkWindowDuringExtend(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil || !ok {
		return err
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	problems := make(chan error, 4)
	for range cap(problems) {
		wg.Go(func() {
			worker := c.Worker()
			_, last := c.Window()
			for {
				_, until := c.Window()
				if until.Before(last) || c.Worker() != worker {
					problems <- fmt.Errorf("during Extend worker %d until %v became worker "+
						"%d until %v",
						worker, last, c.Worker(), until)
					return
				}
				last = until
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	_, until := c.Window()
	for range 5 {
		if until, err = c.Extend(ctx, until.Add(time.Minute)); err != nil {
			break
		}
	}
	close(done)
	wg.Wait()
	close(problems)
	if err != nil {
		return fmt.Errorf("Extend: %w", err)
	}
	return <-problems
}
