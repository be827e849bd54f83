package workernode

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/uidring/uidring/internal/sqldb"
)

// table is the part of WORKER_LEASE that belongs to one namespace, as the claims of one Assigner
// see it. It holds no rows: every method reads or writes the database, on the connection that the
// caller's Do has taken, and returns its errors as they are, for Retry to classify. It is a value
// that a claim copies, and its fields do not change.
//
// Statements are written for MySQL, MariaDB, PostgreSQL and SQLite alike; what differs is in braces
// and in ForUpdate, see sqldb.Dialect. No statement is sent inside a BEGIN of this package, so a
// process that vanishes in the middle leaves no row locked; sqldb.Conn's Do commits what it does.
type table struct {
	*sqldb.DB
	namespace string
	layout    string // the layouts that the claims know, separated by commas

	first, last int64   // the range of worker ids that claims are made in
	reach       int64   // LeasedOptions.Reach in milliseconds
	memory      *memory // nil where nothing is claimed
}

// shared reports whether new worker ids come from WORKER_NODE, which the namespace shares with
// Disposable. All other namespaces count for themselves, from the lowest worker id that has no row
// in WORKER_LEASE.
func (t table) shared() bool { return t.namespace == DefaultNamespace }

// row is the row of one worker id. There is one kind of change: an UPDATE finds the row by fencing
// token and nonce, and writes token + 1, a nonce of its own and the rest. No row is ever deleted,
// because it is the memory of how far the worker id was used.
//
//	token:  g ──► g+1 ──► g+2 ──► ...       by claim, extension, release
//	until:  ───── only the owner of token g moves it, and a new owner begins there
//
// The token alone orders the changes. The nonce tells two changes from one token apart, of which
// one was made: in a process that lost an answer, and on a table that went back and was changed
// anew.
type row struct {
	worker int64
	token  int64  // the fencing token (GENERATION), which grows by one with every change
	nonce  int64  // random, which tells whose change it was
	until  int64  // end of the reserved window, Unix milliseconds; 0: nothing was ever stamped
	owner  string // empty: none
}

// is reports whether r is what o was when it was written. The owner's text counts only in being
// empty or not: a connection with a narrow character set may give it back as another text. The
// nonce stands for the rest of the change, so the other fields are compared for rows that were
// changed by hand.
func (r row) is(o row) bool {
	return (r.owner == "") == (o.owner == "") && r.worker == o.worker &&
		r.token == o.token && r.nonce == o.nonce && r.until == o.until
}

// newNonce returns a random number that tells a change from all others, those of a copy of this
// process in another virtual machine included. It is 63 bits wide, because the column is signed. It
// comes from the operating system, because a generator in the process's memory would give two
// copies the same numbers.
func newNonce() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

