package workerlist

import (
	"context"
	"database/sql"
	"time"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
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
	Type workertable.NodeType

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
	var nodes []Node
	bad := workertable.Scan{Table: workertable.NodeTable}
	err := do(ctx, db, "listing WORKER_NODE", func(ctx context.Context, q *sqldb.Conn) error {
		nodes, bad.Rows = nil, nil
		return q.Each(ctx, func(r *sql.Rows) error {
			var n Node
			var created, modified sql.NullInt64
			ok, err := bad.Keep(r, r.Scan(&n.ID, &n.Host, &n.Port, &n.Type, &created, &modified))
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
	return nodes, unread(bad.Rows)
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
	var u Usage
	err := do(ctx, db, "reading WORKER_NODE", func(ctx context.Context, q *sqldb.Conn) error {
		now, err := workertable.Now(ctx, q)
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

// seconds returns the instant of a Unix second, UTC, and the zero time for NULL.
func seconds(s sql.NullInt64) time.Time {
	if !s.Valid {
		return time.Time{}
	}
	return time.Unix(s.Int64, 0).UTC()
}

// millis returns the instant of a Unix millisecond, UTC, and the zero time for 0, which stands for
// the beginning of time: a worker id that nobody had before has a window without a start.
func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
