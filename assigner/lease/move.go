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

// ErrMoveRefused says that Move has changed nothing in the source, because one of the two stores is
// not as a move needs it. The message says what it is. It is permanent until an operator has
// changed that.
var ErrMoveRefused = errors.New("lease: the move is refused")

// MoveOptions configures Move. nil and zero fields mean the defaults.
type MoveOptions struct {
	// DryRun checks what Move checks before it seals the source, and changes nothing.
	DryRun bool

	// MaxWorker is the highest worker id that claims of the target may have. Where those that are
	// used for good leave too few for the processes that run, Move is refused. Default: that of the
	// source's layouts; where claims have named none it is not checked.
	MaxWorker int64

	// Report is called with a line on each step that was taken, and with DryRun on each that is to
	// be. Default: none.
	Report func(line string)

	_ struct{} // keeps literals keyed
}

// Moved says what Move has done, or with MoveOptions.DryRun would do.
type Moved struct {
	Copied int       // slots whose windows may still run
	Used   int64     // worker ids that the target never gives out as new
	Left   int64     // worker ids that the target can give out; -1: not known
	Floor  time.Time // where windows of worker ids without a slot begin in the target
}

// Move moves a universe of ids from one store to another while its processes run. All processes of
// the old store go on to the ends of their windows, and claim nothing there any more: with
// assigner.ErrMoved. A process learns of it by its next extension, half a Window after the seal at
// the latest. It is Degraded from then on, with half a Window left at the least. Replace all by
// processes of the new store within half a Window, and none is without ids. Those may be started
// once the first step is done, not before: they wait until the target is open, and in an empty
// store they would begin a universe of their own.
//
// The target must have no entry, and must not be the namespace "default" of a database. Move is
// safe to be broken off at any point and run again, by several processes at once as well, until it
// has returned nil. Where the source goes back to a state from before its move, the same Move seals
// it again, whatever that state is, before any process of it may start. A target that goes back
// needs Restore as every store does, and the same Move after it. Move waits for stores that are
// away until ctx ends. A refusal wraps ErrMoveRefused.
//
// # The steps
//
// Each is one compare-and-set, or several that are the same when they are made again:
//
//	(a) target   the header: the source's layouts, the token of the move, closed to claims
//	(b) source   the seal: the header's layouts give way to a text that no list begins with;
//	             worker ids without an end are given out no more
//	(c) target   a floor and the used worker ids; the slots whose windows may still run
//	(d) target   open: the header has the layouts alone
//	(e) source   a note in the seal that the target was opened
//
// # Why no id is made twice
//
// A claim, of whatever version, writes its slot's end, reads the header after that was answered,
// and only then is the window as long. Move writes the seal, and reads the slots after that was
// answered. So either the claim's Get shows the seal, and its window does not grow, or the list of
// slots shows the end. Hence no window of the source ends beyond what (c) was made from: the slot's
// end in the target, or the floor. A window of the target begins at one of the two or later, and
// there is none before (d). So no window of the target begins before the last one of its worker id
// in the source has ended, and no clock takes part: a clock only chooses which slots are copied and
// which are below the floor.
//
// Windows without an end cannot be copied. Where a store gives such worker ids out, as a
// storekind.Mover may, it stops that for good after the seal, until which a move may be refused,
// and waits for those that are being given out. All worker ids up to the highest count as used
// in the target.
//
// What was read back is not what was answered: a store may show what it has not made safe yet. So
// a run that finds the steps of an earlier one writes them once more, and waits for the answers.
//
// A process that has seen the seal remembers it: if the seal is gone later, it fails with
// assigner.ErrWentBack. If the target is closed again after (e), it went back, too. Claims of it
// may have been forgotten, so this Move opens it with all ends beyond the target's reach. Before
// (e) nothing tells that it was open. Restore covers those claims, and leaves the target closed. A
// target that Restore has made anew has no list of the worker ids that are in use without an end,
// so this Move writes it once more.
//
// The model is in docs/model/lease_move.pml.
func Move(ctx context.Context, from, to *Assigner, options *MoveOptions) (Moved, error) {
	m := &mover{from: &from.space, to: &to.space, reported: map[string]bool{}, highest: none,
		result: Moved{Left: -1}}
	if options != nil {
		m.options = *options
	}
	if m.options.MaxWorker < 0 {
		return m.result, fmt.Errorf("lease: MaxWorker is %d, want 0 or above", m.options.MaxWorker)
	}
	// Not under the ctx of a Sessioner: a connection would wait for the other store.
	err := m.from.retry(ctx, "moving to "+place(m.to.store), 0,
		func(context.Context) error { return m.move(ctx) })
	return m.result, err
}

