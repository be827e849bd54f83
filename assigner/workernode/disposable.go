package workernode

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// DisposableOptions configures Disposable. nil means the defaults.
type DisposableOptions struct {
	// Host and Port describe the process in its row. By default they come from the environment:
	// JPAAS_HOST with JPAAS_HTTP_PORT or JPAAS_HOST_PORT_8080, Kubernetes' POD_IP or POD_NAME, a
	// container's HOSTNAME, the machine's address, and the time with a random number for the port.
	// What is longer than 64 characters is cut, ends in a tilde and is logged.
	Host, Port string

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two changes of a
	// row at the same time. Worker ids may then be duplicates. Default: Assign refuses them.
	AcceptLostUpdates bool

	// Logger is told about names that were cut and, once for each Assign, about a database that is
	// waited for. Default: none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// Disposable returns an Assigner that makes a row of WORKER_NODE for every claim and takes the
// row's key for the worker id. No worker id is assigned twice, so the window of a claim is all of
// time, Extend and Release have nothing to do, and the claim never touches the database again,
// unless it is asked for the time.
//
// Where WORKER_LEASE exists, a worker id that is leased in the namespace "default" is passed over.
// The other namespaces count for themselves, so ids of generators in them may be equal to those of
// a Disposable.
//
// Each Assign uses a worker id up, and the layout's highest bounds them: 4,194,303 by default,
// 1,349 starts a day for the 8.5 years that the default layout lasts. When they are used up, Assign
// fails with assigner.ErrWorkersExhausted; Leased, which reuses them, is the way on.
//
// Assign waits for a database that is down until ctx ends, with growing pauses. A refusal, such as
// a missing table or a wrong password, is an error at once. If the connection breaks before the
// database's answer arrives, Assign makes another row: the worst case is one worker id for each
// such attempt that stays unused.
//
// Uniqueness rests on the database not forgetting a row whose INSERT it has answered, and so its
// key. See Leased for what that asks of the server.
//
// Many processes may assign at once; each INSERT gets a key of its own, so none of them waits for
// another one or tries again. An Assign sends two statements, the INSERT and the check of
// WORKER_LEASE. The first one looks for WORKER_NODE's primary key before that, and fails where a
// restore or CREATE TABLE ... AS SELECT has left it out.
func Disposable(db *gorm.DB, options *DisposableOptions) assigner.Assigner {
	var o DisposableOptions
	if options != nil {
		o = *options
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &disposable{options: o, machine: workertable.This(), place: workertable.NodeTable,
		keys: &workertable.Keys{Tables: []string{workertable.NodeTable}}}
	if a.db, a.err = sqlgorm.Open("workernode", db, o.Logger); a.err != nil {
		return a
	}
	a.place += ", " + a.db.Place()
	if !o.AcceptLostUpdates {
		a.db = a.db.Strict()
	}
	return a
}

// disposable is the Assigner that Disposable returns. It is immutable, and every Assign stands for
// itself: it remembers nothing but that it has seen the table's key, so it needs no Close.
type disposable struct {
	db      *sqldb.DB
	place   string
	err     error // of the database
	options DisposableOptions
	machine workertable.Machine
	keys    *workertable.Keys
}

// String names the table and the database, for Stats.Authority and messages.
func (a *disposable) String() string { return a.place }

// Now returns the database's time. It implements assigner.Clock.
func (a *disposable) Now(ctx context.Context) (time.Time, error) {
	if a.err != nil {
		return time.Time{}, a.err
	}
	return workertable.Time(ctx, a.db)
}

// Assign makes a row. See Disposable.
//
// Whether the options are right is found out before the first statement. The key is compared with
// maxWorker last, because only the INSERT tells it: a layout that is too narrow uses up one key for
// each Assign.
func (a *disposable) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if a.err != nil {
		return nil, a.err
	}
	n, err := a.machine.Node(a.options.Host, a.options.Port)
	if err != nil {
		return nil, err
	}
	n.Warn(a.options.Logger)
	if maxWorker < 0 {
		// A caller's mistake, and no key is used up for it.
		return nil, fmt.Errorf("%w: the highest worker id is %d, want 0 or above",
			assigner.ErrWorkersExhausted, maxWorker)
	}
	var id int64
	err = a.db.Retry(ctx, "inserting into WORKER_NODE", func(ctx context.Context) error {
		if err := a.keys.Require(ctx, a.db); err != nil {
			return err
		}
		return a.db.Do(ctx, func(q *sqldb.Conn) (err error) {
			id, err = a.insert(ctx, q, n)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if id >= workertable.Raised {
		return nil, fmt.Errorf("%w: WORKER_NODE gives out none any more; the row of WORKER_LEASE "+
			"with the namespace %q and the worker id %d says where they are", assigner.ErrMoved,
			workertable.DefaultNamespace, workertable.Header)
	}
	// Never cut to the layout's bits: the cut id would be another process's.
	if id > maxWorker {
		return nil, fmt.Errorf("%w: the new key of WORKER_NODE is %d, the layout's highest "+
			"worker id is %d; use workernode.Leased, which reuses worker ids",
			assigner.ErrWorkersExhausted, id, maxWorker)
	}
	return disposableClaim{worker: id, db: a.db}, nil
}

// insert makes a row and returns its key. A key that is leased costs another row. The loop ends,
// because a lease has a row of WORKER_LEASE, and the keys rise.
//
// A key is reused where rows were deleted: InnoDB before MySQL 8.0 and MariaDB 10.2.4 counts on
// from the highest row that is left when it restarts. The rows of Leased are still there. The row
// of WORKER_NODE is not committed yet where the session does not commit by itself. It is by the
// time Do returns, and until then no other session gets its key.
func (a *disposable) insert(
	ctx context.Context, q *sqldb.Conn, n workertable.Node,
) (id int64, err error) {
	for {
		if id, err = n.Insert(ctx, q); err != nil {
			return id, err
		}
		leased, err := isLeased(ctx, q, id)
		if !leased || err != nil {
			return id, err
		}
		// That is safe, and a sign that the counter of WORKER_NODE is behind the leases.
		a.options.Logger.Warn("new worker id has a lease already and is left alone; were "+
			"rows of WORKER_NODE deleted, or was it restored from a backup?", "worker", id)
	}
}

// isLeased reports whether the namespace that shares WORKER_NODE has a row of a worker id. Where
// WORKER_LEASE does not exist, it has none: Disposable alone needs no second table. The SELECT
// locks nothing. A Leased that takes the same worker id at this moment has got it from WORKER_NODE,
// as a key that no other start gets.
func isLeased(ctx context.Context, q *sqldb.Conn, worker int64) (bool, error) {
	var n int64
	err := q.Row(ctx, "SELECT COUNT(*) FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?",
		[]any{workertable.DefaultNamespace, worker}, &n)
	if err != nil && q.Failure(err) == sqldb.Missing {
		return false, nil
	}
	return n > 0, err
}

// disposableClaim is a worker id for all of time. It has no state, so all its methods are safe for
// concurrent use, and Extend and Release have nothing to do: no other process ever gets the key.
type disposableClaim struct {
	worker int64
	db     *sqldb.DB
}

func (c disposableClaim) Worker() int64                   { return c.worker }
func (c disposableClaim) Window() (from, until time.Time) { return time.Time{}, time.Time{} }
func (c disposableClaim) Extend(context.Context, time.Time) (time.Time, error) {
	return time.Time{}, nil
}
func (c disposableClaim) Release(context.Context, time.Time) error { return nil }

// Now returns the database's time.
func (c disposableClaim) Now(ctx context.Context) (time.Time, error) {
	return workertable.Time(ctx, c.db)
}