// free returns the rows whose window has passed at the database's time, longest first, at most
// limit after the first skip. Rows that cannot be read are not claimed. The index on NAMESPACE and
// UNTIL_MS has them in this order, so no more rows are read than are returned or left out.
//
// The SELECT locks nothing and may be answered from an old snapshot: what it returns is a list of
// rows to try, and the UPDATE that takes one compares it with the table. Rows with a layout that
// this process does not know are not in the list; their owners stamp ids that it cannot judge.
func (t table) free(
	ctx context.Context, q *sqldb.Conn, h heading, limit, skip int,
) (rows []row, err error) {
	bad := scanErrors{table: leaseTable, namespace: t.namespace}
	list, args := h.known(t.namespace, h.now, t.first, t.last)
	err = q.Each(ctx, func(r *sql.Rows) error {
		var f row
		ok, err := bad.keep(r, r.Scan(&f.worker, &f.token, &f.nonce, &f.until, &f.owner))
		if ok {
			rows = append(rows, f)
		}
		return err
	}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND UNTIL_MS <= ? AND WORKER_ID BETWEEN ? AND ? AND LAYOUT IN (`+list+`)
		ORDER BY UNTIL_MS LIMIT ? OFFSET ?`, append(args, limit, skip)...)
	if err := bad.err(); err != nil && t.Logger() != nil {
		t.Logger().Warn("rows cannot be read and are not claimed", "error", err)
	}
	return rows, err
}

// unused returns at most n worker ids in the range that have no row, in ascending order. It walks
// down from the highest row, a page at a time, and stops at the first page with a gap. So while the
// range has room at its top, one page is all that is read; gaps further down are found when there
// is none. A range without a gap is read whole, 128 keys at a time.
//
//	first          bottom                      top          last
//	  │ ... not read │ used, used, gap, used, ... │ all used │
//
// It locks nothing, so two processes may find the same worker id. The primary key decides between
// them: one INSERT fails with sqldb.Duplicate.
func (t table) unused(ctx context.Context, q *sqldb.Conn, n int) (ids []int64, err error) {
	const page = 128
	for top := t.last; ; {
		var used []int64 // the highest up to top, in descending order
		err := q.Each(ctx, func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			used = append(used, id)
			return err
		}, `SELECT WORKER_ID FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID BETWEEN ? AND ?
			ORDER BY WORKER_ID DESC LIMIT ?`, t.namespace, t.first, top, page)
		if err != nil {
			return nil, err
		}
		// A full page decides the worker ids from its lowest key on. A shorter one is the last:
		// below its keys there is nothing down to first.
		id := t.first
		if len(used) == page {
			id = used[page-1]
		}
		bottom := id // of the page: all worker ids from here to top are decided by used
		for ; id <= top && len(ids) < n; id++ {
			// id goes up and used is in descending order, so its last element is the lowest that is
			// left.
			if k := len(used); k > 0 && used[k-1] == id {
				used = used[:k-1]
			} else {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 || bottom == t.first {
			return ids, nil
		}
		top = bottom - 1
	}
}

// find returns one worker id's row as it is committed, nil if there is none, and the database's
// time. It reads FOR UPDATE where the dialect has that, so it waits for a change that is under way,
// and does not see an old snapshot: on MySQL with REPEATABLE READ a plain SELECT would, in a
// session without autocommit. SQLite needs none of it, because it has one writer at a time. Where
// there is no row, a second statement asks for the time, because no row means no expression either.
//
// On PostgreSQL with a synchronous standby FOR UPDATE is also what makes the answer safe. A COMMIT
// whose wait for the standby was broken off shows its row to everyone, and a plain SELECT would
// answer with it at once. FOR UPDATE writes to the log, so its own commit waits for the standby,
// which has the row by then: a promotion cannot lose what was read. A Release that is read back
// rests on nothing else.
func (t table) find(ctx context.Context, q *sqldb.Conn,
	worker int64) (found *row, now int64, err error) {
	r := row{worker: worker}
	err = q.Row(ctx, "SELECT GENERATION, NONCE, UNTIL_MS, OWNER, {nowMillis} FROM WORKER_LEASE "+
		"WHERE NAMESPACE = ? AND WORKER_ID = ?"+q.ForUpdate,
		[]any{t.namespace, worker}, &r.token, &r.nonce, &r.until, &r.owner, &now)
	if errors.Is(err, sql.ErrNoRows) {
		now, err = databaseTime(ctx, q)
		return nil, now, err
	}
	return &r, now, err
}

// has reports whether the table shows a row as r, committed or not. It waits for no lock. A caller
// that finds it reads the row again with find, which waits, before it relies on it.
func (t table) has(ctx context.Context, q *sqldb.Conn, r row) (bool, error) {
	var n int64
	err := q.Row(ctx, "SELECT COUNT(*) FROM WORKER_LEASE "+
		"WHERE NAMESPACE = ? AND WORKER_ID = ? AND NONCE = ?",
		[]any{t.namespace, r.worker, r.nonce}, &n)
	return n > 0, err
}

// firstEnd returns the end of the window that ends first, in Unix milliseconds, for the message
// that says when a worker id is free. It is not valid if the namespace has no row in the range that
// this process may claim. It locks nothing.
func (t table) firstEnd(
	ctx context.Context, q *sqldb.Conn, h heading,
) (end sql.NullInt64, err error) {
	list, args := h.known(t.namespace, t.first, t.last)
	err = q.Row(ctx, `SELECT UNTIL_MS FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND WORKER_ID BETWEEN ? AND ? AND LAYOUT IN (`+list+`)
		ORDER BY UNTIL_MS LIMIT 1`, args, &end)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return end, err
}

// add inserts a row. Where the worker id has one, it fails with an error of the class
// sqldb.Duplicate. The primary key makes it the compare-and-set of a row that is not there: of
// several processes that insert it, one succeeds. The row gets the table's layout, with which its
// owner will stamp.
func (t table) add(ctx context.Context, q *sqldb.Conn, r row) error {
	_, err := q.Exec(ctx, `INSERT INTO WORKER_LEASE
		(NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT, CREATED, MODIFIED)
		VALUES (?, ?, ?, ?, ?, ?, ?, {now}, {now})`,
		t.namespace, r.worker, r.token, r.nonce, r.owner, r.until, t.layout)
	return err
}

// swap is the compare-and-set: it changes old to new and reports whether old was there. The end of
// the window is compared as well, so that a row that was changed by hand is not overwritten.
//
// It is one UPDATE of one row by its primary key, so the database's row lock makes comparing and
// setting one step, at every isolation level. The count of changed rows is the answer. It is 1
// whether a driver counts the rows that were found or those that became different, because every
// change writes another token. An error leaves the outcome unknown: the statement may have been
// executed, or be executed later.
func (t table) swap(ctx context.Context, q *sqldb.Conn, old, new row) (bool, error) {
	n, err := q.Changed(ctx, `UPDATE WORKER_LEASE SET GENERATION = ?, NONCE = ?,
			OWNER = ?, UNTIL_MS = ?, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND GENERATION = ? AND NONCE = ? AND UNTIL_MS = ?`,
		new.token, new.nonce, new.owner, new.until,
		t.namespace, old.worker, old.token, old.nonce, old.until)
	return n == 1, err
}

// databaseTime returns the database's time in Unix milliseconds. All times in the table are the
// database's, so processes with different clocks agree on which rows are free.
func databaseTime(ctx context.Context, q *sqldb.Conn) (now int64, err error) {
	err = q.Row(ctx, "SELECT {nowMillis}", nil, &now)
	return now, err
}

// final is an error that another attempt would not change. Retry returns it at once, without the
// prefix and the advice that it gives to errors of the database.
func final(format string, args ...any) error { return sqldb.Final(fmt.Errorf(format, args...)) }
