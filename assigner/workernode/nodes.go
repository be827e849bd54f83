package workernode

import (
	"context"
	"database/sql"
	"time"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"gorm.io/gorm"
)

// Node is a row of WORKER_NODE: one start of a process, and the worker id that it got. Restore
// inserts one as well, whose Host is "restored".
type Node struct {
	// ID is the worker id, the row's key.
	ID int64

	// Host and Port describe the process, see DisposableOptions.
	Host, Port string

	// Type is what the process ran on.
	Type NodeType

	// Created and Modified are UTC, to the second, by the database's clock. Nothing changes a row
	// after its INSERT, so they are equal unless an operator has edited it.
	Created, Modified time.Time
}

// Nodes returns the rows of WORKER_NODE, newest first, at most limit. Together with an
// *UnreadableError it returns the rows that can be read. It waits for a database that is down until
// ctx ends. An error of the database comes without rows.
//
// It is one SELECT by primary key that locks nothing. MySQL and PostgreSQL refuse a negative limit,
// SQLite reads it as none.
func Nodes(ctx context.Context, db *gorm.DB, limit int) ([]Node, error) {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	bad := scanErrors{table: nodeTable}
	err = do(ctx, d, "listing WORKER_NODE", func(ctx context.Context, q *sqldb.Conn) error {
		nodes, bad.rows = nil, nil
		return q.Each(ctx, func(r *sql.Rows) error {
			var n Node
			var created, modified sql.NullInt64
			ok, err := bad.keep(r, r.Scan(&n.ID, &n.Host, &n.Port, &n.Type, &created, &modified))
			if ok {
				n.Created, n.Modified = seconds(created), seconds(modified)
				nodes = append(nodes, n)
			}
			return err
		}, `SELECT ID, HOST_NAME, PORT, TYPE, {seconds CREATED}, {seconds MODIFIED}
			FROM WORKER_NODE ORDER BY ID DESC LIMIT ?`, limit)
	})
	if err != nil {
		return nil, err
	}
	return nodes, bad.err()
}

// Usage says how WORKER_NODE's worker ids are being used up.
type Usage struct {
	// Highest is the highest worker id assigned, 0 for none. What is left is the layout's highest
	// worker id less this one.
	Highest int64

	// Rows is less than Highest where keys were skipped or rows deleted.
	Rows int64

	// Recent counts the worker ids that were used up from Since to Now, skipped keys included.
	Recent int64

	// Since and Now are UTC, by the database's clock. Since is Now less the recent of Used.
	Since, Now time.Time
}

// Used returns how WORKER_NODE's worker ids are being used up, all in all and over the last stretch
// of time recent. It waits for a database that is down until ctx ends.
func Used(ctx context.Context, db *gorm.DB, recent time.Duration) (Usage, error) {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	err = do(ctx, d, "reading WORKER_NODE", func(ctx context.Context, q *sqldb.Conn) error {
		now, err := databaseTime(ctx, q)
		if err != nil {
			return err
		}
		u.Now = time.UnixMilli(now).UTC()
		// By the database's clock, as CREATED is.
		u.Since = u.Now.Add(-recent)
		var highest, before sql.NullInt64
		// COUNT reads the whole index on InnoDB. Used is for the operator's command and not for
		// claims.
		if err := q.Row(ctx, "SELECT MAX(ID), COUNT(*) FROM WORKER_NODE",
			nil, &highest, &u.Rows); err != nil {
			return err
		}
		// Keys grow with time, so what is below the newest row that is older is older too; skipped
		// keys are used up as well.
		err = q.Row(ctx, "SELECT MAX(ID) FROM WORKER_NODE WHERE {seconds CREATED} < ?",
			[]any{u.Since.Unix()}, &before)
		u.Highest, u.Recent = highest.Int64, highest.Int64-before.Int64
		return err
	})
	return u, err
}

// MySQL's codes for a time that does not exist (ER_TRUNCATED_WRONG_VALUE), and for text that the
// column's character set does not have (ER_TRUNCATED_WRONG_VALUE_FOR_FIELD). Both come only in
// strict mode, which is the default since MySQL 5.7 and MariaDB 10.2.4; without it the server
// stores another value, which does no harm to a column for people.
const wrongTime, wrongText = 1292, 1366

// newWorker inserts a row into WORKER_NODE and returns its key, a worker id that no process had
// before. The key is the database's: AUTO_INCREMENT, IDENTITY or AUTOINCREMENT. Sessions that
// insert at the same time get different ones.
//
// The key comes with the INSERT's answer: on PostgreSQL from RETURNING, elsewhere from the
// statement's own result. Asking in a second statement for the highest key would give that of
// another session. The row counts when the caller's Do is committed; until then nothing may be
// built on it.
func newWorker(ctx context.Context, q *sqldb.Conn, n node) (int64, error) {
	// now is an SQL expression, so it is part of the text and not an argument.
	insert := func(now string) (int64, error) {
		return q.Insert(ctx, "ID", "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, "+
			"MODIFIED, CREATED) VALUES (?, ?, ?, {today}, "+now+", "+now+")",
			n.host, n.port, int(n.kind))
	}
	id, err := insert("{now}")
	// The original's table has TIMESTAMP columns, which take the session's local time. UTC is
	// stored there just as well, but for the hour that a zone leaves out when it sets its clocks
	// forward.
	if err != nil && sqldb.MySQLCode(err) == wrongTime {
		id, err = insert("NOW()")
	}
	// The original's table has the server's character set, which may be latin1.
	// Only this INSERT's copy of n is changed, so the memory of the process keeps the full name.
	if err != nil && sqldb.MySQLCode(err) == wrongText {
		n.host, n.port = ascii(n.host), ascii(n.port)
		id, err = insert("{now}")
	}
	if err != nil {
		return 0, err
	}
	// A driver that does not return the key returns 0, to every process.
	if id <= 0 {
		return 0, final("workernode: the new row of WORKER_NODE has key %d, want above 0: "+
			"is ID generated by the database (AUTO_INCREMENT)?", id)
	}
	return id, nil
}

// has reports whether the row of a worker id in WORKER_NODE is the one that newWorker inserted for
// n. The port's time and random number tell it from the rows of other processes. It is a SELECT by
// key that locks nothing: the row, if it is there, never changes. A row whose name was replaced for
// its character set is not found, which costs its key.
func (n node) has(ctx context.Context, q *sqldb.Conn, worker int64) (bool, error) {
	var rows int64
	err := q.Row(ctx, "SELECT COUNT(*) FROM WORKER_NODE WHERE ID = ? AND HOST_NAME = ? "+
		"AND PORT = ?",
		[]any{worker, n.host, n.port}, &rows)
	return rows > 0, err
}

// highestNode returns the highest worker id in WORKER_NODE, 0 for none. It reads the end of the
// primary key and locks nothing. Keys that were handed out and not committed are not in it.
func highestNode(ctx context.Context, q *sqldb.Conn) (int64, error) {
	var highest sql.NullInt64
	err := q.Row(ctx, "SELECT MAX(ID) FROM WORKER_NODE", nil, &highest)
	return highest.Int64, err
}

// seconds returns the instant of a Unix second, UTC, and the zero time for NULL.
func seconds(s sql.NullInt64) time.Time {
	if !s.Valid {
		return time.Time{}
	}
	return time.Unix(s.Int64, 0).UTC()
}