// mover is one Move.
type mover struct {
	from, to *space
	options  MoveOptions
	result   Moved
	reported map[string]bool // the lines that Report got, because steps are made again

	again   bool  // the target was opened before
	stopped bool  // the source gives out no window without an end any more
	highest int64 // if stopped: the highest worker id that it gave out for one, -1: none
	looked  int64 // up to which worker id deleted slots were looked for, -1: all
	gone    used  // the worker ids whose slots were
}

// report tells of a step, once.
func (m *mover) report(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if m.options.Report != nil && !m.reported[line] {
		m.options.Report(line)
	}
	m.reported[line] = true
}

// refuse returns an error that ends the move.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMoveRefused}, args...)...)
}

// move is one try of Move. It begins anew with what the stores have.
func (m *mover) move(ctx context.Context) error {
	f, err := m.from.anyHeader(ctx)
	if err != nil {
		return err
	}
	t, err := m.to.anyHeader(ctx)
	if err != nil {
		return err
	}
	if err := m.compare(ctx, f, t); err != nil {
		return err
	}
	m.again = t.exists() && !t.closed()
	switch {
	case f.sealed() && t.Move == nil: // Restore has made the target's header anew
		t.Move = &move{Token: f.Move.Token, From: originOf(m.from)}
	case f.sealed() && m.again && (f.Move.Done || t.sealed()):
		if !m.options.DryRun { // WORKER_NODE alone may have gone back
			if err := m.stop(ctx); err != nil {
				return err
			}
		}
		m.report("%s was moved to %s before: nothing to do", place(m.from.store), place(m.to.store))
		return nil
	case !f.sealed() && !m.again:
		if err := m.examine(ctx, f, t); err != nil {
			return err
		}
	}
	if m.options.DryRun {
		m.announce(f, t)
		return nil
	}
	if t, err = m.close(ctx, f, t); err != nil {
		return err
	}
	if f, err = m.seal(ctx, f, t); err != nil {
		return err
	}
	if err := m.stop(ctx); err != nil {
		return err
	}
	if !t.sealed() {
		if t, err = m.copy(ctx, f, t); err != nil {
			return err
		}
		if err := m.open(ctx, t); err != nil {
			return err
		}
	}
	return m.finish(ctx, f)
}

// compare refuses headers that are not those of this move.
func (m *mover) compare(ctx context.Context, f, t header) error {
	from, to := place(m.from.store), place(m.to.store)
	here := f.Layout == sealOf(m.to)
	mine := t.Move != nil && t.Move.From == originOf(m.from)
	switch {
	case f.exists() && f.Token == t.Token: // which is random
		return refuse("%s is the source as well, or a copy of it", to)
	case f.sealed() && f.Move == nil: // it was changed by hand
		return refuse("%s is sealed, and its header says nothing of the move", from)
	case t.sealed() && (!mine || f.sealed() && !here):
		return refuse("%s was moved itself, to %s", to, t.movedTo())
	case t.sealed() || !f.sealed() && !t.exists():
		return nil
	case here && !t.exists():
		return refuse("%s has no header, although %s is sealed for it: it went back; run Restore "+
			"there, as \"uid workers restored\" does, and then the same move again", to, from)
	case here && t.Move == nil:
		return m.restored(ctx, t)
	case f.sealed() && (t.Move == nil || t.Move.Token != f.Move.Token):
		return refuse("%s is sealed: it was moved to %s", from, f.movedTo())
	case f.sealed():
		return nil
	case t.Move == nil:
		return refuse("%s holds another universe, of the layouts %q, want a store without "+
			"entries", to, t.Layout)
	case !mine:
		return refuse("%s is the target of a move from %q, and this is one from %q", to,
			t.Move.From, originOf(m.from))
	}
	return nil
}

// restored refuses a target that knows nothing of the move, unless Restore has run: windows that
// the target may have forgotten end below its floor then. What Restore cannot know is which worker
// ids are in use without an end, so the move tells the target again.
func (m *mover) restored(ctx context.Context, t header) error {
	now, err := m.to.timeOf(ctx, t.entry)
	if err != nil || t.floor() > now {
		return err
	}
	return refuse("%s knows nothing of the move, although %s is sealed for it; if it went back, "+
		"run Restore there, as \"uid workers restored\" does, and then the same move again",
		place(m.to.store), place(m.from.store))
}

