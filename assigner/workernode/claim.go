package workernode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

// leasedClaim is a claim on a row of WORKER_LEASE. Extend and Release have one caller at a time and
// own every field but until, which any goroutine may load. It starts no goroutine and keeps no
// connection: each call takes one from the pool and gives it back.
//
// The window's end is in two places, and until Release the first is never below the second:
//
//	row.until    reserved in the table by change, with one compare-and-set
//	until        what Window reports: row.until, cut where the layouts end; see confirm
//
// An end that is committed in the row counts only after confirm has read the layouts, because a new
// layout may have been settled meanwhile: see header.
//
// A process that dies between the two leaves a row whose end is later than what it stamped. The
// next owner begins at that end, so the stretch in between stays unused and no id can come twice.
//
//	claimed ──► extended ──► extended ──► released     OWNER is empty, UNTIL_MS is what was used
//	       └──────────┴────────────┴────► lost         another owner, or the table went back
//
// Lost is permanent: lost is set once and every later call returns it without a look at the table.
// Released is permanent as well, and ends the use of the row whatever the outcome of the UPDATE is.
type leasedClaim struct {
	table
	worker int64
	window int64 // LeasedOptions.Window in milliseconds
	from   int64 // Unix milliseconds; 0: the worker id is used for the first time

	row      row     // as this claim last knew it to be
	heading  heading // likewise, the namespace's layouts
	nonces   []int64 // of changes from that row whose outcome is unknown
	readBack bool    // the row was read back, and no change of it has been answered since
	closing  bool    // Release was called; Extend fails from then on
	released bool    // Release has done its work, so another call does nothing
	back     error   // how the table went back; nil: it did not, as far as is known
	lost     error   // why the claim is lost for good; nil: it is not

	// End of the window in Unix milliseconds; only confirm stores it, and it only grows.
	until atomic.Int64
}

// Worker returns the worker id. It never changes, and the call neither blocks nor reads the table.
func (c *leasedClaim) Worker() int64 { return c.worker }

// Window returns the window that is reserved, in UTC, to the millisecond. A zero from means that no
// process has had the worker id before. It reads two words of the process and never the table, so
// it may be called by any goroutine while Extend runs: it then returns the window before the
// extension or the one after it.
func (c *leasedClaim) Window() (from, until time.Time) {
	return millis(c.from), time.UnixMilli(c.until.Load()).UTC()
}

// Span returns LeasedOptions.Window. It makes the claim an assigner.Windowed: the keeper asks each
// extension for that much, whatever is left of the first window when the local clock and the
// database's differ.
func (c *leasedClaim) Span() time.Duration { return time.Duration(c.window) * time.Millisecond }

// Now returns the database's time, UTC, to the millisecond. It makes the claim an assigner.Clock.
// It waits for a database that is down until ctx ends, and uses no field that Extend changes, so it
// may be called at the same time.
func (c *leasedClaim) Now(ctx context.Context) (time.Time, error) { return now(ctx, c.DB) }

