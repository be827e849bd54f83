package workernode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

// header is the WORKER_ID of the row that stands for a namespace itself and keeps its layouts. Its
// primary key makes the first claim's layout that of all claims, however many processes claim at
// once.
//
// A claim that knows more layouts adds them in two steps, because no statement covers the whole
// table:
//
//	A ──► A|B ──► A,B      B is announced, and then settled if no window reaches beyond its begin
//	      A|B ──► A        else it is taken back
//
// Why no window of a claim that knows only A reaches beyond B's begin once B is settled: such a
// claim writes its row's new end, and reads the header after that has been committed, and only then
// is the window as long. B's claim writes the header, and reads the rows after that has been
// committed. So either the first sees B, announced or settled, and cuts its window, or the second
// sees the end in the row and takes B back. The header's NONCE makes sure that what is settled is
// what was looked at.
//
// It is -1 because worker ids begin at 0: every statement about worker ids asks for WORKER_ID >= 0,
// or for a range or a key that lies there, and so passes over it.
const header = -1

// heading is what a namespace's header says to the claims of one table. Times are in Unix
// milliseconds. It is a copy that may be out of date as soon as it is read; each use says why that
// does no harm.
type heading struct {
	layout string // as it is stored: layouts separated by commas, an announced one after a bar
	nonce  int64  // of the last change of the header
	short  bool   // these claims have a greater Reach than the namespace says
	now    int64  // the database's time at the read
	floor  int64  // where the windows of new worker ids begin at the earliest
	cut    int64  // where the windows of these claims end; 0: nowhere
	lacks  bool   // these claims know layouts that are not settled
}

// errNew says that a namespace has no header yet. It wraps ErrChanged, so that Retry tries again
// where no caller has inserted one.
var errNew = fmt.Errorf("the namespace has no row: %w", sqldb.ErrChanged)

// errAdd says that addLayouts has to run first. It wraps ErrChanged, so that Retry tries again once
// it has run.
var errAdd = fmt.Errorf("the namespace lacks a layout: %w", sqldb.ErrChanged)

// everywhere is the namespace of one row, whose UNTIL_MS is where the windows of new worker ids
// begin at the earliest, in all namespaces that count for themselves. Restore writes it, because a
// table that went back may have forgotten claims on worker ids that it has no row of.
const everywhere = ""

// header compares the namespace's layouts with the table's. It is errNew if the namespace has none.
// lock is the end of the SELECT.
//
// One statement reads the header, the database's time and the floor, so that an Assign costs one
// round trip for all three. FOR UPDATE locks the header's row until the statement or, in a session
// without autocommit, the Do is over; the floor's row is read without a lock, because Restore
// writes it before any process connects.
func (t table) header(ctx context.Context, q *sqldb.Conn, lock string) (h heading, err error) {
	var reach int64
	var floor sql.NullInt64
	err = q.Row(ctx, `SELECT LAYOUT, NONCE, UNTIL_MS, {nowMillis},
		(SELECT UNTIL_MS FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?)
		FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?`+lock,
		[]any{everywhere, header, t.namespace, header}, &h.layout, &h.nonce, &reach, &h.now, &floor)
	h.floor = floor.Int64
	h.short = bounded(reach) < t.reach
	if errors.Is(err, sql.ErrNoRows) {
		return h, errNew
	}
	if err != nil {
		return h, err
	}
	// An announced layout cuts like a settled one: it may be settled at any moment.
	cut, added, err := assigner.CompareLayouts(h.all(), t.layout)
	if err != nil {
		return h, final("namespace %q: %w; use the same layout and epoch, or another Namespace",
			t.namespace, err)
	}
	if !cut.IsZero() {
		h.cut = max(1, cut.UnixMilli()) // 0 means nowhere
	}
	h.lacks = !added.IsZero() || cut.IsZero() && h.all() != h.layout
	return h, nil
}

// bounded returns how far beyond the clock the windows of a namespace may end whose header has
// reach in UNTIL_MS, in milliseconds. A header that an earlier version made has 0.
func bounded(reach int64) int64 {
	return min(max(reach, minReach.Milliseconds()), maxReach.Milliseconds())
}

// widen makes the namespace's reach that of these claims. ErrChanged means that another process has
// changed the header since it was read.
func (t table) widen(ctx context.Context, q *sqldb.Conn, h heading) error {
	n, err := q.Changed(ctx, `UPDATE WORKER_LEASE SET UNTIL_MS = ?, NONCE = ?,
		GENERATION = GENERATION + 1, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND LAYOUT = ? AND NONCE = ?`,
		t.reach, newNonce(), t.namespace, header, h.layout, h.nonce)
	if err == nil && n == 0 {
		err = sqldb.ErrChanged
	}
	return err
}

// all returns the layouts, announced ones as well, in the form of bitsalloc.Eras.String.
func (h heading) all() string { return strings.ReplaceAll(h.layout, "|", ",") }

// end returns until, or where these claims' windows end if that is earlier. Both are in Unix
// milliseconds.
func (h heading) end(until int64) int64 {
	if h.cut > 0 {
		return min(until, h.cut)
	}
	return until
}

// errSuperseded returns the error of a window that would have to reach beyond the cut.
func (t table) errSuperseded(h heading) error {
	return final("%w: workernode: namespace %q has the layouts %q, and this process knows %q: "+
		"it stops at %v", assigner.ErrSuperseded, t.namespace, h.all(), t.layout, millis(h.cut))
}

