package workernode

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workerstore"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// LeasedOptions configures Leased. A nil pointer and zero fields mean the defaults.
type LeasedOptions struct {
	// Namespace is a universe of ids: claims in one namespace have different worker ids and one bit
	// layout, and IDS OF TWO NAMESPACES MAY BE EQUAL. 1 to 64 characters, case-sensitive. Default
	// "default", which takes new worker ids from WORKER_NODE and so shares one universe with
	// Disposable. Any other namespace counts from First, so that the narrowest layout has room on
	// any database: a new worker id is one of the lowest that were never given out. In a namespace
	// of hundreds of rows low gaps are filled once there is no room above the highest.
	Namespace string

	// First and Last bound the worker ids that claims are made on. Several databases, such as one
	// in each region, may have one Namespace if each has a range of its own.
	// First needs a Namespace other than the default. Default 0, and the highest of the layout.
	First, Last int64

	// Window is how far past the database's clock a new claim reaches. An extended claim reaches
	// at least that far. A process that dies without Release keeps its worker id from others for
	// that long. 1 second to 366 days. Default 20 minutes: a generator extends at half of it, so it
	// survives an outage of the database of 10 minutes at any time, and a process that crashes
	// every 10 seconds uses 120 worker ids.
	Window time.Duration

	// Reach is how far beyond the database's clock a window may end, whatever a generator asks for,
	// so that one whose clock is years ahead does not keep its worker id from all others for years.
	// Beyond it Extend fails with assigner.ErrBeyondReach. After the table went back, no window of
	// a worker id that was forgotten begins before that long has passed. The namespace keeps the
	// greatest of its processes. Three Windows to 732 days. Default 24 hours, or three Windows if
	// they are longer, but no more than 732 days. Less than 24 hours needs that no process has a
	// version that refuses it.
	Reach time.Duration

	// Owner describes the process to the operator who reads its rows; cut to 191 characters.
	// Default: host, process id and start.
	Owner string

	// MaxSkew is how far the local clock may be from the database's when a worker id is claimed, 1
	// second to 366 days. Further away, Assign fails with lease.ErrSkew and logs it. Default
	// 0: the clocks are not compared.
	MaxSkew time.Duration

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// updates of a row. Two processes may then get one worker id. Default: Assign refuses them.
	AcceptLostUpdates bool

	// Logger gets names that were cut to fit their columns, clocks that are refused and, once for
	// each Assign, the wait for a database that is down. Default: none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// Leased returns an Assigner that keeps worker ids in WORKER_LEASE and reuses them. All claims of a
// namespace have one layout. Leased opens no connection, and Assign reports options that are wrong.
//
// Assign claims one of the worker ids of the namespace that have been free for longest, or a new
// one. A worker id is free when it was given back, or when its window has passed by the database's
// clock. If there is neither a free nor a new one, Assign fails with assigner.ErrWorkersExhausted
// and says when the next one is free; so it does if First or Last is beyond the layout. Where the
// database's clock is ahead, the window of a free worker id may end in the local future: if by more
// than a minute, Assign prefers a new worker id, because its owner would have no ids until then.
//
// Many processes may claim concurrently. Where another session has a row locked, Assign waits for
// it for a second and then tries another row. The row with the namespace's layouts, its header, has
// no alternative, and no claim keeps it locked. Assign waits for a database that is down until ctx
// ends, with growing pauses. Other errors, such as a missing table or a wrong password, are
// returned at once.
//
// Why windows are disjoint is in package lease. GENERATION is the fencing token, NONCE the random
// token, and UNTIL_MS the end of the reserved window:
//
//	UPDATE ... SET GENERATION = 8, UNTIL_MS = ... WHERE WORKER_ID = ... AND GENERATION = 7
//
// # What the database must ensure
//
// WORKER_LEASE needs its primary key, and in the namespace "default" WORKER_NODE too: a row is
// inserted once. The first Assign looks for them and fails with the statement that makes them where
// a restore or CREATE TABLE ... AS SELECT has left them out.
//
// The database must not lose a commit that it has acknowledged, or a worker id goes to a second
// owner in the middle of the first one's window. So its log has to reach the disk with every commit
// (MySQL's innodb_flush_log_at_trx_commit = 1, PostgreSQL's synchronous_commit = on). After a
// fail-over to a replica that may lack the last changes, or after a backup was restored, let no
// process claim until the store's Reach has passed, or run "uid workers restored": see
// docs/operations.md. Autocommit and isolation level of the application's sessions do not matter:
// each change is committed before it counts, and read back after that.
//
// An owner that finds the table in an older state than it knows fails with assigner.ErrWentBack,
// after it has given the row an end that is beyond every window of the namespace: Reach from now.
// It does not insert a row again whose worker id the table has as given out. Windows that the same
// Assigner claims from then on begin beyond Reach as well, unless that command has run since.
// Other processes are not protected.
func Leased(db *gorm.DB, options *LeasedOptions) *lease.Assigner {
	var o LeasedOptions
	if options != nil {
		o = *options
	}
	return newLeased(db, o, workertable.This())
}

// newLeased returns the Assigner of a process on m.
func newLeased(db *gorm.DB, o LeasedOptions, m workertable.Machine) *lease.Assigner {
	o.Namespace = cmp.Or(o.Namespace, workertable.DefaultNamespace)
	place := fmt.Sprintf("WORKER_LEASE, namespace %q", o.Namespace)
	d, err := sqlgorm.Open("workernode", db, o.Logger)
	if err == nil {
		place += ", " + d.Place()
		var a *lease.Assigner
		if a, err = newEngine(d, o, m); err == nil {
			return a
		}
	}
	a, err := lease.New(refusal{err, place}, nil)
	if err != nil {
		panic(err) // the defaults are right
	}
	return a
}

// newEngine returns the engine over a namespace's rows.
func newEngine(d *sqldb.DB, o LeasedOptions, m workertable.Machine) (*lease.Assigner, error) {
	if o.First > 0 && o.Namespace == workertable.DefaultNamespace {
		return nil, fmt.Errorf("workernode: First is %d in namespace %q, want 0, or a Namespace "+
			"of your own for it: new worker ids of %q are the keys of WORKER_NODE",
			o.First, o.Namespace, o.Namespace)
	}
	node, err := m.Node("", "")
	if err != nil {
		return nil, err
	}
	node.Warn(o.Logger)
	store, err := workerstore.Open(d, node, workerstore.Options{Namespace: o.Namespace,
		AcceptLostUpdates: o.AcceptLostUpdates, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	owner := fmt.Sprintf("%s pid %d since %s", node.Host, os.Getpid(),
		m.Now().UTC().Format(time.RFC3339))
	return lease.New(store, &lease.Options{First: o.First, Last: o.Last,
		Window: o.Window, Reach: o.Reach, MaxSkew: o.MaxSkew, Logger: o.Logger,
		Owner: cmp.Or(o.Owner, owner)})
}