// Extend moves the window's end to until, or to a whole Window from the database's current time if
// that is later. Asked for no more than there is, it returns at once without a look at the
// database. It tries three times and does not wait for a database that is down: the keeper has a
// schedule of its own.
//
// Each try is two steps, and a try after a lost answer resumes with the one that is missing: change
// reserves the end in the row, unless the row has it, and confirm makes the window as long.
//
// No window ends later than Reach from the database's current time. Where that is later than the
// window's end, Extend grants it; else its error wraps assigner.ErrBeyondReach.
//
// The error wraps assigner.ErrClaimLost if another process has the worker id or the table went
// back, assigner.ErrSuperseded if the namespace has a layout that this process does not know and
// the window cannot grow any more, and otherwise that of the database. Only the first is permanent
// for the claim. The window is never shorter than before, whatever the error.
func (c *leasedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	what := fmt.Sprintf("extending the claim on worker %d", c.worker)
	if c.closing {
		return time.Time{}, fmt.Errorf("%w: workernode: %s: it was released",
			assigner.ErrClaimLost, what)
	}
	if until.IsZero() || until.Year() > lastYear {
		return time.Time{}, fmt.Errorf("workernode: %s: until is %v, want an instant before the "+
			"year %d", what, until, lastYear+1)
	}
	want := ceilMillis(until)
	err := c.Few(ctx, what, func(ctx context.Context) error {
		// An earlier try has done all of it, or the caller asked for a time that the window holds.
		if want <= c.until.Load() {
			return nil
		}
		// The heading is that of the last confirm and may be out of date. That is safe: it only
		// chooses the end that is asked for, and confirm reads the layouts again before the end
		// counts.
		if c.heading.end(want) > c.row.until || c.readBack {
			err := c.change(ctx, c.row.until, func(now int64) (owner string, until int64, ok bool) {
				until = c.heading.end(min(max(want, now+c.window), now+c.reach))
				// change may find that an earlier try has moved the end.
				return c.row.owner, max(until, c.row.until), until > c.row.until || c.readBack
			})
			if err != nil {
				return err
			}
		}
		before := c.until.Load()
		err := c.confirm(ctx)
		// A window that grew by less than was asked for is an answer: the layouts cut it. One that
		// did not grow is cut permanently, unless the cut has gone meanwhile.
		if after := c.until.Load(); err == nil && after == before {
			if want > c.heading.now+c.reach && c.heading.end(want) > c.row.until {
				return c.errBeyondReach(want)
			}
			if c.heading.cut == 0 {
				// The layout that cut the row's end was taken back: try again.
				return sqldb.ErrChanged
			}
			return c.errSuperseded(c.heading)
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(c.until.Load()).UTC(), nil
}

// errBeyondReach returns the error of a window that would have to end at want, and ends at the
// reach already.
func (c *leasedClaim) errBeyondReach(want int64) error {
	return final("%w: workernode: extending the claim on worker %d to %v: the database's time is "+
		"%v, and Reach is %v: one of the two clocks is wrong; correct it, or set "+
		"LeasedOptions.Reach (%s)", assigner.ErrBeyondReach, c.worker, millis(want),
		millis(c.heading.now), time.Duration(c.reach)*time.Millisecond, c.Place())
}

// Release moves the window's end back to used, or to the window's beginning if that is later, and
// empties OWNER. From then on other processes may claim the worker id, and their windows begin at
// the new end. Release tries three times and does not wait for a database that is down, because the
// worker id is free without it when the window has passed. A claim that is lost has nothing to give
// back, which is no error.
//
// used is the end of the last tick that may carry an id. Moving the end back to it is safe only
// because the caller stamps nothing after the call: closing makes every later Extend fail, even if
// this UPDATE has no answer. A Release that failed may be called again; one that succeeded does
// nothing.
func (c *leasedClaim) Release(ctx context.Context, used time.Time) error {
	if c.released {
		return nil
	}
	c.closing = true
	end := max(c.from, ceilMillis(used))
	if used.Year() > lastYear { // its milliseconds may have wrapped around
		end = c.row.until
	}
	// The order of the two bounds matters: a used beyond the row's end must not extend the window.
	end = min(end, c.row.until) // only an extension moves the end on
	what := fmt.Sprintf("releasing worker %d", c.worker)
	err := c.Few(ctx, what, func(ctx context.Context) error {
		return c.change(ctx, end, func(int64) (owner string, until int64, ok bool) {
			return "", end, c.row.owner != "" // else an earlier attempt has done it
		})
	})
	if err == nil || errors.Is(err, assigner.ErrClaimLost) {
		c.released = true
		return nil
	}
	return err
}

// confirm makes the window as long as the row says, or as the namespace's layouts permit. It reads
// those after the row's end is committed: see header. It never makes the window shorter, so ids
// that were stamped in it stay inside it.
//
// The SELECT ends in FOR UPDATE. So it waits for a header that is being changed and reads what is
// committed, not the snapshot of a session without autocommit. It is a Do of its own, because on
// such a session the changes of a Do are committed at its end: in one Do the read would come first.
func (c *leasedClaim) confirm(ctx context.Context) error {
	return c.Do(ctx, func(q *sqldb.Conn) (err error) {
		if c.heading, err = c.header(ctx, q, q.ForUpdate); err != nil {
			return err
		}
		// No window counts before every process can know how far it may reach.
		if c.heading.short {
			if err := c.widen(ctx, q, c.heading); err != nil {
				return err
			}
			if err := q.Commit(ctx); err != nil {
				return err
			}
		}
		c.memory.saw(c.heading.floor)
		if end := c.heading.end(c.row.until); end > c.until.Load() {
			c.until.Store(end)
		}
		return nil
	})
}

// next says what a row is changed to: its owner and the end of its window. With ok false the row
// stays as it is. now is the database's time in Unix milliseconds.
//
// It may be called several times, once for each attempt of a change, and must not have side
// effects.
type next func(now int64) (owner string, until int64, ok bool)

// change changes the row to what next says, with one compare-and-set. Until it returns nil, the
// claim may stamp up to end.
//
// It reads the row first, because an earlier change may have been made although its answer was
// lost. What it finds, compared with what the claim knows:
//
//	the row as the claim left it              the claim's: it is changed
//	one change further, with its own nonce    the claim's: the lost answer; it is changed
//	further, with another nonce               the claim is lost for good
//	older, or not there                       the table went back: the row is repaired, so that no
//	                                          owner begins before end, and the claim is lost
//
// A read from a replica that lags looks like a table that went back. The compare-and-set runs on
// the primary, so it tells them apart: there it succeeds.
//
// The first statement locks the row (find, FOR UPDATE), so where the session does not commit by
// itself nothing changes it between the read and the UPDATE. Where it does, another process may,
// and the UPDATE then changes no row. Either way the comparison in the UPDATE decides, and never
// the read.
//
// What the claim knows is changed only after Do has returned nil, that is, after the commit. An
// attempt that broke off leaves its nonce in nonces, and the next attempt's read tells whether it
// was made.
func (c *leasedClaim) change(ctx context.Context, end int64, next next) error {
	if c.lost != nil {
		return sqldb.Final(c.lost)
	}
	known := c.row
	known.until = end
	var (
		found  *row
		now    int64 // 0: the row was not read
		there  row   // as it was repaired
		beyond limits
		to     *row // what it is changed to
	)
	// The row cannot have come after what this claim left there. It is false while nothing was
	// read: then now is 0, and found is nil as well.
	behind := func() bool { return now != 0 && (found == nil || found.behind(known)) }
	err := c.Do(ctx, func(q *sqldb.Conn) (err error) {
		if found, now, err = c.find(ctx, q, c.worker); err != nil {
			return err
		}
		switch {
		case behind():
			// Unless it is known that the table went back, try the compare-and-set on the primary.
			if c.back == nil {
				to, err = c.swapTo(ctx, q, now, next)
				if err != nil && !errors.Is(err, sqldb.ErrChanged) {
					now = 0 // nothing is known of the row
					return err
				}
				if err == nil && to != nil {
					return nil
				}
			}
			// There is no new row: the compare-and-set found another one than the claim's, or there
			// was none to make.
			to = nil
			if beyond, err = c.limits(ctx, q, c.worker); err != nil {
				now = 0 // nothing is known of the row
				return err
			}
			there, err = c.repair(ctx, q, found, known, beyond)
		case c.back == nil && c.owns(*found):
			to, err = c.swapTo(ctx, q, now, next)
		}
		return err
	})
	switch {
	case err == nil && to != nil: // changed, and committed
		c.settle(*to)
		c.readBack = false
		return nil
	case behind():
		return c.lostByTable(found, known, there, beyond, err)
	case err != nil: // the next attempt reads the row again
		return err
	case c.back != nil: // the row was repaired, by an earlier attempt or an operator
		c.lost = c.back
	case c.owns(*found): // and next left it as it is
		return nil
	default:
		c.lost = fmt.Errorf("%w: worker %d in namespace %q is at fencing token %d of owner %q, "+
			"this claim is at %d", assigner.ErrClaimLost,
			c.worker, c.namespace, found.token, found.owner, c.row.token)
	}
	return sqldb.Final(c.lost)
}

// swapTo changes the row to what next says, and returns the new row, nil if the row stays as it is.
// The change counts when the connection's work is committed. With an error the outcome is unknown,
// and the nonce tells a later attempt whether the change was made.
//
// It returns the row even with an error, because the caller's next look may find it. Each attempt
// draws a nonce of its own: two attempts with one nonce could not be told apart, and an attempt
// that arrives late would be mistaken for the one that succeeded.
func (c *leasedClaim) swapTo(ctx context.Context, q *sqldb.Conn, now int64,
	next next) (*row, error) {
	owner, until, ok := next(now)
	if !ok {
		return nil, nil
	}
	to := row{worker: c.worker, token: c.row.token + 1, nonce: newNonce(), owner: owner,
		until: until}
	// Both before the change is sent, because from then on it may happen.
	// If the process died here, nothing would be left but a row as it was.
	c.nonces = append(c.nonces, to.nonce)
	c.memory.lower(c.row, until)
	ok, err := c.swap(ctx, q, c.row, to)
	if err == nil && !ok {
		// Another process took over since the row was read, or an attempt of this claim arrived
		// late, or the row comes from a replica that lags. The next attempt reads which of them it
		// is.
		err = sqldb.ErrChanged
	}
	return &to, err
}

// owns reports whether found is this claim's row. A row that is one change further and has a nonce
// of this claim is: the answer to that change was lost, and owns takes note of the row. One further
// is enough, because the claim makes no second change before it knows the outcome of the first.
func (c *leasedClaim) owns(found row) bool {
	if found.token == c.row.token+1 && slices.Contains(c.nonces, found.nonce) {
		c.settle(found)
		c.readBack = true
	}
	return found.is(c.row)
}

// settle takes note that the row is r, which is committed. It forgets the nonces of changes from
// the row before: they need its token, so none of them can be made any more.
func (c *leasedClaim) settle(r row) {
	c.row = r
	c.nonces = nil
	c.memory.note(r)
}

// millis returns the instant of a Unix millisecond, UTC, and the zero time for 0, which stands for
// the beginning of time: a worker id that nobody had before has a window without a begin.
func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// lastYear is the last year whose milliseconds fit every database's types with room to spare: about
// 2.5e14, where a BIGINT ends at 9.2e18. UnixMilli wraps around for years beyond 292 million, which
// the comparison of years keeps out.
const lastYear = 9999

// ceilMillis returns the first Unix millisecond at or after t, from 0 on. It rounds up, so that a
// window in the table is never shorter than the one that was asked for.
func ceilMillis(t time.Time) int64 {
	if t.Before(time.UnixMilli(0)) {
		return 0 // far enough back, milliseconds would wrap around
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
