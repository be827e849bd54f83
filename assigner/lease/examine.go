package lease

import (
	"context"
	"fmt"
)

// Condition is what the entries of a store are like.
type Condition struct {
	Header bool  // there is a header
	Slots  int   // that can be read
	Used   int64 // worker ids that were given out; of a database those that a move has left alone

	// Faults are what keeps the entries from being used: a header that is missing although there
	// are slots, which Restore repairs, slots that cannot be read, which are never free, and a move
	// to another store, or one into it that is not finished. No fault, no header and no slot:
	// nothing was ever claimed here.
	Faults []error
}

// Examine reads all entries of the store and changes nothing. It waits for a store that is away
// until ctx ends. A header that cannot be read is an error that wraps ErrRefused.
func (a *Assigner) Examine(ctx context.Context) (c Condition, err error) {
	s := a.space
	err = s.retry(ctx, "examining the entries", 0, func(ctx context.Context) (err error) {
		c, err = s.examine(ctx)
		return err
	})
	return c, err
}

// examine is one try of Examine.
func (s *space) examine(ctx context.Context) (c Condition, err error) {
	entries, err := s.list(ctx)
	if err != nil {
		return c, err
	}
	var rows []row
	for _, e := range entries {
		if _, ok := slotWorker(e.Name); !ok {
			continue
		}
		if r, err := parseRow(e); err != nil {
			c.Faults = append(c.Faults, fmt.Errorf("lease: a slot cannot be read: %w", err))
		} else {
			rows = append(rows, r)
		}
	}
	c.Slots = len(rows)
	// After the list, which need not be a snapshot: the header is made before the first slot.
	e, err := s.get(ctx, headerName)
	if err != nil {
		return c, err
	}
	h, err := s.parseHeader(e)
	if err != nil {
		return c, err
	}
	c.Header = e.Version != ""
	noted, err := s.noted(ctx, entries)
	if err != nil {
		return c, err
	}
	c.Used = h.Used.union(noted).count()
	if err := s.moved(h); err != nil {
		c.Faults = append(c.Faults, err)
	}
	if err := s.stray(h, rows); c.Header && err != nil {
		c.Faults = append(c.Faults, err)
	}
	if !c.Header && c.Slots+len(c.Faults) > 0 {
		c.Faults = append(c.Faults, fmt.Errorf("lease: the header is missing, slots: %d; "+
			"it was deleted, or the store went back to an older state", c.Slots+len(c.Faults)))
	}
	return c, nil
}
