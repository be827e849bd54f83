package workerstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// rows returns the entries of the namespace's rows that meet a condition, at the database's time,
// and apart from them those that cannot be read.
func (s *Store) rows(
	ctx context.Context, q *sqldb.Conn, at time.Time, where string, args ...any,
) (slots []lease.Entry, bad []workertable.Unreadable, err error) {
	scan := workertable.Scan{Table: workertable.LeaseTable, Namespace: s.namespace}
	err = q.Each(ctx, func(r *sql.Rows) error {
		var f slot
		ok, err := scan.Keep(r,
			r.Scan(&f.worker, &f.Token, &f.Nonce, &f.Until, &f.Owner, &f.Layout))
		if ok {
			slots = append(slots, f.entry(at))
		}
		return err
	}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER, LAYOUT FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND `+where, append([]any{s.namespace}, args...)...)
	return slots, scan.Rows, err
}

// slots is rows with an entry for each row that cannot be read, which says so.
func (s *Store) slots(
	ctx context.Context, q *sqldb.Conn, at time.Time, where string, args ...any,
) ([]lease.Entry, error) {
	slots, bad, err := s.rows(ctx, q, at, where, args...)
	for _, r := range bad {
		slots = append(slots, lease.Entry{Name: slotPrefix + r.Worker, Value: []byte(r.String()),
			Version: "unreadable"})
	}
	return slots, err
}
