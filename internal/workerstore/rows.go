package workerstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// Get returns a row as it is committed. It reads FOR UPDATE where the dialect has that, so it waits
// for a change that is under way, and does not see an old snapshot: on MySQL with REPEATABLE READ a
// plain SELECT would, in a session without autocommit. SQLite needs none of it, because it has one
// writer at a time.
//
// On PostgreSQL with a synchronous standby FOR UPDATE is also what makes the answer safe. A COMMIT
// whose wait for the standby was broken off shows its row to everyone, and a plain SELECT would
// answer with it at once. FOR UPDATE writes to the log, so its own commit waits for the standby,
// which has the row by then: a promotion cannot lose what was read. A Release that is read back
// rests on nothing else.
//
// All that is as true of FOR SHARE, by which PostgreSQL reads the header. Each of the processes
// that start at once reads it several times, and need not wait for the commits of the others'
// reads.
func (s *Store) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	worker, err := workerOf(name)
	if err != nil {
		return e, err
	}
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		if worker == workertable.Header {
			_, e, err = s.settings(ctx, q, q.ForShare)
			return err
		}
		r := slot{worker: worker}
		var now int64
		err = q.Row(ctx, "SELECT GENERATION, NONCE, UNTIL_MS, OWNER, {nowMillis} "+
			"FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?"+q.ForUpdate,
			[]any{s.namespace, worker}, &r.Token, &r.Nonce, &r.Until, &r.Owner, &now)
		if errors.Is(err, sql.ErrNoRows) { // and no expression either
			now, err = workertable.Now(ctx, q)
			e = absent(name, now)
			return err
		}
		e = r.entry(time.UnixMilli(now))
		return err
	})
	return e, err
}

// settings reads the header of the namespace. lock is the end of the SELECT.
//
// One statement reads the header, the database's time and the floor, so that a start costs one
// round trip for all three. lock locks the header's row until the statement or, in a session
// without autocommit, the Do is over; the floor's row is read without a lock, because it is written
// before any process connects.
func (s *Store) settings(
	ctx context.Context, q *sqldb.Conn, lock string,
) (h settings, e lease.Entry, err error) {
	var now int64
	var floor sql.NullInt64
	var owner string
	err = q.Row(ctx, `SELECT LAYOUT, NONCE, UNTIL_MS, OWNER, GENERATION, {nowMillis},
		(SELECT UNTIL_MS FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?)
		FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?`+lock,
		[]any{workertable.Everywhere, workertable.Header, s.namespace, workertable.Header},
		&h.Layout, &h.Nonce, &h.Reach, &owner, &h.Universe, &now, &floor)
	if errors.Is(err, sql.ErrNoRows) {
		now, err = workertable.Now(ctx, q)
		return h, absent(headerName, now), err
	}
	if h.Universe < 1<<32 { // an earlier version has counted changes there
		h.Universe = 0
	}
	if err == nil {
		err = h.readNote(owner)
	}
	if s.shared() { // Restore has moved the count of WORKER_NODE
		h.Count = floor.Int64
	} else {
		h.Floor = max(h.Floor, floor.Int64)
	}
	if err == nil {
		s.given.Store(&h.Used)
	}
	return h, h.entry(time.UnixMilli(now)), err
}

// Put is one INSERT or UPDATE of one row by its primary key, so the database makes comparing and
// setting one step, at every isolation level. The count of changed rows is the answer. It is above
// 0 whether a driver counts the rows that were found or those that became different, because every
// change writes another NONCE. The change is committed when Put returns nil. After an error the
// outcome is unknown: the statement may have been executed, or be executed later.
//
// No statement is sent inside a BEGIN of this package, so a process that vanishes in the middle
// leaves no row locked.
func (s *Store) Put(
	ctx context.Context, old lease.Entry, value []byte,
) (e lease.Entry, err error) {
	worker, err := workerOf(old.Name)
	if err != nil {
		return e, err
	}
	var c statement
	if worker == workertable.Header {
		c, e, err = s.changeSettings(ctx, old, value)
	} else {
		c, e, err = s.changeSlot(worker, old, value)
	}
	if err != nil {
		return lease.Entry{}, err
	}
	var made bool
	err = s.do(ctx, func(q *sqldb.Conn) error {
		if worker >= 0 && old.Version != "" {
			if err := s.note(ctx, q, worker); err != nil {
				return err
			}
		}
		return s.patient(ctx, func(ctx context.Context) error {
			n, err := q.Changed(ctx, c.query, c.args...)
			if sqldb.NotInCharset(err) {
				n, err = q.Changed(ctx, c.query, c.plain()...)
			}
			if err != nil && s.db.Failure(err) == sqldb.Duplicate {
				err = nil // and n is 0
			}
			made = n > 0
			return err
		})
	})
	if err == nil && !made {
		err = lease.ErrConflict
	}
	if err == nil {
		s.noted.Store(worker, nil)
	}
	return e, err
}

