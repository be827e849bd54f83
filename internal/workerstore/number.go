package workerstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// Number returns worker ids that have no row: a new key of WORKER_NODE, which is the caller's own,
// or the lowest ones of a namespace that counts for itself.
func (s *Store) Number(
	ctx context.Context, first, last int64, n int,
) (ids []int64, own bool, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		if !s.shared() {
			ids, err = s.unused(ctx, q, first, last, n)
			return err
		}
		// A check that uses nothing up: a fleet that waits for free worker ids must not fill the
		// table. The next key may skip some all the same.
		highest, err := workertable.Highest(ctx, q)
		if err != nil {
			return err
		}
		if highest >= last {
			return fmt.Errorf("%w: WORKER_NODE has worker ids up to %d; use a Namespace of your "+
				"own, which counts from 0, or a layout with more WorkerBits",
				assigner.ErrWorkersExhausted, highest)
		}
		id, err := s.node.Insert(ctx, q)
		ids = []int64{id}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return ids, s.shared(), nil
}

// Owns reports whether a key of WORKER_NODE is still that of this process's row. The table may have
// gone back since, and then the key may be that of another process's row.
func (s *Store) Owns(ctx context.Context, worker int64) (own bool, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		own, err = s.node.Has(ctx, q, worker)
		return err
	})
	return own, err
}

// Used reports whether a worker id is never given out again without a row. In the namespace whose
// worker ids are keys of WORKER_NODE it is a key or below one, because a database generates no key
// below the highest. In the others it has a note, or a move has left it as used.
func (s *Store) Used(ctx context.Context, worker int64) (used bool, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) error {
		var n int64
		var err error
		if s.shared() {
			n, err = workertable.Highest(ctx, q)
			used = worker <= n
		} else {
			err = q.Row(ctx,
				"SELECT COUNT(*) FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?",
				[]any{s.namespace, noteOf(worker)}, &n)
			used = n > 0 || s.movedIn(worker) > worker
		}
		if err != nil || !used {
			return err
		}
		return s.missing(ctx, q, worker)
	})
	return used, err
}

// missing returns lease.ErrConflict if there is a row of a worker id. A SELECT may be answered by a
// replica or by a member of a cluster that lags, so a change that is committed has to say that
// there is none: an INSERT alone succeeds on such a member, and its COMMIT is what fails. The row
// leaves the worker id within the same transaction. The account cannot delete it, so it stays under
// a number of its own. If the process vanishes in between, nothing waits for the row but repairs of
// a row that is not there.
func (s *Store) missing(ctx context.Context, q *sqldb.Conn, worker int64) error {
	if _, err := q.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	query, args := s.row(slot{worker: worker, Owner: "gone", Until: noteUntil})
	if _, err := q.Exec(ctx, insert+query, args...); err != nil { // Do rolls it back
		if s.db.Failure(err) == sqldb.Duplicate {
			err = lease.ErrConflict
		}
		return err
	}
	if _, err := q.Exec(ctx, "UPDATE WORKER_LEASE SET WORKER_ID = ? "+
		"WHERE NAMESPACE = ? AND WORKER_ID = ?",
		math.MinInt64+rand.Int64N(1<<62), s.namespace, worker); err != nil {
		return err
	}
	_, err := q.Exec(ctx, "COMMIT")
	return err
}

// A note is a row that says that a worker id was given out, in the namespaces that count for
// themselves. It is inserted together with the worker id's row, and stays when that one is deleted
// by hand: nobody can tell then up to when ids were stamped with it, so it is not given out again.
// Its WORKER_ID is below those of worker ids and headers, and its UNTIL_MS before those of rows, so
// no statement about either reads it.
func noteOf(worker int64) int64 { return workertable.Header - 1 - worker }

// noteUntil is the UNTIL_MS of notes.
const noteUntil = -1

// note makes the note of a worker id whose row has none, because a process of an earlier version
// has inserted it. It is called before a row is changed, and sends something the first time only.
func (s *Store) note(ctx context.Context, q *sqldb.Conn, worker int64) error {
	if _, noted := s.noted.Load(worker); noted || s.shared() {
		return nil
	}
	query, args := s.row(slot{worker: noteOf(worker), Until: noteUntil})
	_, err := q.Exec(ctx, insert+query+s.ignore(), args...)
	return err
}

// ignore returns the end of an INSERT that leaves a row alone which is there.
func (s *Store) ignore() string {
	if s.db.Name == "mysql" {
		return " ON DUPLICATE KEY UPDATE WORKER_ID = WORKER_ID"
	}
	return " ON CONFLICT DO NOTHING"
}

// page is how many keys one search for unused worker ids reads.
const page = 128

// unused returns at most n worker ids in the range that have neither row nor note, in ascending
// order. It walks down from the highest, a page at a time, and stops at the first page with a gap.
// So while the range has room at its top, one page is all that is read; gaps further down are found
// when there is none. A range without a gap is read whole, 128 keys at a time.
//
//	first          bottom                      top          last
//	  │ ... not read │ used, used, gap, used, ... │ all used │
//
// It locks nothing, so two processes may find the same worker id. The primary key decides between
// them: one INSERT fails.
func (s *Store) unused(
	ctx context.Context, q *sqldb.Conn, first, last int64, n int,
) (ids []int64, err error) {
	for top := last; ; {
		used, err := s.taken(ctx, q, first, top)
		if err != nil {
			return nil, err
		}
		// A full page decides the worker ids from its lowest key on. A shorter one is the last:
		// below its keys there is nothing down to first.
		bottom := first
		if len(used) == page {
			bottom = used[page-1]
		}
		for id := bottom; id <= top && len(ids) < n; id++ {
			// id goes up and used is in descending order, so its last element is the lowest that is
			// left.
			if k := len(used); k > 0 && used[k-1] == id {
				used = used[:k-1]
			} else if next := s.movedIn(id); next == id {
				ids = append(ids, id)
			} else if k == 0 || next <= used[k-1] {
				id = next - 1
			} else {
				id = used[k-1] - 1
			}
		}
		if len(ids) > 0 || bottom == first {
			return slices.Clip(ids), nil
		}
		top = bottom - 1
	}
}

// taken returns the highest worker ids from first to top that have a row or a note, in descending
// order, at most a page.
func (s *Store) taken(
	ctx context.Context, q *sqldb.Conn, first, top int64,
) (all []int64, err error) {
	for _, look := range []struct {
		order      string
		least, end int64
	}{{"DESC", first, top}, {"ASC", noteOf(top), noteOf(first)}} {
		err := q.Each(ctx, func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			all = append(all, max(id, noteOf(id))) // the note of a note is the worker id
			return err
		}, "SELECT WORKER_ID FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID BETWEEN ? AND ? "+
			"ORDER BY WORKER_ID "+look.order+" LIMIT ?", s.namespace, look.least, look.end, page)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	all = slices.Compact(all)
	return all[:min(page, len(all))], nil
}
