package workerstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

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
func (s *Store) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	worker := int64(header)
	if name != headerName {
		if worker, err = workerOf(name); err != nil {
			return e, err
		}
	}
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		if worker == header {
			_, e, err = s.settings(ctx, q, q.ForUpdate)
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
		e = r.entry(now)
		return err
	})
	return e, err
}

// settings reads the header of the namespace. lock is the end of the SELECT.
//
// One statement reads the header, the database's time and the floor, so that a start costs one
// round trip for all three. FOR UPDATE locks the header's row until the statement or, in a session
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
		[]any{everywhere, header, s.namespace, header},
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
	return h, h.entry(now), err
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
	change, e, err := s.change(old, value)
	if err != nil {
		return lease.Entry{}, err
	}
	slot := old.Name != headerName
	if !slot {
		err = s.shorten(ctx, old, value)
	}
	if err != nil {
		return lease.Entry{}, err
	}
	made := false
	err = s.do(ctx, func(q *sqldb.Conn) error {
		if slot && old.Version != "" {
			if err := s.note(ctx, q, change.worker); err != nil {
				return err
			}
		}
		return s.patient(ctx, func(ctx context.Context) error {
			n, err := q.Changed(ctx, change.query, change.args...)
			if sqldb.NotInCharset(err) && change.narrow() {
				n, err = q.Changed(ctx, change.query, change.args...)
			}
			if err != nil && old.Version == "" && s.db.Failure(err) == sqldb.Duplicate {
				n, err = 0, nil
			}
			made = n > 0
			return err
		})
	})
	if err == nil && !made {
		err = lease.ErrConflict
	}
	if err == nil && slot {
		s.noted.Store(change.worker, nil)
	}
	return e, err
}

// statement is a statement and its arguments.
type statement struct {
	query  string
	args   []any
	worker int64 // that an UPDATE is about
	owner  int   // the place of a slot's OWNER in args; 0: it is not among them
}

// narrow replaces the characters of the owner that a connection's character set may lack, which
// MySQL 9 refuses. It reports whether there were any. The owner is for people, so that a claim
// does not fail for it.
func (c statement) narrow() bool {
	owner, _ := c.args[c.owner].(string)
	plain := workertable.ASCII(owner)
	if c.owner == 0 || plain == owner {
		return false
	}
	c.args[c.owner] = plain
	return true
}

// change returns the statement that puts value in place of old, and the entry that it leaves.
func (s *Store) change(old lease.Entry, value []byte) (c statement, e lease.Entry, err error) {
	if old.Name == headerName {
		return s.changeSettings(old, value)
	}
	var r slot
	if r.worker, err = workerOf(old.Name); err != nil {
		return c, e, err
	}
	if err := errors.Join(decode(value, &r), fits(r.Layout)); err != nil {
		return c, e, err
	}
	e = r.entry(0)
	e.At = old.At // not when it was written, and before
	if old.Version == "" {
		return s.insert(r), e, nil
	}
	var token, nonce, until int64
	if err := version(old, &token, &nonce, &until); err != nil {
		return c, e, err
	}
	// The end is compared as well, so that a row that was changed by hand is not overwritten.
	return statement{`UPDATE WORKER_LEASE SET GENERATION = ?, NONCE = ?,
			OWNER = ?, UNTIL_MS = ?, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND GENERATION = ? AND NONCE = ? AND UNTIL_MS = ?`,
		[]any{r.Token, r.Nonce, r.Owner, r.Until, s.namespace, r.worker, token, nonce, until},
		r.worker, 2}, e, nil
}

// insert is how an INSERT of rows begins. row has what follows.
const insert = `INSERT INTO WORKER_LEASE
	(NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT, CREATED, MODIFIED) VALUES `

