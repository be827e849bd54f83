package workerstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// slots returns the entries of the namespace's rows that meet a condition, at the database's time.
// A row that cannot be read is an entry that says so.
func (s *Store) slots(
	ctx context.Context, q *sqldb.Conn, at time.Time, where string, args ...any,
) (slots []lease.Entry, err error) {
	bad := workertable.Scan{Table: workertable.LeaseTable, Namespace: s.namespace}
	err = q.Each(ctx, func(r *sql.Rows) error {
		var f slot
		ok, err := bad.Keep(r, r.Scan(&f.worker, &f.Token, &f.Nonce, &f.Until, &f.Owner, &f.Layout))
		if ok {
			slots = append(slots, f.entry(at.UnixMilli()))
		}
		return err
	}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER, LAYOUT FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND `+where, append([]any{s.namespace}, args...)...)
	for _, r := range bad.Rows {
		slots = append(slots, unreadable(r.Worker, r.String()))
	}
	return slots, err
}
