package assignertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

const firstLayout = "28-22-13-0/1s@2026-01-01T00:00:00Z"

// then returns the text of a list of layouts with another one from an instant on.
func then(list string, from time.Time) string {
	return list + ",36-14-13-0/1s+99999999@" + from.UTC().Format(time.RFC3339Nano)
}

// checkEras: a layout is added after the windows that were given out; a process that does not know
// it stops where it begins; layouts that were changed, or added too early, are refused.
func checkEras(ctx context.Context, e env) {
	old, ok := e.grows(ctx, firstLayout)
	if !ok {
		return
	}
	_, until := old.Window()
	e.refused(ctx, then(firstLayout, until.Add(-time.Second)),
		"with a layout that begins before a window's end")
	until = extend(ctx, old, until.Add(time.Second)) // after a layout was refused
	from := until.Add(time.Hour).Truncate(time.Second)
	both := then(firstLayout, from)
	fresh, _, err := e.assignBound(ctx, both)
	if err != nil {
		failf("Assign with a layout that begins at %v, after every window: %w", from, err)
	}
	beyond := from.Add(time.Hour)
	if end := extend(ctx, fresh, beyond); end.Before(beyond) {
		failf("Extend(%v) beyond a layout's begin, which the claim knows = %v", beyond, end)
	}
	for name, list := range map[string]string{
		"with another begin":         then(firstLayout, from.Add(time.Second)),
		"with another second layout": both + "0",
		"with a layout in between":   then(then(firstLayout, from.Add(-time.Minute)), from),
	} {
		e.refused(ctx, list, name)
	}
	late, _, err := e.assignBound(ctx, firstLayout)
	if err != nil {
		failf("Assign without the newest layout, before it begins: %w", err)
	}
	for _, c := range []assigner.Claim{old, late} {
		end, err := c.Extend(ctx, from.Add(2*time.Hour))
		for tries := 0; err == nil && tries < 5; tries++ {
			if end.After(from) {
				failf("Extend beyond a layout's begin, %v, which the claim does not know = %v",
					from, end)
			}
			end, err = c.Extend(ctx, from.Add(2*time.Hour))
		}
		if !errors.Is(err, assigner.ErrSuperseded) || errors.Is(err, assigner.ErrClaimLost) {
			failf("Extend at the start of a layout that the claim does not know = %v, "+
				"want ErrSuperseded and no lost claim", err)
		}
		if _, end := c.Window(); !end.Equal(from) {
			failf("a window ends at %v, want the start of the layout that the claim "+
				"does not know, %v", end, from)
		}
	}
}

// grows is assignBound, and fails where that does. ok is false as well if windows have no end, or
// grow no further than the claim lets them.
func (e env) grows(ctx context.Context, list string) (c assigner.Claim, ok bool) {
	c, ok, err := e.assignBound(ctx, list)
	if err != nil {
		failf("Assign with the layouts %s: %w", list, err)
	}
	if !ok || e.BoundsLead {
		return nil, false
	}
	_, until := c.Window()
	return c, !until.IsZero()
}

// checkErasRace adds layouts while processes that do not know them extend their windows beyond
// their start. Where the layout is added, no such window reaches beyond it.
func checkErasRace(ctx context.Context, e env) {
	list := firstLayout
	for round := range 3 {
		var claims []assigner.Claim
		var latest time.Time
		for range 4 {
			c, ok := e.grows(ctx, list)
			if !ok {
				return
			}
			claims = append(claims, c)
			if _, until := c.Window(); until.After(latest) {
				latest = until
			}
		}
		from := latest.Add(time.Minute).Truncate(time.Second)
		var wg sync.WaitGroup
		for i, c := range claims {
			wg.Go(func() {
				for step := range 8 { // the last steps lie past the layout's start
					_, until := c.Window()
					until = until.Add(time.Duration(5+i+step) * 5 * time.Second)
					if _, err := c.Extend(ctx, until); err != nil {
						return
					}
				}
			})
		}
		var added assigner.Claim
		var err error
		wg.Go(func() { added, _, err = e.assignBound(ctx, then(list, from)) })
		wg.Wait()
		if err != nil && !errors.Is(err, assigner.ErrLayoutMismatch) {
			failf("round %d: Assign with another layout while windows grow: %w", round, err)
		}
		if added == nil {
			continue // a window was faster
		}
		list = then(list, from)
		for _, c := range claims {
			_, _ = c.Extend(ctx, from.Add(time.Hour))
			if _, until := c.Window(); until.After(from) {
				failf("round %d: worker %d has a window that reaches %v, and a layout that it "+
					"does not know was added from %v on", round, c.Worker(), until, from)
			}
		}
	}
}