// statement is a change of one row. OWNER is the first of its arguments.
type statement struct {
	query string
	args  []any
}

// plain returns the arguments without the characters of the owner that a connection's character
// set may lack, which MySQL 9 refuses. The owner is for people, so that a claim does not fail for
// it.
func (c statement) plain() []any {
	owner, _ := c.args[0].(string)
	return append([]any{workertable.ASCII(owner)}, c.args[1:]...)
}

// changeSlot returns the statement that puts value in place of old, and the entry that it leaves.
func (s *Store) changeSlot(
	worker int64, old lease.Entry, value []byte,
) (c statement, e lease.Entry, err error) {
	var r slot
	if err := errors.Join(decode(value, &r), fits(r.Layout)); err != nil {
		return c, e, err
	}
	r.worker = worker
	e = r.entry(old.At) // not when it was written, and before
	if old.Version == "" {
		return s.insert(r), e, nil
	}
	var was slot
	if err := readVersion(old, &was.Token, &was.Nonce, &was.Until); err != nil {
		return c, e, err
	}
	// The end is compared as well, so that a row that was changed by hand is not overwritten.
	return statement{`UPDATE WORKER_LEASE SET OWNER = ?, GENERATION = ?, NONCE = ?, UNTIL_MS = ?,
			MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND GENERATION = ? AND NONCE = ? AND UNTIL_MS = ?`,
		[]any{r.Owner, r.Token, r.Nonce, r.Until,
			s.namespace, worker, was.Token, was.Nonce, was.Until}}, e, nil
}

// insert is how an INSERT of rows begins. row has what follows.
const insert = `INSERT INTO WORKER_LEASE
	(OWNER, NAMESPACE, WORKER_ID, GENERATION, NONCE, UNTIL_MS, LAYOUT, CREATED, MODIFIED) VALUES `

// row returns the values of a row in an INSERT.
func (s *Store) row(r slot) (values string, args []any) {
	return "(?, ?, ?, ?, ?, ?, ?, {now}, {now})",
		[]any{r.Owner, s.namespace, r.worker, r.Token, r.Nonce, r.Until, r.Layout}
}

// insert returns the INSERT of a row, and of the worker id's note. The primary key makes it the
// compare-and-set of a row that is not there: of several processes that insert it, one succeeds,
// and none where the worker id was given out before.
func (s *Store) insert(r slot) statement {
	query, args := s.row(r)
	if !s.shared() && r.worker >= 0 {
		note, more := s.row(slot{worker: noteOf(r.worker), Until: noteUntil})
		query, args = query+", "+note, append(args, more...)
	}
	return statement{insert + query, args}
}

// changeSettings is changeSlot for the header. A header that has fewer layouts than the one before
// is prepared for: see shorten.
func (s *Store) changeSettings(
	ctx context.Context, old lease.Entry, value []byte,
) (c statement, e lease.Entry, err error) {
	var h, was settings
	if err := errors.Join(decode(value, &h), fits(h.Layout)); err != nil {
		return c, e, err
	}
	if len(h.Used) > 0 && h.Move == nil {
		return c, e, fmt.Errorf("%w: WORKER_LEASE keeps no list of used worker ids; after a "+
			"restore run \"uid workers restored\"", lease.ErrRefused)
	}
	h.Reach = cmp.Or(h.Reach, dayReach.Milliseconds()) // 0 means the same
	e = h.entry(old.At)
	owner, err := h.note()
	if err != nil {
		return c, e, err
	}
	if old.Version == "" {
		return s.insert(slot{worker: workertable.Header, Token: h.Universe, Nonce: h.Nonce,
			Until: h.Reach, Layout: h.Layout, Owner: owner}), e, nil
	}
	if err := decode(old.Value, &was); err != nil {
		return c, e, err
	}
	if err := readVersion(old, &was.Nonce, &was.Reach); err != nil {
		return c, e, err
	}
	if err := s.shorten(ctx, was, h); err != nil {
		return c, e, err
	}
	return statement{`UPDATE WORKER_LEASE SET OWNER = ?, LAYOUT = ?, NONCE = ?, UNTIL_MS = ?,
			GENERATION = ?, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND LAYOUT = ? AND NONCE = ? AND UNTIL_MS = ?`,
		[]any{owner, h.Layout, h.Nonce, h.Reach, h.Universe,
			s.namespace, workertable.Header, was.Layout, was.Nonce, was.Reach}}, e, nil
}

