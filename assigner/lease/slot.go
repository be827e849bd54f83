package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/backoff"
)

// Slot is a worker id that was given out.
type Slot struct {
	Worker       int64
	FencingToken int64         // one more with every claim, extension and release
	Owner        string        // empty: given back, or repaired
	Until        time.Time     // end of the reserved window, UTC; zero: nothing was ever stamped
	Left         time.Duration // from now to Until, by the clock that Assign uses; 0 or less: free
	Layout       string        // the layout of the last claim
	Newest       string        // all layouts of the store, announced ones as well; empty: unknown
}

// Slots returns the slots of the store by worker id. Slots that cannot be read are left out and
// logged. It waits for a store that is away until ctx ends.
func (a *Assigner) Slots(ctx context.Context) ([]Slot, error) {
	s := a.space
	var all []Slot
	err := s.retry(ctx, "listing the slots", 0, func(ctx context.Context) error {
		h, rows, err := s.rows(ctx)
		if err != nil || len(rows) == 0 { // to tell the time may cost a write
			return err
		}
		now, err := s.now(ctx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Version != 0 {
				all = append(all, Slot{Worker: r.worker, FencingToken: r.FencingToken,
					Owner: r.Owner, Until: millis(r.Until),
					Left:   time.UnixMilli(r.Until).Sub(time.UnixMilli(now)),
					Layout: r.Layout, Newest: h.all()})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Slot) int { return cmp.Compare(a.Worker, b.Worker) })
	return all, err
}

// Restore makes a store fit for claims after it went back to an older state. No process may start
// until it has returned. highest is the highest worker id that was ever used, and reach the longest
// Window of any process plus the longest lead, 0 to twice 366 days. Where a process has found in
// the last Options.Reach that the store went back, or an entry was deleted by hand, it is that
// Reach plus the longest Window: the next window of such a process begins that far ahead. Worker
// ids up to highest that have no slot are not given out again, every slot stays unused until reach
// has passed, and windows of new worker ids begin then. Owners that still run work to the ends of
// their windows and then claim other worker ids. Running it twice does no harm. It waits for a
// store that is away until ctx ends.
//
// layout is the list of layouts that the newest process has (bitsalloc.Eras.String). The state that
// the store went back to may lack the last ones, and a process that does not know them must not get
// a window past their start. The store gets that list, or the one that it has, if that goes on
// after it. An empty list is for stores whose claims name no layout.
func (a *Assigner) Restore(
	ctx context.Context, highest int64, reach time.Duration, layout string,
) error {
	if highest < 0 || highest > maxMillis {
		return fmt.Errorf("lease: the highest worker id is %d, want 0 to %d",
			highest, int64(maxMillis))
	}
	if reach < 0 || reach > 2*maxWindow {
		return fmt.Errorf("lease: the longest reach is %v, want 0 to %v", reach, 2*maxWindow)
	}
	if len(layout) > maxLayout {
		return fmt.Errorf("lease: the layout's text has %d bytes, want at most %d",
			len(layout), maxLayout)
	}
	s := a.space
	s.layout, s.options.Reach = layout, s.asked // it claims nothing
	return s.retry(ctx, "repairing after a restore", 0, func(ctx context.Context) error {
		return s.restore(ctx, highest, reach.Milliseconds())
	})
}

// restore is one try of Restore.
func (s *space) restore(ctx context.Context, highest, reach int64) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	h, rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	if h.sealed() {
		return s.moved(h)
	}
	if h.entry.Version == "" {
		h.entry.Name = headerName
		reach = max(reach, s.reach(h)) // what the store's was is forgotten
	}
	h.Reach = max(reach, s.reach(h)) // else a store with a clock grants nothing from the floor on
	h.Floor = max(h.Floor, now+reach)
	h.Used = h.Used.with(0, highest+1).union(usedOf(rows))
	layouts, err := s.restored(h, rows)
	if err != nil {
		return err
	}
	if h.closed() { // the move opens it
		layouts = closed + layouts
	}
	h.Layout = layouts
	if h, err = s.putHeader(ctx, h); err != nil {
		return err
	}
	if rows, err = s.since(ctx, h); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Version == 0 {
			continue // the slot cannot be read, and is never free
		}
		r.Universe, r.Changes = h.Universe, h.Changes
		if _, err := s.swap(ctx, r, r.next("", r.Layout, max(r.Until, now+reach))); err != nil {
			return err
		}
	}
	return nil
}

// since returns all slots that were there when h was written. A list that does not show h yet may
// lack some.
func (s *space) since(ctx context.Context, h header) ([]row, error) {
	for {
		shown, rows, err := s.rows(ctx)
		if err != nil || shown.entry.Version == h.entry.Version {
			return rows, err
		}
		e, err := s.get(ctx, headerName)
		if err == nil && e.Version != h.entry.Version {
			err = ErrConflict // another process has changed it
		}
		if err != nil {
			return nil, err
		}
		if !backoff.Wait(ctx, lastForChange) {
			return nil, ctx.Err()
		}
	}
}

// restored returns the layouts of a store that went back: the longest list of the header, the slots
// and the space.
func (s *space) restored(h header, rows []row) (string, error) {
	longest := h.all()
	for _, r := range rows {
		if len(r.Layout) > len(longest) {
			longest = r.Layout // a list that is longer begins with those that are shorter
		}
	}
	if s.layout == "" && (longest != "" || len(rows) == 0) {
		return "", fmt.Errorf("%w: Restore needs the list of layouts that the newest process has; "+
			"the store has %q, and may have forgotten the last ones", assigner.ErrLayoutMismatch,
			longest)
	}
	if longest != "" {
		if _, _, err := assigner.CompareLayouts(longest, s.layout); err != nil {
			return "", err
		}
	}
	if len(s.layout) > len(longest) {
		longest = s.layout
	}
	return longest, nil
}
