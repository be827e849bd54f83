package assignertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

const firstLayout = "28-22-13-0/1s@2026-01-01T00:00:00Z"

// then returns the text of a list of layouts with another one from an instant on.
func then(list string, from time.Time) string {
	return list + ",36-14-13-0/1s+99999999@" + from.UTC().Format(time.RFC3339Nano)
}

// assignBound makes a claim for a list of layouts in a new process. ok is false if the Assigner is
// not bound to layouts.
func assignBound(ctx context.Context, e env, list string) (c assigner.Claim, ok bool, err error) {
	b, ok := e.process().(assigner.LayoutBinder)
	if !ok {
		return nil, false, nil
	}
	c, err = e.watch(b.BindLayout(list)).Assign(ctx, e.MaxWorker)
	return c, true, err
}

// checkEras: a layout is added after the windows that were given out; a process that does not know
// it stops where it begins; layouts that were changed, or added too early, are refused.
func checkEras(ctx context.Context, e env) error {
	old, ok, err := assignBound(ctx, e, firstLayout)
	if !ok || err != nil {
		return err
	}
	_, until := old.Window()
	if until.IsZero() || e.BoundsLead {
		return nil
	}
	early := then(firstLayout, until.Add(-time.Second))
	if err := refusedAs(ctx, e, early, "a layout that begins before a window's end"); err != nil {
		return err
	}
	if until, err = old.Extend(ctx, until.Add(time.Second)); err != nil {
		return fmt.Errorf("Extend after a layout was refused: %w", err)
	}
	from := until.Add(time.Hour).Truncate(time.Second)
	both := then(firstLayout, from)
	fresh, _, err := assignBound(ctx, e, both)
	if err != nil {
		return fmt.Errorf("Assign with a layout that begins at %v, after every window: %w",
			from, err)
	}
	beyond := from.Add(time.Hour)
	if end, err := fresh.Extend(ctx, beyond); err != nil || end.Before(beyond) {
		return fmt.Errorf("Extend beyond a layout's begin, which the claim knows = %v, %w",
			end, err)
	}
	for name, list := range map[string]string{
		"another begin":         then(firstLayout, from.Add(time.Second)),
		"another second layout": both + "0",
		"a layout in between":   then(then(firstLayout, from.Add(-time.Minute)), from),
	} {
		if err := refusedAs(ctx, e, list, name); err != nil {
			return err
		}
	}
	late, _, err := assignBound(ctx, e, firstLayout)
	if err != nil {
		return fmt.Errorf("Assign without the newest layout, before it begins: %w", err)
	}
	for _, c := range []assigner.Claim{old, late} {
		end, err := c.Extend(ctx, from.Add(2*time.Hour))
		for tries := 0; err == nil && tries < 5; tries++ {
			if end.After(from) {
				return fmt.Errorf("Extend beyond a layout's begin, %v, which the claim does "+
					"not know = %v",
					from, end)
			}
			end, err = c.Extend(ctx, from.Add(2*time.Hour))
		}
		if !errors.Is(err, assigner.ErrSuperseded) {
			return fmt.Errorf("Extend at the start of a layout that the claim does not know = %w, "+
				"want ErrSuperseded", err)
		}
		if errors.Is(err, assigner.ErrClaimLost) {
			return fmt.Errorf("Extend at the start of a layout = %w, want no lost claim", err)
		}
		if _, end := c.Window(); !end.Equal(from) {
			return fmt.Errorf("a window ends at %v, want the start of the layout that the claim "+
				"does not know, %v", end, from)
		}
	}
	return nil
}

// refusedAs returns an error unless Assign with a list fails with ErrLayoutMismatch.
func refusedAs(ctx context.Context, e env, list, what string) error {
	c, _, err := assignBound(ctx, e, list)
	if err := refused(c, err); err != nil {
		return fmt.Errorf("Assign with %s = %w", what, err)
	}
	return nil
}

// checkErasRace adds layouts while processes that do not know them extend their windows beyond
// their start. Where the layout is added, no such window reaches beyond it.
func checkErasRace(ctx context.Context, e env) error {
	list := firstLayout
	for round := range 3 {
		var claims []assigner.Claim
		var latest time.Time
		for range 4 {
			c, ok, err := assignBound(ctx, e, list)
			if !ok || err != nil {
				return err
			}
			_, until := c.Window()
			if until.IsZero() || e.BoundsLead {
				return nil
			}
			claims = append(claims, c)
			if until.After(latest) {
				latest = until
			}
		}
		from := latest.Add(time.Minute).Truncate(time.Second)
		var wg sync.WaitGroup
		for i, c := range claims {
			wg.Go(func() {
				for step := range 8 { // the last steps lie past the layout's start
					_, until := c.Window()
					if _, err := c.Extend(ctx, until.Add(
						time.Duration(5+i+step)*5*time.Second)); err != nil {
						return
					}
				}
			})
		}
		var added assigner.Claim
		var err error
		wg.Go(func() { added, _, err = assignBound(ctx, e, then(list, from)) })
		wg.Wait()
		if err != nil && !errors.Is(err, assigner.ErrLayoutMismatch) {
			return fmt.Errorf("round %d: Assign with another layout while windows grow: %w",
				round, err)
		}
		if added == nil {
			continue // a window was faster
		}
		list = then(list, from)
		for _, c := range claims {
			_, _ = c.Extend(ctx, from.Add(time.Hour))
			if _, until := c.Window(); until.After(from) {
				return fmt.Errorf("round %d: worker %d has a window that reaches %v, and a "+
					"layout that it does not know was added from %v on",
					round, c.Worker(), until, from)
			}
		}
	}
	return nil
}