// row returns the values of a row in an INSERT.
func (s *Store) row(r slot) (values string, args []any) {
	return "(?, ?, ?, ?, ?, ?, ?, {now}, {now})",
		[]any{s.namespace, r.worker, r.Token, r.Nonce, r.Owner, r.Until, r.Layout}
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
	return statement{insert + query, args, r.worker, 4}
}

// changeSettings is change for the header.
func (s *Store) changeSettings(
	old lease.Entry, value []byte,
) (c statement, e lease.Entry, err error) {
	var h settings
	if err := errors.Join(decode(value, &h), fits(h.Layout)); err != nil {
		return c, e, err
	}
	if len(h.Used) > 0 && h.Move == nil {
		return c, e, fmt.Errorf("%w: WORKER_LEASE keeps no list of used worker ids; after a "+
			"restore run \"uid workers restored\"", lease.ErrRefused)
	}
	h.Reach = cmp.Or(h.Reach, dayReach.Milliseconds()) // 0 means the same
	e = h.entry(0)
	e.At = old.At
	owner, err := h.note()
	if err != nil {
		return c, e, err
	}
	if old.Version == "" {
		r := slot{worker: header, Token: h.Universe, Nonce: h.Nonce, Until: h.Reach,
			Layout: h.Layout, Owner: owner}
		return s.insert(r), e, nil
	}
	var nonce, reach int64
	var layout string
	if err := version(old, &nonce, &reach, &layout); err != nil {
		return c, e, err
	}
	return statement{`UPDATE WORKER_LEASE SET LAYOUT = ?, NONCE = ?, UNTIL_MS = ?, OWNER = ?,
			GENERATION = ?, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND LAYOUT = ? AND NONCE = ? AND UNTIL_MS = ?`,
		[]any{h.Layout, h.Nonce, h.Reach, owner, h.Universe, s.namespace, header, layout, nonce,
			reach}, 0, 0,
	}, e, nil
}

// shorten prepares a header that has fewer layouts than the one before: rows that were inserted
// with one of the layouts that go would not be claimed again. A shorter list says less about a row,
// and is true whether the header follows or not.
func (s *Store) shorten(ctx context.Context, old lease.Entry, value []byte) error {
	var before, after settings
	if old.Version == "" {
		return nil
	}
	if err := errors.Join(decode(old.Value, &before), decode(value, &after)); err != nil ||
		!strings.Contains(before.Layout, "~") || strings.ContainsAny(after.Layout, "|~") {
		return err
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
	bad := workertable.Scan{Table: workertable.LeaseTable, Namespace: s.namespace}
	err = s.do(ctx, func(q *sqldb.Conn) error {
		h, e, err := s.settings(ctx, q, "")
		head, slots, bad.Rows = e, nil, nil
		if err != nil || e.Version == "" {
			return err
		}
		limit := int64(math.MaxInt64)
		if !ask.Reserved {
			limit = e.At.UnixMilli()
		}
		list, args := h.known(s.namespace, limit, ask.First, ask.Last)
		return q.Each(ctx, func(r *sql.Rows) error {
			var f slot
			ok, err := bad.Keep(r, r.Scan(&f.worker, &f.Token, &f.Nonce, &f.Until, &f.Owner))
			if ok {
				slots = append(slots, f.entry(e.At.UnixMilli()))
			}
			return err
		}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER FROM WORKER_LEASE
			WHERE NAMESPACE = ? AND UNTIL_MS BETWEEN 0 AND ? AND WORKER_ID BETWEEN ? AND ?
			AND LAYOUT IN (`+list+`) ORDER BY UNTIL_MS LIMIT ? OFFSET ?`,
			append(args, ask.Limit, ask.Skip)...)
	})
	if err == nil && len(bad.Rows) > 0 {
		s.logger.Warn("rows cannot be read and are not claimed", "place", s.db.Place(),
			"error", bad.Rows)
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
			e = lease.Entry{}
			return nil
		case err == nil && r.Until < chosen:
			return lease.ErrConflict
		}
		e = r.entry(0)
		e.At = lease.Entry{}.At
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
