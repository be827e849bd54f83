package zookeeper_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// TestGeneratorsThroughFaults: generators go on while their network is cut, others take the slots
// whose windows have passed, sessions expire, and ZooKeeper is killed. They stop at the end of their
// windows with the errors that the documentation names, go on by themselves when ZooKeeper is back,
// and no id is a duplicate.
func TestGeneratorsThroughFaults(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	// 32 ids a millisecond, which are asked for faster than that: every tick is stamped full, so that
	// two generators on one worker id could not miss each other.
	dense := uid.Options{Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 5,
		Tick: time.Millisecond}, MaxLead: 200 * time.Millisecond}
	var wg sync.WaitGroup
	var proxies []*dbtest.Proxy
	var gens []*uid.Cached
	var ids [6][]uid.ID
	var expired [len(ids)]bool
	stop := make(chan struct{})
	start := func(oneOf ...int64) {
		t.Helper()
		i := len(gens)
		proxies = append(proxies, dbtest.NewProxy(t, s.Addr()))
		a := newAssigner(t, openStore(t, proxies[i].Addr(), "a"), lease.Options{Window: time.Second})
		g, err := uid.NewCached(within(t, time.Minute), a, &dense)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		if got := g.Stats().Worker; !slices.Contains(oneOf, got) {
			t.Errorf("generator %d has worker id %d, want one of %v", i, got, oneOf)
		}
		gens = append(gens, g)
		wg.Go(func() { ids[i], expired[i] = stamp(t, g, stop) })
	}
	for worker := range int64(4) {
		start(worker)
	}

	time.Sleep(500 * time.Millisecond)
	proxies[0].Set(dbtest.BlackHole)
	proxies[1].Set(dbtest.Refuse)
	time.Sleep(1600 * time.Millisecond) // longer than a window
	start(0, 1)                         // what was cut off has lost its worker id
	start(0, 1)
	proxies[0].Set(dbtest.None)
	proxies[1].Set(dbtest.None)
	do(t, s.Pause) // all sessions expire
	time.Sleep(700 * time.Millisecond)
	do(t, s.Resume)
	time.Sleep(300 * time.Millisecond)
	do(t, s.Kill)
	time.Sleep(1200 * time.Millisecond)
	do(t, s.Start)

	for i, g := range gens {
		ctx := within(t, time.Minute)
		for {
			_, err := g.Next(ctx)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("generator %d did not recover: %v", i, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	close(stop)
	wg.Wait()
	if !slices.Contains(expired[:], true) {
		t.Error("no generator reached the end of its window, so the faults were none")
	}
	all := slices.Concat(ids[:]...)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			t.Fatalf("id %d was repeated, %d ids in all", all[i], len(all))
		}
	}
	t.Logf("%d ids", len(all))
}

// stamp takes ids until stop, and reports whether the end of a window was ever met.
func stamp(t *testing.T, g *uid.Cached, stop <-chan struct{}) (ids []uid.ID, expired bool) {
	batch := make([]uid.ID, 128)
	for {
		select {
		case <-stop:
			return ids, expired
		case <-time.After(2 * time.Millisecond):
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		n, err := g.Fill(ctx, batch)
		cancel()
		ids = append(ids, batch[:n]...)
		switch {
		case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, uid.ErrLead):
		case errors.Is(err, uid.ErrClaimExpired), errors.Is(err, assigner.ErrClaimLost):
			expired = true
		default:
			t.Errorf("Fill: %v", err)
		}
	}
}
