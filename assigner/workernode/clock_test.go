package workernode_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestAssignersTellTime: both assigners tell the database's time without a claim.
func TestAssignersTellTime(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	clock := &stepClock{dsn: srv.DSN(srv.CreateDB(t))}
	clock.step(time.Hour)
	db := clock.connect(t)
	for _, a := range []assigner.Assigner{workernode.Disposable(db, nil), workernode.Leased(db, nil)} {
		now, err := a.(assigner.Clock).Now(t.Context())
		if ahead := time.Until(now); err != nil || ahead < 59*time.Minute || ahead > 61*time.Minute {
			t.Errorf("%v: Now is %v ahead of the local clock, %v, want an hour, as the database's", a, ahead, err)
		}
	}
}

// TestMaxSkew: a start whose clock is further from the database's than MaxSkew is refused.
func TestMaxSkew(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	clock := &stepClock{dsn: srv.DSN(name)}
	clock.step(time.Hour)
	for maxSkew, refused := range map[time.Duration]bool{0: false, time.Minute: true, 2 * time.Hour: false} {
		a := workernode.Leased(clock.connect(t), &workernode.LeasedOptions{MaxSkew: maxSkew})
		_, err := a.Assign(t.Context(), maxWorker)
		if errors.Is(err, lease.ErrSkew) != refused || (err != nil) != refused {
			t.Errorf("MaxSkew %v: Assign = %v, want an ErrSkew: %v", maxSkew, err, refused)
		}
	}
}
