package workerstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// move is what a header says of a move: see lease.Move.
type move struct {
	Token string `json:"token"`
	From  string `json:"from,omitempty"`
	Done  bool   `json:"done,omitempty"`
}

// noteWidth is the width of OWNER, in characters.
const noteWidth = 191

// noMove is the token in the note of a header that has a floor of its own and no move.
const noMove = "-"

// note returns what the OWNER of a header's row keeps of a move: its token, whether it is done, the
// namespace's own floor, the used worker ids, and where they are from. Without a move it is empty,
// or has the floor alone, of a header that was made anew.
//
//	4711 - 1764000000000 0-99+200-200 etcd at 10.0.0.1:2379 under /uidring
//	- - 1764000000000
//
// The floor is the namespace's own, because other namespaces may give out windows in the past.
func (h settings) note() (string, error) {
	if h.Move == nil && h.Floor == 0 {
		return "", nil
	}
	if h.Move == nil {
		h.Move = &move{Token: noMove}
	}
	done, ranges := "-", make([]string, len(h.Used))
	if h.Move.Done {
		done = "done"
	}
	for i, r := range h.Used {
		ranges[i] = fmt.Sprintf("%d-%d", r[0], r[1]-1)
	}
	text := strings.TrimRight(strings.Join([]string{h.Move.Token, done,
		strconv.FormatInt(h.Floor, 10), strings.Join(ranges, "+"), h.Move.From}, " "), " ")
	if len(text) > noteWidth {
		return "", fmt.Errorf("%w: the text about the move has %d characters, want at most %d",
			lease.ErrRefused, len(text), noteWidth)
	}
	return text, nil
}

// readNote reads what note has made.
func (h *settings) readNote(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.SplitN(text, " ", 5)
	for len(parts) < 5 {
		parts = append(parts, "")
	}
	bad := fmt.Errorf("%w: the header's OWNER is %q, want nothing, or what a move "+
		"or a header made anew has left there", lease.ErrRefused, text)
	if parts[0] != noMove {
		h.Move = &move{Token: parts[0], Done: parts[1] == "done", From: parts[4]}
	}
	var err error
	if h.Floor, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return bad
	}
	for r := range strings.FieldsFuncSeq(parts[3], func(r rune) bool { return r == '+' }) {
		var first, last int64
		if _, err := fmt.Sscanf(r, "%d-%d", &first, &last); err != nil {
			return bad
		}
		h.Used = append(h.Used, [2]int64{first, last + 1})
	}
	return nil
}

// movedIn returns the lowest worker id from worker on that a move has not left as used.
func (s *Store) movedIn(worker int64) int64 {
	if given := s.given.Load(); given != nil {
		for _, r := range *given {
			if worker >= r[0] && worker < r[1] {
				worker = r[1]
			}
		}
	}
	return worker
}

// Running returns the header, and the rows whose windows end after an instant. The index on
// NAMESPACE and UNTIL_MS finds them. It reads FOR UPDATE, as Get does.
func (s *Store) Running(
	ctx context.Context, after time.Time,
) (head lease.Entry, slots []lease.Entry, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) error {
		var err error
		if _, head, err = s.settings(ctx, q, q.ForUpdate); err != nil {
			return err
		}
		slots, err = s.slots(ctx, q, head.At, "UNTIL_MS > ? AND WORKER_ID >= 0"+q.ForUpdate,
			after.UnixMilli())
		return err
	})
	return head, slots, err
}

// Deleted returns worker ids that have a note and no row. In the namespace that shares WORKER_NODE
// there are none, because all keys count as used: see Endless. It looks at a page of them, so that
// no statement takes long in a large namespace.
//
// Worker ids are given out without gaps, so the database counts the rows of a page first: where
// there is one for each, none was deleted. Else it joins, because MariaDB reads all rows for NOT
// EXISTS, which costs ten times as much.
func (s *Store) Deleted(
	ctx context.Context, first int64,
) (ids []int64, next int64, err error) {
	if s.shared() {
		return nil, 0, nil
	}
	const page = 1 << 16
	err = s.do(ctx, func(q *sqldb.Conn) error {
		var note, last sql.NullInt64 // the first one of the page, and the last
		const one = "SELECT %s(WORKER_ID) FROM WORKER_LEASE " +
			"WHERE NAMESPACE = ? AND WORKER_ID BETWEEN ? AND ?"
		err := q.Row(ctx, fmt.Sprintf(one, "MAX"),
			[]any{s.namespace, noteOf(1 << 53), noteOf(first)}, &note)
		if err != nil || !note.Valid {
			return err
		}
		lowest := noteOf(note.Int64) // the note of a note is the worker id
		next = lowest + page
		err = q.Row(ctx, fmt.Sprintf(one, "MIN"),
			[]any{s.namespace, noteOf(next - 1), note.Int64}, &last)
		if err != nil {
			return err
		}
		var rows int64
		highest := noteOf(last.Int64)
		err = q.Row(ctx, fmt.Sprintf(one, "COUNT"),
			[]any{s.namespace, lowest, highest}, &rows)
		if err != nil || rows == highest-lowest+1 {
			return err
		}
		return q.Each(ctx, func(r *sql.Rows) error {
			var note int64
			err := r.Scan(&note)
			ids = append(ids, noteOf(note))
			return err
		}, `SELECT NOTE.WORKER_ID FROM WORKER_LEASE NOTE LEFT JOIN WORKER_LEASE R
			ON R.NAMESPACE = ? AND R.WORKER_ID = ? - NOTE.WORKER_ID
			WHERE NOTE.NAMESPACE = ? AND NOTE.WORKER_ID BETWEEN ? AND ? AND R.WORKER_ID IS NULL`,
			s.namespace, noteOf(0), s.namespace, last.Int64, note.Int64)
	})
	return ids, next, err
}

