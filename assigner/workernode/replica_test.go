package workernode_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// split is a pool that reads from a replica and writes to the primary, as a proxy that splits statements by kind does.
type split struct {
	*sql.DB
	replica atomic.Pointer[sql.DB]
	updates atomic.Int64
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
	return s.DB.ExecContext(ctx, query, args...)
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

	pools := make([]*sql.DB, 2)
	for i, db := range []*gorm.DB{primary, connect(t, srv.DSN(lagging))} {
		var err error
		if pools[i], err = db.DB(); err != nil {
			t.Fatal(err)
		}
	}
	s := &split{DB: pools[0]}
	s.replica.Store(pools[1])
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: s, SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	a := workernode.Leased(db, nil)
	c, err := a.Assign(within(t, 500*time.Millisecond), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Assign on rows that are %d claims behind = %v, %v, want the ctx's error", len(held), c, err)
	}
	// Pauses from 10 ms up, doubling, leave room for seven looks at most.
	if n := s.updates.Load(); n < slots || n > 7*slots {
		t.Errorf("%d updates in 500ms, want %d to %d", n, slots, 7*slots)
	}
	s.replica.Store(pools[0])
	if c, err = a.Assign(t.Context(), maxWorker); err != nil || c.Worker() != slots+1 {
		t.Errorf("Assign on rows of the present = %v, %v, want worker %d", c, err, slots+1)
	}
}
