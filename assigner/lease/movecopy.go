package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/storekind"
)

// runsLate is how long ago a window may have ended that still counts as one that runs: it is
// copied, and the floor, below which no new worker id's window begins, lies that far back.
const runsLate = time.Minute

// endless calls mv.Endless.
func (m *mover) endless(ctx context.Context, mv storekind.Mover[Entry], stop bool) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return mv.Endless(ctx, stop)
}

// share is what a target has to know of a source.
type share struct {
	header header
	rows   []row // the slots whose windows may still run, and are to be copied
	run    int   // how many windows may still run, as far as they have an end
	used   used  // the worker ids that the target must not give out as new
	lost   used  // those of them that have no slot
	floor  int64 // all other windows have ended by then
}

// read reads the source. An entry that cannot be read is refused.
func (m *mover) read(ctx context.Context) (s share, err error) {
	now := m.from.local().UnixMilli()
	for _, sp := range []*space{m.from, m.to} {
		told, err := sp.now(ctx)
		if err != nil {
			return s, err
		}
		now = min(now, told)
	}
	s.floor = now - runsLate.Milliseconds()
	highest := m.highest
	var entries []Entry
	var head Entry
	mv, isMover := m.from.store.(storekind.Mover[Entry])
	if isMover {
		if !m.stopped { // else rows may have been deleted since
			if highest, err = m.endless(ctx, mv, false); err != nil {
				return s, err
			}
		}
		head, entries, err = m.running(ctx, mv, s.floor)
	} else {
		entries, err = m.from.list(ctx)
	}
	if err != nil {
		return s, err
	}
	var all []row
	for _, e := range entries {
		if e.Name == headerName {
			head = e
		}
		if _, ok := slotWorker(e.Name); !ok {
			continue
		}
		r, err := parseRow(e)
		if err != nil && m.again {
			continue // what matters is the seal, and the slot is never free
		}
		if err != nil {
			return s, refuse("an entry of %s cannot be read: %w", place(m.from.store), err)
		}
		all = append(all, r)
		if r.Until > s.floor {
			s.rows = append(s.rows, r)
		}
	}
	if s.header, err = m.from.parseHeader(head); err != nil {
		return s, err
	}
	if s.header.exists() && !s.header.sealed() {
		h, err := m.from.anyHeader(ctx) // the list may have read it before the slots
		if err != nil {
			return s, err
		}
		if err := m.from.stray(h, all); err != nil {
			return s, refuse("%w", err)
		}
	}
	s.floor = max(s.floor, s.header.floor())
	noted, err := m.from.noted(ctx, entries)
	if err != nil {
		return s, err
	}
	s.header.Used = s.header.Used.union(noted).union(m.gone)
	s.count(all, highest, m.to)
	return s, nil
}

// lookedLine is for how many worker ids a line says that they were looked at.
const lookedLine = 500_000

// deleted finds the worker ids whose slots were deleted by hand. It takes the longest of all steps
// where there are millions, so another try goes on where one has ended, and it says how far it is.
func (m *mover) deleted(ctx context.Context, mv storekind.Mover[Entry]) error {
	for m.looked >= 0 {
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		ids, next, err := mv.Deleted(within, m.looked)
		cancel()
		if err != nil {
			return err
		}
		for _, id := range ids {
			m.gone = append(m.gone, [2]int64{id, id + 1})
		}
		if next/lookedLine > m.looked/lookedLine {
			m.report("looked for deleted slots up to worker id %d", next)
		}
		if m.looked = next; next == 0 {
			m.looked = none
		}
	}
	return nil
}

// running calls mv.Running.
func (m *mover) running(
	ctx context.Context, mv storekind.Mover[Entry], after int64,
) (Entry, []Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return mv.Running(ctx, time.UnixMilli(after))
}

// count finds which worker ids the target must not give out: those that were given out and have no
// slot, and those up to highest, whose windows have no end. Slots that are copied have no
// note, so a target that is no Numberer gets their worker ids too, and its list stays short.
func (s *share) count(all []row, highest int64, to *space) {
	s.lost, s.run = s.header.Used.without(usedOf(all)), len(s.rows)
	if highest >= 0 {
		for _, r := range s.rows {
			highest = max(highest, r.worker)
		}
		s.lost, s.rows = s.lost.union(used{{0, highest + 1}}), nil
	}
	if to.numberer != nil {
		s.lost = s.lost.within(mostInNumberer)
		s.used = s.lost
		return
	}
	s.used = s.lost.union(usedOf(s.rows)).within(mostRanges)
	s.lost = s.used.without(usedOf(s.rows))
}

// examine refuses what must not be moved, before the seal.
func (m *mover) examine(ctx context.Context, f, t header) error {
	from, to := place(m.from.store), place(m.to.store)
	if mv, ok := m.to.store.(storekind.Mover[Entry]); ok {
		highest, err := m.endless(ctx, mv, false)
		if err != nil {
			return err
		}
		if highest >= 0 {
			return refuse("%s gives out worker ids without an end; take a namespace of its own", to)
		}
	}
	if f.closed() {
		return refuse("the move into %s is not finished", from)
	}
	if _, more := f.settled(); more {
		return refuse("the layouts of %s are %q, of which the last are not settled: start a "+
			"process with them and let it claim, or take them back, as \"uid workers take-back\" "+
			"does", from, f.Layout)
	}
	s, err := m.read(ctx)
	if err != nil {
		return err
	}
	if !f.exists() && len(s.rows) > 0 {
		return refuse("%s has slots and no header: it went back; run Restore there, as \"uid "+
			"workers restored\" does", from)
	}
	if !f.exists() && len(s.lost) == 0 {
		return refuse("%s has no entry: is the address right?", from)
	}
	if !t.exists() {
		if _, there, err := m.to.latest(ctx, t); err != nil {
			return err
		} else if there {
			return refuse("%s has slots and no header, want a store without entries", to)
		}
	}
	return m.judge(s)
}

