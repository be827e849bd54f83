package workerlist

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// Lease is a row of WORKER_LEASE, a slot of a namespace. It is a copy: what it says was true when
// the database answered. Its Layout is the list that was settled when the row was inserted.
type Lease struct {
	Namespace string
	lease.Slot
}

// Free reports whether the worker id can be claimed, at the time the slot was read.
func (l Lease) Free() bool { return l.Left <= 0 }

// Leases returns the rows of WORKER_LEASE, by namespace and worker id. Together with an
// *UnreadableError it returns the rows that can be read. It waits for a database that is down until
// ctx ends.
//
// It reads the rows of all namespaces into memory, with one SELECT that locks nothing: owners
// extend their claims meanwhile. An error of the database comes without rows.
func Leases(ctx context.Context, db *gorm.DB) ([]Lease, error) {
	var leases []Lease
	bad := workertable.Scan{Table: workertable.LeaseTable}
	err := do(ctx, db, "listing WORKER_LEASE", func(ctx context.Context, q *sqldb.Conn) error {
		leases, bad.Rows = nil, nil
		return q.Each(ctx, func(r *sql.Rows) error {
			var l Lease
			var until, now int64
			var newest sql.NullString
			ok, err := bad.Keep(r,
				r.Scan(&l.Namespace, &l.Worker, &l.FencingToken, &l.Owner, &until, &l.Layout,
					&newest, &now))
			if ok {
				l.Until = millis(until)
				l.Left = time.UnixMilli(until).Sub(time.UnixMilli(now)) // saturates
				// NULL where the namespace has no header, which is the empty text of unknown.
				l.Newest = allLayouts(newest.String)
				leases = append(leases, l)
			}
			return err
		}, `SELECT NAMESPACE, WORKER_ID, GENERATION, OWNER, UNTIL_MS, LAYOUT,
			(SELECT h.LAYOUT FROM WORKER_LEASE h
				WHERE h.NAMESPACE = WORKER_LEASE.NAMESPACE AND h.WORKER_ID = ?), {nowMillis}
			FROM WORKER_LEASE WHERE WORKER_ID >= 0 ORDER BY NAMESPACE, WORKER_ID`, workertable.Header)
	})
	if err != nil {
		return nil, err
	}
	return leases, unread(bad.Rows)
}

// Reap takes the worker ids of a namespace whose windows have passed by the database's clock from
// their owners, and returns how many. Such worker ids are free with or without it; what Reap adds
// is that an owner which comes back late cannot go on with its claim and gets
// assigner.ErrClaimLost. It keeps the rows and their ends of windows, which are what uniqueness
// rests on, so a clock that is wrong can make it inconvenient and never harmful. Rows that cannot
// be read are left alone and named by an *UnreadableError, next to the count.
//
// namespace is the name as workernode.LeasedOptions has it; an empty one is not the default's and
// matches nothing. The rows are read by one SELECT without locks and changed one by one, each by a
// compare-and-set, so an owner that extends meanwhile keeps its worker id. Together with an error,
// reaped counts those whose change was answered. It waits for a database that is down until ctx
// ends.
func Reap(ctx context.Context, db *gorm.DB, namespace string) (reaped int, err error) {
	// By worker id, because a change whose COMMIT was lost may be made once more.
	freed := map[int64]struct{}{}
	// One list for all attempts; each attempt begins it anew.
	bad := workertable.Scan{Table: workertable.LeaseTable, Namespace: namespace}
	err = do(ctx, db, "reaping WORKER_LEASE", func(ctx context.Context, q *sqldb.Conn) error {
		var passed []reapable
		bad.Rows = nil
		// The database's clock and not the local one: it is what the rows' ends were made with.
		now, err := workertable.Now(ctx, q)
		if err != nil {
			return err
		}
		err = q.Each(ctx, func(r *sql.Rows) error {
			var p reapable
			var owner string
			ok, err := bad.Keep(r, r.Scan(&p.worker, &p.token, &p.nonce, &p.until, &owner))
			if ok {
				passed = append(passed, p)
			}
			return err
		}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER FROM WORKER_LEASE
			WHERE NAMESPACE = ? AND WORKER_ID >= 0 AND UNTIL_MS <= ? AND OWNER <> ''`,
			namespace, now)
		if err != nil {
			return err
		}
		// until stays what it was: the next owner begins there, and a window that has passed has
		// not moved.
		for _, p := range passed {
			// The token goes up and the owner is emptied; a late owner finds a token that is not
			// its own.
			n, err := q.Changed(ctx, `UPDATE WORKER_LEASE SET GENERATION = ?, NONCE = ?, OWNER = '',
				MODIFIED = {now} WHERE NAMESPACE = ? AND WORKER_ID = ? AND GENERATION = ?
				AND NONCE = ? AND UNTIL_MS = ?`, p.token+1, rand.Int64(),
				namespace, p.worker, p.token, p.nonce, p.until)
			if err != nil {
				return err
			}
			if n == 1 {
				freed[p.worker] = struct{}{}
			}
		}
		return nil
	})
	if err == nil {
		err = unread(bad.Rows)
	}
	return len(freed), err
}

// reapable is a row whose window has passed: its key and what a change of it is compared with.
type reapable struct{ worker, token, nonce, until int64 }

// allLayouts returns the layouts of a header, announced ones as well, as bitsalloc.Eras.String has
// them.
func allLayouts(header string) string {
	return strings.TrimPrefix(strings.NewReplacer("|", ",", "~", ",").Replace(header), ",")
}

// Now returns the time by the database's clock, UTC, to the millisecond. That clock decides which
// worker ids are free, so a doctor compares it with the local one. The answer is as old as the
// database took to send it. Now waits for a database that is down until ctx ends.
func Now(ctx context.Context, db *gorm.DB) (time.Time, error) {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return time.Time{}, err
	}
	return workertable.Time(ctx, d)
}

// do calls f in one Do of db, again and again while the database is down, until ctx ends. f must be
// safe to repeat, because a Do whose answer is lost is repeated too. what says in an error what was
// being done.
func do(ctx context.Context, db *gorm.DB, what string,
	f func(context.Context, *sqldb.Conn) error) error {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return err
	}
	return d.Retry(ctx, what, func(ctx context.Context) error {
		return d.Do(ctx, func(q *sqldb.Conn) error { return f(ctx, q) })
	})
}