// announce reports what is to be done.
func (m *mover) announce(f, t header) {
	from, to := place(m.from.store), place(m.to.store)
	if !t.exists() {
		m.report("to do: close %s to claims, with the layouts %q", to, f.Layout)
	}
	switch {
	case !f.sealed() && m.again:
		m.report("to do: seal %s once more: it went back to before this move", from)
		return
	case !f.sealed():
		m.report("to do: seal %s; its processes go on to the ends of their windows", from)
		m.report("to do: copy %d slots whose windows may still run; windows of the other worker "+
			"ids begin at %v or later", m.result.Copied, m.result.Floor.UTC().Format(time.RFC3339))
	default:
		m.report("%s is sealed", from)
		m.report("to do: copy the slots whose windows may still run")
	}
	if m.result.Left >= 0 { // else it is sealed, or not known
		m.report("worker ids left in the target: %d", m.result.Left)
	}
	m.report("to do: open %s", to)
}

// close is (a): the target's header, closed to claims. A target that is open stays so.
func (m *mover) close(ctx context.Context, f, t header) (header, error) {
	if m.again {
		return t, nil
	}
	if !t.exists() {
		t.Move, t.Reach = &move{Token: newToken(), From: originOf(m.from)}, f.Reach
	}
	if !f.sealed() {
		t.Layout, t.Universe = closed+f.Layout, cmp.Or(f.Universe, t.Universe)
	}
	t, err := m.to.putHeader(ctx, t)
	if err == nil {
		m.report("closed %s to claims, with the layouts %q", place(m.to.store), t.all())
	}
	return t, err
}

// seal is (b): the source's header grants nothing any more. It still says where an earlier move
// into the source was from, so that the same one is known again.
func (m *mover) seal(ctx context.Context, f, t header) (header, error) {
	next := &move{Token: t.Move.Token, Done: f.sealed() && f.Move.Done}
	if f.Move != nil {
		next.From = f.Move.From
	}
	f.Layout, f.Move = sealOf(m.to), next
	f, err := m.from.putHeader(ctx, f)
	if err == nil {
		m.report("sealed %s: its processes go on to the ends of their windows; start new ones "+
			"with the new address", place(m.from.store))
	}
	return f, err
}

// stop is the rest of (b): no more worker ids without an end are given out. It comes after the
// seal, because it is for good, and a move may be refused until then.
func (m *mover) stop(ctx context.Context) error {
	mv, ok := m.from.store.(storekind.Mover[Entry])
	if !ok {
		return nil
	}
	highest, err := m.endless(ctx, mv, true)
	if err != nil {
		return err
	}
	m.highest, m.stopped = max(highest, m.highest), true
	if m.highest >= 0 {
		m.report("no new worker id without an end is given out in %s any more; the highest is %d",
			place(m.from.store), m.highest)
	}
	return nil
}

// open is (d). From here on the target grants windows.
func (m *mover) open(ctx context.Context, t header) error {
	if t.closed() {
		t.Layout = strings.TrimPrefix(t.Layout, closed)
		if _, err := m.to.putHeader(ctx, t); err != nil {
			return err
		}
	}
	m.report("opened %s", place(m.to.store))
	return nil
}

// finish is (e).
func (m *mover) finish(ctx context.Context, f header) error {
	f.Move.Done = true
	_, err := m.from.putHeader(ctx, f)
	return err
}

// moved returns an error if the store grants nothing because of a move: assigner.ErrMoved in the
// source, and a temporary one in a target that is not open yet.
func (s *space) moved(h header) error {
	switch {
	case h.sealed():
		return fmt.Errorf("%w: %s was moved to %s; start the process with that address, while its "+
			"last window runs", assigner.ErrMoved, place(s.store), h.movedTo())
	case h.closed():
		return fmt.Errorf("lease: %s is closed: the move into it is not finished; run it again if "+
			"it broke off", place(s.store))
	}
	return nil
}

// sealStays returns an error if a store that this process has seen sealed is sealed no more. A
// restored backup that is older than the move would grant windows that the target grants as well.
func (s *space) sealStays(h header) error {
	if h.sealed() {
		s.memory.seal()
	} else if s.memory.wasSealed() {
		return fmt.Errorf("%w: %w: %s was sealed because its ids were moved, and is not any more; "+
			"before more processes start, run the same move again, as \"uid workers move\" does",
			assigner.ErrClaimLost, assigner.ErrWentBack, place(s.store))
	}
	return nil
}
