package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestRestoredGenerators: the tables go back to the time before any claim, the counter included,
// under generators at work. Nobody repairs them and nobody new connects. Every generator loses its
// claim and goes on with another, whose worker id may be the one that another generator has not yet
// lost: no id is repeated all the same.
func TestRestoredGenerators(t *testing.T) {
	t.Parallel()
	const generators, window = 3, 2 * time.Second
	srv, name := maria(t)
	release(t, assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil).
		BindLayout("40-16-5-0/10ms@2026-01-01T00:00:00Z"), 1)[0], time.Now().Add(-time.Minute))
	restore := backup(t, srv, name)
	// Every id of a tick is used: two generators that share one meet.
	options := &uid.Options{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 16, SeqBits: 5,
		Tick: 10 * time.Millisecond}, MaxLead: 20 * time.Millisecond}
	stamped := make([][]uid.ID, generators)
	running := make([]*uid.Cached, generators)
	first := make([]int64, generators)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for i := range generators {
		g, err := uid.NewCached(ctx, workernode.Leased(connect(t, srv.DSN(name)),
			&workernode.LeasedOptions{Window: window}), options)
		if err != nil {
			t.Fatal(err)
		}
		running[i], first[i] = g, g.Stats().Worker
		// They extend one after the other, not together, so that there is time between the first that
		// finds out and the last.
		time.Sleep(window / 2 / generators)
		wg.Go(func() {
			for ctx.Err() == nil {
				id, err := g.Next(ctx)
				if err == nil {
					stamped[i] = append(stamped[i], id)
				} else if ctx.Err() == nil && !errors.Is(err, assigner.ErrClaimLost) &&
					!errors.Is(err, uid.ErrClaimExpired) {
					t.Errorf("generator %d: %v", i, err)
					return
				}
			}
		})
	}
	await(t, func() bool {
		return srv.Query(t, name, "SELECT MIN(GENERATION) > 3 FROM WORKER_LEASE WHERE WORKER_ID > 0") == "1"
	})
	restore()
	await(t, func() bool {
		for i, g := range running {
			if g.Stats().Worker == first[i] {
				return false
			}
		}
		return true
	})
	// What they have next begins beyond what the table may have forgotten.
	await(t, func() bool {
		return srv.Query(t, name, fmt.Sprintf("SELECT COUNT(*) >= %d FROM WORKER_LEASE WHERE OWNER <> ''",
			generators)) == "1"
	})
	stop()
	wg.Wait()
	count := map[uid.ID]int{}
	for i, ids := range stamped {
		if len(ids) == 0 {
			t.Errorf("generator %d stamped nothing", i)
		}
		for _, id := range ids {
			count[id]++
		}
	}
	twice := 0
	for id, n := range count {
		if n > 1 {
			if twice++; twice == 1 {
				t.Logf("the first that was repeated: %v", running[0].Parse(id))
			}
		}
	}
	if twice > 0 {
		t.Errorf("%d of %d ids were repeated", twice, len(count))
	}
	for i, g := range running {
		t.Logf("generator %d: worker %d, then %d; %d ids", i, first[i], g.Stats().Worker, len(stamped[i]))
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// once gives out one claim, so that a lost one is not replaced.
type once struct {
	assigner.Assigner
	asked atomic.Bool
}

func (o *once) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if o.asked.Swap(true) {
		return nil, assigner.ErrWorkersExhausted
	}
	return o.Assigner.Assign(ctx, maxWorker)
}

// TestRestoredStop: a generator that gets no other worker id stamps to its window's end and
// not beyond, and its error says that the table went back.
func TestRestoredStop(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	restore := backup(t, srv, name)
	options := &uid.Options{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 16, SeqBits: 5,
		Tick: 10 * time.Millisecond},
		MaxLead: 20 * time.Millisecond}
	g, err := uid.NewCached(t.Context(),
		&once{Assigner: workernode.Leased(connect(t, srv.DSN(name)),
			&workernode.LeasedOptions{Window: time.Second})}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	restore()
	var last uid.ID
	for {
		id, err := g.Next(within(t, time.Minute))
		if err == nil {
			last = id
			continue
		}
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Next = %v, want ErrClaimLost and ErrWentBack", err)
		}
		break
	}
	end := g.Stats().WindowUntil
	if stamped := g.Parse(last).Time; stamped.Add(10*time.Millisecond).After(end) ||
		stamped.Before(end.Add(-time.Second)) {
		t.Errorf("the last id is of %v, want the second before %v, the window's end", stamped, end)
	}
	if id, err := g.Next(t.Context()); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Next after the end = %v, %v, want the same error", id, err)
	}
}

// await waits for what generators and servers bring about by themselves.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
