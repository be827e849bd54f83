package workernode_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestMemoryTogether: claims of one Assigner read and change what the Assigner knows at the same
// time. Nothing that was noted is lost, and no worker id that was kept is given out twice.
func TestMemoryTogether(t *testing.T) {
	t.Parallel()
	const rounds = 10000
	var m workernode.Memory
	var taken [2 * rounds]atomic.Bool
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range int64(2) {
		var last int64
		// Each in a goroutine of its own, so that no other call's lock orders it.
		for _, do := range []func(n int64){
			func(n int64) { m.Note(i, n) },
			func(n int64) { m.Lower(i, n/2) },
			func(n int64) {
				if got := m.Until(i); got < 0 || got >= 2*rounds {
					t.Errorf("worker %d: until = %d, want what was noted", i, got)
				}
			},
			func(n int64) { m.Forgot(n) },
			func(int64) {
				got := m.Begin()
				if got < last {
					t.Errorf("windows begin at %d, want %d or later, as before", got, last)
				}
				last = got
			},
			func(n int64) { m.KeepSpare(n) },
			func(int64) {
				if spare, ok := m.TakeSpare(maxWorker); ok && taken[spare].Swap(true) {
					t.Errorf("the worker id %d is taken twice", spare)
				}
			},
		} {
			wg.Go(func() {
				<-start
				for n := range int64(rounds) {
					do(2*n + i)
				}
			})
		}
	}
	close(start)
	wg.Wait()
	if got := m.Begin(); got != 2*rounds-1 {
		t.Errorf("windows begin at %d, want %d, the latest end", got, 2*rounds-1)
	}
}

// TestSpareWorkerOnce: of two Assigns at the same time one gets the worker id that an earlier one
// left over.
func TestSpareWorkerOnce(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	s, db := newAmbush(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	assign(t, a, 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.set("INSERT INTO WORKER_LEASE", 0, func(func() error) error {
		cancel()
		return context.Canceled
	})
	if c, err := a.Assign(ctx, maxWorker); err == nil {
		t.Fatalf("Assign = worker %d, want an error", c.Worker())
	}
	var second assigner.Claim
	s.set("INSERT INTO WORKER_LEASE", 0, func(run func() error) error {
		second = assign(t, a, 1)[0]
		return run()
	})
	first := assign(t, a, 1)[0]
	if first.Worker() != 2 || second.Worker() != 3 {
		t.Errorf("workers = %d and %d, want 2, which was left over, and 3", first.Worker(), second.Worker())
	}
}
