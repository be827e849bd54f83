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

	// Created is UTC, to the second, by the database's clock; zero: unknown.
	Created time.Time
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
			var created sql.NullInt64
			ok, err := bad.Keep(r, r.Scan(&n.ID, &n.Host, &n.Port, &n.Type, &created))
			if ok {
				if created.Valid {
					n.Created = time.Unix(created.Int64, 0).UTC()
				}
				nodes = append(nodes, n)
			}
			return err
		}, `SELECT ID, HOST_NAME, PORT, TYPE, {seconds CREATED}
			FROM WORKER_NODE ORDER BY ID DESC LIMIT ?`, limit)
	})
	if err != nil {
		return nil, err
	}
	return nodes, unread(bad.Rows)
}

// Used returns the highest worker id that WORKER_NODE has assigned, 0 for none, and how many were
// used up over the last stretch of time recent by the database's clock, skipped keys included. What
// is left is the layout's highest worker id less that one. It waits for a database that is down
// until ctx ends.
func Used(ctx context.Context, db *gorm.DB, recent time.Duration) (most, since int64, err error) {
	err = do(ctx, db, "reading WORKER_NODE", func(ctx context.Context, q *sqldb.Conn) error {
		now, err := workertable.Now(ctx, q)
		if err != nil {
			return err
		}
		if most, err = workertable.Highest(ctx, q); err != nil {
			return err
		}
		// Keys grow with time, so what is below the newest row that is older is older too; skipped
		// keys are used up as well. By the database's clock, as CREATED is.
		var before sql.NullInt64
		err = q.Row(ctx, "SELECT MAX(ID) FROM WORKER_NODE WHERE {seconds CREATED} < ?",
			[]any{time.UnixMilli(now).Add(-recent).Unix()}, &before)
		since = most - before.Int64
		return err
	})
	return most, since, err
}

// millis returns the instant of a Unix millisecond, UTC, and the zero time for 0, which stands for
// the beginning of time: a worker id that nobody had before has a window without a start.
func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