// shorten prepares a header that has fewer layouts than the one before: rows that were inserted
// with one of the layouts that go would not be claimed again. A shorter list says less about a row,
// and is true whether the header follows or not.
func (s *Store) shorten(ctx context.Context, before, after settings) error {
	if !strings.Contains(before.Layout, "~") || strings.ContainsAny(after.Layout, "|~") {
		return nil
	}
	_, lists := before.known()
	for _, list := range lists {
		//nolint:errcheck,forcetypeassert // known returns texts
		if len(list.(string)) <= len(after.Layout) {
			continue
		}
		err := s.do(ctx, func(q *sqldb.Conn) error {
			_, err := q.Exec(ctx, `UPDATE WORKER_LEASE SET LAYOUT = ?
				WHERE NAMESPACE = ? AND WORKER_ID >= 0 AND LAYOUT = ?`,
				after.Layout, s.namespace, list)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// List returns all rows of the namespace, and the header before them.
func (s *Store) List(ctx context.Context) (all []lease.Entry, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) error {
		_, e, err := s.settings(ctx, q, "")
		if err != nil {
			return err
		}
		if all = nil; e.Version != "" {
			all = append(all, e)
		}
		slots, err := s.slots(ctx, q, e.At, "WORKER_ID >= 0")
		all = append(all, slots...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Look returns the header and rows whose window has passed at the database's time, longest first.
// The index on NAMESPACE and UNTIL_MS has them in this order, so no more rows are read than are
// returned or left out. It locks nothing and may be answered from an old snapshot.
//
// Rows with a layout that the header does not have are left out; their owners stamp ids that no
// claim can judge. So are rows that cannot be read. Each start begins with Look, so the first one
// looks for the keys that everything rests on.
func (s *Store) Look(
	ctx context.Context, ask lease.Query,
) (head lease.Entry, slots []lease.Entry, err error) {
	if err := s.keys.Require(ctx, s.db); err != nil { // before the first read of all
		return head, nil, s.judge(err)
	}
	var bad []workertable.Unreadable
	err = s.do(ctx, func(q *sqldb.Conn) error {
		h, e, err := s.settings(ctx, q, "")
		head, slots, bad = e, nil, nil
		if err != nil || e.Version == "" {
			return err
		}
		limit := int64(math.MaxInt64)
		if !ask.Reserved {
			limit = e.At.UnixMilli()
		}
		list, args := h.known(limit, ask.First, ask.Last)
		slots, bad, err = s.rows(ctx, q, e.At, `UNTIL_MS BETWEEN 0 AND ?
			AND WORKER_ID BETWEEN ? AND ? AND LAYOUT IN (`+list+`)
			ORDER BY UNTIL_MS LIMIT ? OFFSET ?`, append(args, ask.Limit, ask.Skip)...)
		return err
	})
	if len(bad) > 0 {
		s.logger.Warn("rows cannot be read and are not claimed", "place", s.db.Place(),
			"error", bad)
	}
	return head, slots, err
}

// Latest returns the row whose window ends last. The index on NAMESPACE and UNTIL_MS has it at its
// end, so one row is read however many there are. It reads FOR UPDATE, as Get does.
//
// PostgreSQL chooses the row before it waits for it, and answers with it as it is afterwards, when
// another may end last. So the statement says what it has chosen, too. An earlier end is no answer.
func (s *Store) Latest(ctx context.Context) (e lease.Entry, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) error {
		const last = `FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID >= 0
			ORDER BY UNTIL_MS DESC LIMIT 1`
		var r slot
		var chosen int64
		err := q.Row(ctx, "SELECT WORKER_ID, UNTIL_MS, GENERATION, NONCE, OWNER, "+
			"(SELECT UNTIL_MS "+last+") AS CHOSEN "+last+q.ForUpdate,
			[]any{s.namespace, s.namespace},
			&r.worker, &r.Until, &r.Token, &r.Nonce, &r.Owner, &chosen)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case r.Until < chosen:
			return lease.ErrConflict
		}
		e = r.entry(time.Time{})
		return err
	})
	return e, err
}

// Shows reports whether the table shows a row with a token, committed or not. It waits for no lock.
func (s *Store) Shows(ctx context.Context, name, token string) (shown bool, err error) {
	worker, err := workerOf(name)
	if err != nil {
		return false, err
	}
	err = s.do(ctx, func(q *sqldb.Conn) error {
		var n int64
		err := q.Row(ctx, "SELECT COUNT(*) FROM WORKER_LEASE "+
			"WHERE NAMESPACE = ? AND WORKER_ID = ? AND NONCE = ?",
			[]any{s.namespace, worker, token}, &n)
		shown = n > 0
		return err
	})
	return shown, err
}