// judge refuses a move that leaves too few worker ids for the processes that run to be replaced
// twice over.
func (m *mover) judge(s share) error {
	m.result = Moved{Copied: len(s.rows), Used: s.used.count(), Left: -1,
		Floor: time.UnixMilli(s.floor)}
	all := cmp.Or(m.options.MaxWorker, maxWorkerOf(s.header.all())) + 1
	if all == 1 {
		return nil
	}
	m.result.Left = all - s.lost.below(all)
	if want := 2*int64(s.run) + 1; m.result.Left < want {
		return refuse("worker ids left in the target: %d of %d, want %d at least; the others are "+
			"used for good", m.result.Left, all, want)
	}
	return nil
}

// maxWorkerOf returns the highest worker id that all layouts of a list have, 0 where a text is not
// that of a layout, such as 28-22-13-0/1s@2026-01-01T00:00:00Z.
func maxWorkerOf(layouts string) int64 {
	least := int64(62)
	for layout := range strings.SplitSeq(layouts, ",") {
		var first, worker int64
		if _, err := fmt.Sscanf(layout, "%d-%d-", &first, &worker); err != nil {
			return 0
		}
		least = min(least, worker)
	}
	return 1<<max(0, least) - 1
}

// below returns how many numbers below end are in u.
func (u used) below(end int64) int64 {
	return u.count() - u.without(used{{0, end}}).count()
}

// copy is (c): it makes the target count with every window that the source has granted. f is the
// source's header as the seal was answered.
func (m *mover) copy(ctx context.Context, f, t header) (header, error) {
	if mv, ok := m.from.store.(storekind.Mover[Entry]); ok {
		if err := m.deleted(ctx, mv); err != nil {
			return t, err
		}
	}
	s, err := m.read(ctx)
	if err != nil {
		return t, err
	}
	if s.header.Token != f.Token {
		return t, fmt.Errorf("the list is older than the seal: %w", ErrConflict)
	}
	end := int64(0)
	if f.Move.Done && t.closed() { // it was open, and may have forgotten claims
		now, err := m.to.now(ctx)
		if err != nil {
			return t, err
		}
		end = now + m.to.reach(t)
	}
	least := t.Floor // an earlier run may have found a later end below it
	t.Floor, t.Reach = max(t.Floor, s.floor, end), max(t.Reach, f.Reach)
	t.Used = t.Used.union(s.used)
	if t, err = m.to.putHeader(ctx, t); err != nil {
		return t, err
	}
	copied := len(s.rows)
	if end > 0 {
		_, there, err := m.to.rows(ctx)
		if err != nil {
			return t, err
		}
		s.rows = append(s.rows, there...)
	}
	for i, r := range s.rows {
		if err := m.copySlot(ctx, t, r, max(r.Until, end), least); err != nil {
			return t, err
		}
		if n := i + 1; n%500 == 0 && n < len(s.rows) {
			m.report("copied %d of %d slots", n, len(s.rows))
		}
	}
	m.result.Copied, m.result.Used = copied, t.Used.count()
	m.result.Floor = time.UnixMilli(t.Floor)
	m.report("copied %d slots whose windows may still run; windows of the other worker ids begin "+
		"at %v or later", copied, m.result.Floor.UTC().Format(time.RFC3339))
	return t, nil
}

// copySlot makes the slot of the target end at until or later, and a new one at least or later. In
// a target that is open it changes no slot that does: its claim counts.
func (m *mover) copySlot(ctx context.Context, t header, r row, until, least int64) error {
	layout := t.all()
	if _, _, err := assigner.CompareLayouts(layout, r.Layout); err != nil && r.Layout != "" {
		layout = r.Layout // no claim may judge the ids of its owner
	}
	to := row{FencingToken: r.FencingToken, Universe: t.Universe, Changes: t.Changes,
		entry: Entry{Name: slotName(r.worker)}}
	_, err := m.to.swap(ctx, to, to.next(r.Owner, layout, max(until, least)))
	if !errors.Is(err, ErrConflict) {
		return err
	}
	e, err := m.to.get(ctx, slotName(r.worker))
	if err != nil {
		return err
	}
	there, err := parseRow(e)
	if err != nil {
		return refuse("an entry of %s cannot be read: %w", place(m.to.store), err)
	}
	if !there.exists() {
		// Its row was deleted by hand, and the worker id is not given out again.
		if used, err := m.to.used(ctx, t, r.worker); used || err != nil {
			return err
		}
	}
	if !t.closed() && there.Until >= until {
		return nil
	}
	_, err = m.to.swap(ctx, there, there.next("", layout, max(there.Until, until)))
	return err
}
