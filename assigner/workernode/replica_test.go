package workernode_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// split is a pool that reads from a replica and writes to the primary, as a proxy that splits statements by kind does.
type split struct {
	primary, replica atomic.Pointer[sql.DB]
	updates          atomic.Int64
}

// newSplit returns a pool that reads from db as well, for the time being, and what opens it.
func newSplit(t *testing.T, db *gorm.DB) (*split, *gorm.DB) {
	t.Helper()
	s := &split{}
	s.promote(pool(t, db))
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: s, SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

// promote makes p what is written to and read from.
func (s *split) promote(p *sql.DB) {
	s.primary.Store(p)
	s.replica.Store(p)
}

func (s *split) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return s.primary.Load().PrepareContext(ctx, query)
}

func (s *split) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.replica.Load().QueryContext(ctx, query, args...)
}

func (s *split) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.replica.Load().QueryRowContext(ctx, query, args...)
}

func (s *split) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if strings.HasPrefix(query, "UPDATE") {
		s.updates.Add(1)
	}
	return s.primary.Load().ExecContext(ctx, query, args...)
}

// TestLaggingReplica: what a replica still shows as free and somebody has on the primary is not assigned again, and is not asked for
// without a pause. When the replica has caught up, Assign succeeds.
func TestLaggingReplica(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	primary := connect(t, srv.DSN(name))
	const slots = 3
	for _, c := range assign(t, workernode.Leased(primary, nil), slots) {
		release(t, c, time.Time{})
	}
	lagging := srv.CreateDB(t)
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, lagging, "CREATE TABLE "+table+" AS SELECT * FROM "+name+"."+table)
	}
	held := assign(t, workernode.Leased(primary, nil), slots)

	s, db := newSplit(t, primary)
	present := s.replica.Swap(pool(t, connect(t, srv.DSN(lagging))))
	a := workernode.Leased(db, nil)
	c, err := a.Assign(within(t, 500*time.Millisecond), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Assign on rows that are %d claims behind = %v, %v, want the ctx's error", len(held), c, err)
	}
	// Pauses from 10 ms up, doubling, leave room for seven looks at most.
	if n := s.updates.Load(); n < slots || n > 7*slots {
		t.Errorf("%d updates in 500ms, want %d to %d", n, slots, 7*slots)
	}
	s.replica.Store(present)
	if c, err = a.Assign(t.Context(), maxWorker); err != nil || c.Worker() != slots+1 {
		t.Errorf("Assign on rows of the present = %v, %v, want worker %d", c, err, slots+1)
	}
}

// TestLaggingExtend: an extension that reads its row from a replica that lags does not take the table for one that went back: it fails
// for now, changes nothing, and goes on when the replica has caught up.
func TestLaggingExtend(t *testing.T) {
	t.Parallel()
	for _, row := range []bool{true, false} {
		t.Run(fmt.Sprint("row ", row), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			primary := connect(t, srv.DSN(name))
			if row {
				release(t, assign(t, workernode.Leased(primary, nil), 1)[0], time.Time{})
			}
			lagging := srv.CreateDB(t)
			for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
				srv.Query(t, lagging, "CREATE TABLE "+table+" AS SELECT * FROM "+name+"."+table)
			}
			s, db := newSplit(t, primary)
			c := assign(t, workernode.Leased(db, nil), 1)[0]
			_, until := c.Window()
			was := srv.Query(t, name, "SELECT * FROM WORKER_LEASE")

			present := s.replica.Swap(pool(t, connect(t, srv.DSN(lagging))))
			if end, err := c.Extend(t.Context(), until.Add(time.Hour)); err == nil || errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend with a row of the past = %v, %v, want an error that passes", end, err)
			}
			if is := srv.Query(t, name, "SELECT * FROM WORKER_LEASE"); is != was {
				t.Errorf("the rows were\n%s\nand are\n%s", was, is)
			}
			s.replica.Store(present)
			if end, err := c.Extend(t.Context(), until.Add(time.Hour)); err != nil || end.Before(until.Add(time.Hour)) {
				t.Errorf("Extend with a row of the present = %v, %v", end, err)
			}
		})
	}
}

// TestPromotedReplica: every statement goes to a replica from one moment on, which is the primary then and lacks the last changes.
func TestPromotedReplica(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	primary := connect(t, srv.DSN(name))
	s, db := newSplit(t, primary)
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	replica := srv.CreateDB(t)
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		srv.Query(t, replica, "CREATE TABLE "+table+" LIKE "+name+"."+table+"; INSERT INTO "+table+" SELECT * FROM "+name+"."+table)
	}
	_, until := c.Window()
	until, err := c.Extend(t.Context(), until.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s.promote(pool(t, connect(t, srv.DSN(replica))))
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, workernode.ErrTableWentBack) {
		t.Errorf("Extend on the promoted replica = %v, want ErrTableWentBack", err)
	}
	if _, end := c.Window(); !end.Equal(until) {
		t.Errorf("the window ends at %v, want %v as before", end, until)
	}
	if got := srv.Query(t, replica, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != fmt.Sprint(until.UnixMilli()) {
		t.Errorf("UNTIL_MS on the promoted replica = %s, want %d", got, until.UnixMilli())
	}
}
