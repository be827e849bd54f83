package workerstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/storekind"
	"github.com/uidring/uidring/internal/workertable"
)

// layoutWidth is the width of LAYOUT, in characters.
const layoutWidth = 191

// firstPatience bounds the first wait for a row that another session has locked. It doubles with
// each wait, so that a server which is slow is not mistaken for a lock for long. A second is far
// above what an UPDATE of one row takes, and short for a start that has other rows to try.
const firstPatience = time.Second

// Options configures a Store.
type Options struct {
	Namespace         string // "": the default's
	AcceptLostUpdates bool
	Logger            *slog.Logger // nil: none
}

// Store is a namespace of WORKER_LEASE. It is safe for concurrent use, keeps no connection between
// two calls, and holds nothing that has to be closed.
type Store struct {
	db        *sqldb.DB
	namespace string
	node      workertable.Node // this process's row in WORKER_NODE
	logger    *slog.Logger
	keys      *workertable.Keys // of the tables
	patience  atomic.Int64      // for a row that another session has locked, in nanoseconds
	noted     sync.Map          // the worker ids whose notes this process knows of

	// The worker ids that a move has left as used, as the header was last read. They change only
	// while nothing is claimed. nil: not read yet.
	given atomic.Pointer[[][2]int64]
}

var (
	_ lease.Index                  = (*Store)(nil)
	_ lease.Numberer               = (*Store)(nil)
	_ storekind.Mover[lease.Entry] = (*Store)(nil)
	_ storekind.Sessioner          = (*Store)(nil)
	_ assigner.Clock               = (*Store)(nil)
)

// Open returns the Store of a namespace, for a process that WORKER_NODE shows as node. It does not
// connect.
func Open(d *sqldb.DB, node workertable.Node, o Options) (*Store, error) {
	namespace := cmp.Or(o.Namespace, workertable.DefaultNamespace)
	const most = workertable.ColumnWidth
	if workertable.Cut(namespace, most) != namespace || // it replaces control characters as well
		strings.TrimSpace(namespace) != namespace {
		return nil, fmt.Errorf("sqlstore: Namespace is %q, want 1 to %d characters, no control "+
			"characters and no space at the ends", namespace, most)
	}
	if !o.AcceptLostUpdates {
		d = d.Strict() // refuses databases that lose updates
	}
	s := &Store{db: d, namespace: namespace, node: node, logger: o.Logger,
		keys: &workertable.Keys{Tables: []string{workertable.LeaseTable}}}
	if s.shared() {
		s.keys.Tables = append(s.keys.Tables, workertable.NodeTable)
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.patience.Store(int64(firstPatience))
	return s, nil
}

// String says where the rows are.
func (s *Store) String() string {
	return fmt.Sprintf("WORKER_LEASE, namespace %q, %s", s.namespace, s.db.Place())
}

// Session returns a ctx under which all calls use one connection. It implements
// storekind.Sessioner.
func (s *Store) Session(ctx context.Context) (calls context.Context, end func()) {
	return s.db.Session(ctx)
}

// Now returns the database's time. It implements assigner.Clock.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.do(ctx, func(q *sqldb.Conn) error {
		ms, err := workertable.Now(ctx, q)
		now = time.UnixMilli(ms)
		return err
	})
	return now, err
}

// shared reports whether new worker ids come from WORKER_NODE, which the namespace shares with
// workernode.Disposable. All other namespaces count for themselves.
func (s *Store) shared() bool { return s.namespace == workertable.DefaultNamespace }

// do calls f on a connection. If it returns nil, all that f has changed is committed.
func (s *Store) do(ctx context.Context, f func(*sqldb.Conn) error) error {
	return s.judge(s.db.Do(ctx, f))
}

// judge returns ErrRefused for an error of the database that another try would not change.
func (s *Store) judge(err error) error {
	switch {
	case err == nil:
		return nil
	case s.db.RolledBack(err):
		return fmt.Errorf("%w: %w", storekind.ErrRolledBack, err)
	}
	for _, known := range []error{assigner.ErrWorkersExhausted, lease.ErrConflict, lease.ErrBusy,
		lease.ErrRefused} {
		if errors.Is(err, known) {
			return err
		}
	}
	err, again := s.db.Judge(err)
	if again {
		return err
	}
	return fmt.Errorf("%w: %w", lease.ErrRefused, err)
}

// patient makes a change, which may wait for a row that another session has locked, for no longer
// than patience. The statement is then given up on this side. Whether the server gives it up too is
// unknown.
func (s *Store) patient(ctx context.Context, change func(context.Context) error) error {
	patience := s.patience.Load()
	short, cancel := context.WithTimeout(ctx, time.Duration(patience))
	defer cancel()
	err := change(short)
	switch {
	case err == nil:
		s.patience.Store(int64(firstPatience))
	case short.Err() != nil && ctx.Err() == nil: // it was the row that took too long
		s.patience.CompareAndSwap(patience, 2*patience)
		err = fmt.Errorf("%w: %w", lease.ErrBusy, err)
	}
	return err
}