// addHeader inserts the namespace's header with the table's first layout, and announces the others.
// If another process has inserted it, first is false: the caller reads which layouts it has.
//
// A header is committed before the first row of its namespace. So rows without one mean that it was
// deleted or forgotten, and with it what it said of layouts, and nothing is claimed until Restore
// has made it anew. Where the rows are gone as well, a process that had one begins beyond what the
// table has forgotten.
func (t table) addHeader(ctx context.Context, q *sqldb.Conn) (first bool, err error) {
	var rows, now int64
	err = q.Row(ctx, "SELECT COUNT(*), {nowMillis} FROM WORKER_LEASE "+
		"WHERE NAMESPACE = ? AND WORKER_ID >= 0", []any{t.namespace}, &rows, &now)
	if err != nil {
		return false, err
	}
	if rows > 0 {
		// Another process may have made it since it was looked for, and a row after it.
		if _, err := t.header(ctx, q, q.ForUpdate); !errors.Is(err, errNew) {
			return false, err
		}
		return false, final("%w: %w: %s has %d rows of namespace %q and not the one that says "+
			"their layouts: it was deleted, or forgotten by a backup that was restored; run \"uid "+
			"workers restored\", see \"A restored backup\" in docs/reliability.md (%s)",
			assigner.ErrClaimLost, assigner.ErrWentBack, leaseTable, rows, t.namespace, t.Place())
	}
	if t.memory.knows() {
		t.memory.forgot(now + t.reach)
	}
	// t is a copy, so the claims' own list stays as it is.
	t.layout = strings.Replace(t.layout, ",", "|", 1)
	err = t.add(ctx, q, row{worker: header, nonce: newNonce(), until: t.reach})
	if err != nil && t.Failure(err) == sqldb.Duplicate {
		return false, nil
	}
	return err == nil, err
}

// addLayouts takes the next step towards the layouts that the table's claims know: it announces
// them, or settles what is announced, or takes it back. After nil the header has to be read again.
// Each step is one compare-and-set of the header by its NONCE, so of several processes that take
// the same step one succeeds, and the others look again.
//
// Both SELECTs end in FOR UPDATE, so they read what is committed. A window whose end is committed
// before the look at the rows is seen by it. One whose end is committed later is confirmed by a
// look at the header that finds the announced layout. A process that dies between two steps leaves
// an announced layout. It cuts the windows of the claims that do not know it, and the next claim
// that does takes the next step.
func (t table) addLayouts(ctx context.Context) error {
	return t.Do(ctx, func(q *sqldb.Conn) error {
		h, err := t.header(ctx, q, q.ForUpdate)
		if err != nil || !h.lacks {
			return err
		}
		// What is settled, and whether anything is announced. An announced list is settled as it
		// is; layouts that this process knows beyond it come in another round.
		before, _, announced := strings.Cut(h.layout, "|")
		to := h.all()
		if !announced {
			to = h.layout + "|" + t.layout[len(h.layout)+1:]
		}
		_, begin, err := assigner.CompareLayouts(before, strings.ReplaceAll(to, "|", ","))
		if err != nil {
			return final("namespace %q: %w", t.namespace, err)
		}
		// A layout that windows reach into is not announced. If it is, it is taken back, so that it
		// cuts no window for nothing; the next step then refuses it, or finds that the windows are
		// gone.
		err = t.reaches(ctx, q, begin)
		if announced && errors.Is(err, assigner.ErrLayoutMismatch) {
			to, err = before, nil
		}
		if err != nil {
			return err
		}
		// It changes no row if another process was faster, which the next look at the header shows.
		_, err = q.Exec(ctx, `UPDATE WORKER_LEASE SET LAYOUT = ?, NONCE = ?,
			GENERATION = GENERATION + 1, MODIFIED = {now}
			WHERE NAMESPACE = ? AND WORKER_ID = ? AND LAYOUT = ? AND NONCE = ?`,
			to, newNonce(), t.namespace, header, h.layout, h.nonce)
		return err
	})
}

// reaches returns an error that wraps assigner.ErrLayoutMismatch if a window of the namespace
// reaches beyond begin. The latest end decides for all, and the index on NAMESPACE and UNTIL_MS has
// it at its end, so one row is read however many there are.
func (t table) reaches(ctx context.Context, q *sqldb.Conn, begin time.Time) error {
	var worker, until int64
	err := q.Row(ctx, `SELECT WORKER_ID, UNTIL_MS FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND WORKER_ID >= 0 ORDER BY UNTIL_MS DESC LIMIT 1`+q.ForUpdate,
		[]any{t.namespace}, &worker, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case until > begin.UnixMilli():
		return final("%w: a layout of %q begins at %v, and the window of worker %d in namespace "+
			"%q reaches %v; let it begin later",
			assigner.ErrLayoutMismatch, t.layout, begin, worker, t.namespace, millis(until))
	}
	return nil
}

// known returns the placeholders of an SQL list of the layouts that rows of h's namespace can have,
// and args with these layouts appended: the first layout, the first two, and so on, because a row
// has the list that was settled when it was inserted. A row with any other list is not claimed: its
// owner stamped by layouts that the header does not know.
func (h heading) known(args ...any) (list string, all []any) {
	text := h.all()
	for i, r := range text + "," {
		if r == ',' {
			args = append(args, text[:i])
			list += ", ?"
		}
	}
	return list[2:], args
}