// Endless returns the highest key of WORKER_NODE, -1 in a namespace that does not share it. With
// stop set it raises the counter above every layout first, for good: Disposable, the original and
// versions that know nothing of moves then get keys that are no worker ids, and fail.
//
// The table is locked for as long as that takes. So every INSERT that got a lower key is committed
// or rolled back before the counter is raised, and the highest of them is read. A key of its own
// below tells of keys whose rows were deleted. Without stop it changes nothing, and is refused
// where the account lacks what stop needs.
func (s *Store) Endless(ctx context.Context, stop bool) (highest int64, err error) {
	if !s.shared() {
		return -1, nil
	}
	err = s.do(ctx, func(q *sqldb.Conn) (err error) {
		if err = alone(ctx, q); err != nil {
			return err
		}
		if !stop {
			highest, err = belowRaised(ctx, q)
			return errors.Join(err, mayStop(ctx, q))
		}
		lock, unlock := "BEGIN", "COMMIT"
		if q.Name == "mysql" {
			lock, unlock = "LOCK TABLES WORKER_NODE WRITE", "UNLOCK TABLES" // which commits
		}
		if _, err = q.Exec(ctx, lock); err != nil {
			return err
		}
		err = s.raise(ctx, q)
		if err == nil {
			highest, err = belowRaised(ctx, q)
		}
		if err != nil {
			q.Discard() // with its locks
			return err
		}
		_, err = q.Exec(ctx, unlock)
		return err
	})
	return highest, err
}

// lockTimeout is MySQL's code for a lock that was not had in time (ER_LOCK_WAIT_TIMEOUT).
const lockTimeout = 1205

// mayStop returns an error if the account must not do what Endless does to stop. It waits for no
// other transaction, and blocks none.
func mayStop(ctx context.Context, q *sqldb.Conn) error {
	switch q.Name {
	case "mysql": // which looks at the rights before it waits
		for _, statement := range []string{
			"SET @uidring_wait = @@SESSION.lock_wait_timeout, SESSION lock_wait_timeout = 1",
			"LOCK TABLES WORKER_NODE READ", "UNLOCK TABLES",
			"SET SESSION lock_wait_timeout = @uidring_wait",
		} {
			if _, err := q.Exec(ctx, statement); err != nil && sqldb.MySQLCode(err) != lockTimeout {
				q.Discard() // with its setting
				return err
			}
		}
	case "postgres":
		var may bool
		err := q.Row(ctx, "SELECT HAS_TABLE_PRIVILEGE('WORKER_NODE', 'UPDATE') AND "+
			"HAS_SEQUENCE_PRIVILEGE(PG_GET_SERIAL_SEQUENCE('WORKER_NODE', 'id'), 'UPDATE')",
			nil, &may)
		if err == nil && !may {
			err = fmt.Errorf("%w: the account needs UPDATE on WORKER_NODE and on its sequence, to "+
				"stop it for good", lease.ErrRefused)
		}
		return err
	}
	return nil
}

// raise raises the counter of WORKER_NODE, which is locked, if no earlier call has.
func (s *Store) raise(ctx context.Context, q *sqldb.Conn) error {
	if q.Name == "postgres" {
		_, err := q.Exec(ctx, "LOCK TABLE WORKER_NODE IN SHARE ROW EXCLUSIVE MODE")
		if err != nil {
			return err
		}
	}
	top, err := workertable.Highest(ctx, q)
	if err != nil || top >= workertable.Raised {
		return err
	}
	if _, err := s.node.Insert(ctx, q); err != nil {
		return err
	}
	_, err = q.Exec(ctx, fmt.Sprintf("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, "+
		"LAUNCH_DATE, MODIFIED, CREATED) VALUES (%d, 'moved', '', 2, {today}, {now}, {now})",
		workertable.Raised))
	if err == nil && q.Name == "postgres" {
		// A row with a key of its own does not move the sequence.
		_, err = q.Exec(ctx, fmt.Sprintf(
			"SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('WORKER_NODE', 'id'), %d)", workertable.Raised))
	}
	return err
}

// belowRaised returns the highest key of WORKER_NODE below the one that Endless inserts.
func belowRaised(ctx context.Context, q *sqldb.Conn) (int64, error) {
	var highest sql.NullInt64
	err := q.Row(ctx, "SELECT MAX(ID) FROM WORKER_NODE WHERE ID < ?", []any{workertable.Raised},
		&highest)
	return highest.Int64, err
}

// alone returns an error if other servers of a cluster take INSERTs at the same time: a lock of one
// does not wait for the transactions of another.
func alone(ctx context.Context, q *sqldb.Conn) error {
	if q.Name != "mysql" {
		return nil
	}
	for _, c := range []struct{ query, one string }{
		{"SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'", "01"},
		{"SHOW VARIABLES LIKE 'group_replication_single_primary_mode'", "ON"},
	} {
		var name, value string
		err := q.Row(ctx, c.query, nil, &name, &value)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case !strings.Contains(c.one, value):
			return fmt.Errorf("%w: %s is %s: other servers of the cluster may be giving out "+
				"keys of WORKER_NODE at the same time; leave one that takes writes",
				lease.ErrRefused, name, value)
		}
	}
	return nil
}
