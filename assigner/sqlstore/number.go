package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
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
	err = s.do(ctx, func(q *sqldb.Conn) error {
		if !s.shared() {
			ids, err = s.unused(ctx, q, first, last, n)
			return err
		}
		// A look that uses nothing up: a fleet that waits for free worker ids must not fill the
		// table. The next key may skip some all the same.
		ids = nil
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

// Used reports whether a worker id is a key of WORKER_NODE or below one, in the namespace whose
// worker ids are: a database generates no key below the highest. In the others it reports whether a
// move has left it as used.
func (s *Store) Used(ctx context.Context, worker int64) (used bool, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		if s.shared() {
			highest, err := workertable.Highest(ctx, q)
			if used = worker <= highest; !used || err != nil {
				return err
			}
		} else if used = s.movedIn(worker) > worker; !used {
			return nil
		}
		return s.missing(ctx, q, worker)
	})
	return used, err
}

// missing returns lease.ErrConflict if there is a row of a worker id. A SELECT may be answered by a
// replica that lags, so it asks the primary by an INSERT that is rolled back. If the process
// vanishes in between, nothing waits for the row but repairs of a row that is not there.
func (s *Store) missing(ctx context.Context, q *sqldb.Conn, worker int64) error {
	if _, err := q.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	insert := s.insert(slot{worker: worker})
	if _, err := q.Exec(ctx, insert.query, insert.args...); err != nil { // Do rolls it back
		if s.db.Failure(err) == sqldb.Duplicate {
			err = lease.ErrConflict
		}
		return err
	}
	_, err := q.Exec(ctx, "ROLLBACK")
	return err
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
// them: one INSERT fails.
func (s *Store) unused(
	ctx context.Context, q *sqldb.Conn, first, last int64, n int,
) (ids []int64, err error) {
	const page = 128
	for top := last; ; {
		var used []int64 // the highest up to top, in descending order
		err := q.Each(ctx, func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			used = append(used, id)
			return err
		}, `SELECT WORKER_ID FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID BETWEEN ? AND ?
			ORDER BY WORKER_ID DESC LIMIT ?`, s.namespace, first, top, page)
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
