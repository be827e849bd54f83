package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
)

// addHeader makes the header with the space's first layout, and announces the others. If another
// process makes it first, addHeader returns that one. slots are all of the list without a header;
// an Index is asked instead.
func (c *claimer) addHeader(ctx context.Context, slots []row) (h header, err error) {
	s := c.space
	latest, there := last(slots)
	if s.index != nil {
		if latest, there, err = s.latest(ctx, header{}); err != nil {
			return h, err
		}
	}
	// It may have been made since, with a slot after it, or be an entry that List leaves out and
	// Get refuses.
	if h, err = s.header(ctx); err != nil || h.exists() {
		return h, err
	}
	// The header is made before the first slot, so slots without a header mean that it was deleted.
	if there {
		return h, s.unlisted(latest)
	}
	h.Layout, h.Used = strings.Replace(s.layout, ",", announcing, 1), used{}
	if h.Floor, err = s.floor(ctx); err != nil {
		return h, err
	}
	h, err = s.putHeader(ctx, h)
	if errors.Is(err, ErrConflict) {
		c.number.met() // another process starts at the same time
		return s.header(ctx)
	}
	return h, err
}

// listed returns an error if a slot is of another universe than the header, or was claimed after a
// later change of the header, and is not among those that the header lists as used: the header was
// deleted and made anew, which a list may not have shown, or is that of an older state. The slots
// may be newer than h, so listed reads the header again before it says so, and returns it.
func (s *space) listed(ctx context.Context, h header, slots []row) (header, error) {
	err := s.stray(h, slots)
	if err == nil {
		return h, nil
	}
	if h, err = s.header(ctx); err == nil {
		err = s.stray(h, slots)
	}
	return h, err
}

// stray is listed for a header that is not older than the slots. A Numberer may keep nothing of a
// header with a slot. One that cannot be read is never free.
func (s *space) stray(h header, slots []row) error {
	i := slices.IndexFunc(slots, func(r row) bool {
		return r.Version != 0 && (r.Universe != h.Universe || r.Changes > h.Changes) &&
			!h.Used.has(r.worker)
	})
	if i < 0 || s.numberer != nil {
		return nil
	}
	return s.unlisted(slots[i])
}

// unlisted returns the error of a slot that no header knows of.
func (s *space) unlisted(r row) error {
	return fmt.Errorf("%w: %w: the slot of worker %d until %v is there, and no header that lists "+
		"it: the header was deleted, or is that of an older state; an operator has to run "+
		"Restore, as \"uid workers restored\" does",
		assigner.ErrClaimLost, assigner.ErrWentBack, r.worker, millis(r.Until))
}

// addLayouts takes the next step towards the layouts that the space knows: it announces them, or
// settles what is announced, or takes it back. After nil the header has to be read again. Each step
// is one compare-and-set of the header, so of several processes that take the same step one
// succeeds, and the others look again.
func (s *space) addLayouts(ctx context.Context) error {
	h, err := s.header(ctx)
	if err != nil || !h.lacks {
		return err
	}
	before, announced := h.settled()
	var refused error
	if !strings.Contains(h.Layout, takingBack) { // else they were settled
		refused = s.reaches(ctx, h, millis(h.cut))
	}
	switch {
	case refused != nil && (!announced || !errors.Is(refused, assigner.ErrLayoutMismatch)):
		return refused
	case refused != nil: // as the next look says again
		h.Layout = before
	case announced:
		h.Layout = h.all()
	default:
		h.Layout = before + announcing + strings.TrimPrefix(s.layout[len(before):], ",")
	}
	_, err = s.putHeader(ctx, h)
	return err
}

// reaches returns an error that wraps assigner.ErrLayoutMismatch if a window reaches beyond at,
// where a layout begins. Where worker ids were given out that may have no slot here, the windows of
// those reach up to the floor.
func (s *space) reaches(ctx context.Context, h header, at time.Time) error {
	if at.UnixMilli() < h.floor() && (s.numberer == nil || h.Move != nil) {
		return fmt.Errorf("%w: a layout begins at %v, and windows that %s does not have may reach "+
			"%v; let it begin later", assigner.ErrLayoutMismatch, at, place(s.store),
			millis(h.floor()))
	}
	r, _, err := s.latest(ctx, h)
	if err != nil || r.Until <= at.UnixMilli() {
		return err
	}
	return fmt.Errorf("%w: a layout begins at %v, and the window of worker %d reaches %v; let it "+
		"begin later", assigner.ErrLayoutMismatch, at, r.worker, millis(r.Until))
}

// TakeBack takes back all layouts of the store beyond the list layout, such as an era that was
// rolled out by mistake. None of them may have begun, and no window may reach past the start of
// the first: the error wraps assigner.ErrLayoutMismatch then, and nothing changes. A process that
// still knows them stops where they begin, and adds them again if it claims anew. So start all
// processes with the shorter list first. It waits for a store that is away until ctx ends.
func (a *Assigner) TakeBack(ctx context.Context, layout string) error {
	s := a.space
	s.layout, s.options.Reach = layout, s.asked // it claims nothing
	return s.retry(ctx, "taking layouts back", 0, s.takeBack)
}

// takeBack is one try of TakeBack. It takes one step after the other, as addLayouts does.
func (s *space) takeBack(ctx context.Context) error {
	for {
		var rows []row // a Numberer's are not looked at
		if s.numberer == nil {
			var err error
			if _, rows, err = s.rows(ctx); err != nil {
				return err
			}
		}
		h, err := s.anyHeader(ctx)
		if err == nil {
			err = s.moved(h)
		}
		if err == nil {
			err = s.stray(h, rows)
		}
		if err != nil {
			return err
		}
		now, err := s.timeOf(ctx, h.entry)
		if err != nil {
			return err
		}
		at, _, err := assigner.CompareLayouts(h.all(), s.layout)
		switch {
		case err != nil:
			return err
		case h.Layout == s.layout:
			return nil
		case at.IsZero():
			return fmt.Errorf("%w: the layouts are %q, want the beginning of this list, not %q",
				assigner.ErrLayoutMismatch, h.Layout, s.layout)
		case at.UnixMilli() <= now:
			return fmt.Errorf("%w: a layout of %q began at %v, and ids may have it",
				assigner.ErrLayoutMismatch, h.Layout, at)
		}
		taking := s.layout + takingBack + h.all()[len(s.layout)+1:]
		refused := s.reaches(ctx, h, at)
		switch {
		case refused != nil && !errors.Is(refused, assigner.ErrLayoutMismatch):
			return refused
		case refused != nil && h.Layout != taking:
			return refused
		case refused != nil:
			h.Layout = h.all()
		case h.Layout == taking:
			h.Layout = s.layout
		case strings.Contains(h.Layout, announcing):
			h.Layout, _ = h.settled() // what was never settled has no window
		default:
			h.Layout = taking
		}
		if _, err := s.putHeader(ctx, h); err != nil {
			return err
		}
	}
}
