package uidtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

var errAway = errors.New("no route to host")

// TestGenerator counts through the fake's forms.
func TestGenerator(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := &uidtest.Generator{IDs: []uid.ID{7, 900, 3}}
	ids := make([]uid.ID, 5)
	if n, err := g.Fill(ctx, ids); n != 5 || err != nil || !slices.Equal(ids, []uid.ID{7, 900, 3, 901, 902}) {
		t.Fatalf("Fill() = %d, %v, ids %v", n, err, ids)
	}
	if _, err := g.NextGene(ctx, 1); !errors.Is(err, uid.ErrNoGene) {
		t.Errorf("NextGene() = %v, want ErrNoGene", err)
	}
	g.Fail(2, errAway)
	if n, err := g.Fill(ctx, ids); n != 2 || !errors.Is(err, errAway) || ids[1] != 904 {
		t.Errorf("Fill() with 2 left = %d, %v, ids %v", n, err, ids)
	}
	if s := g.Stats(); s.Issued != 7 || s.Health().Status != uid.Down {
		t.Errorf("Stats() = %+v, want 7 issued and down", s)
	}
	g.Fail(0, nil)
	if id, err := g.Next(ctx); id != 905 || err != nil || g.Stats().Health().Status != uid.Up {
		t.Errorf("Next() = %v, %v, want 905", id, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if id, err := g.Next(ended); id != 906 || err != nil {
		t.Errorf("Next() with a ctx that ended = %v, %v, want 906", id, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Next(ctx); !errors.Is(err, uid.ErrClosed) || !errors.Is(g.Stats().Err, uid.ErrClosed) {
		t.Errorf("Next() after Close = %v", err)
	}
}

// TestGeneratorGenes: an id's gene is its key's, and ids without genes stay apart.
func TestGeneratorGenes(t *testing.T) {
	t.Parallel()
	g := &uidtest.Generator{Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 10,
		GeneBits: 2, Tick: time.Millisecond}}
	var got []uid.ID
	for _, key := range []int64{2, 7, -1, 4} {
		id, err := g.NextGene(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if want := key & 3; g.Parse(id).Gene != want {
			t.Errorf("the gene of %d is %d, want %d", key, g.Parse(id).Gene, want)
		}
		got = append(got, id>>2)
	}
	if want := []uid.ID{1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("the numbers are %v, want %v", got, want)
	}
}

// TestGeneratorConcurrent records every id of many goroutines.
func TestGeneratorConcurrent(t *testing.T) {
	t.Parallel()
	const each = 1000
	var (
		g    uidtest.Generator
		wg   sync.WaitGroup
		seen = make([]int, 4*each+1)
		mu   sync.Mutex
	)
	for range 4 {
		wg.Go(func() {
			for range each {
				id, err := g.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[id]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range seen[1:] {
		if n != 1 {
			t.Fatalf("id %d was handed out %d times", id+1, n)
		}
	}
}

// TestClock: a real generator follows the clock that the test sets.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uidtest.NewClock()
		clock.Set(time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC))
		g, err := uid.NewDefault(t.Context(), claimtest.Static(1), &uid.DefaultOptions{Clock: clock.Read})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		id, err := g.Next(t.Context())
		if at := g.Parse(id).Time; err != nil || !at.Equal(time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)) {
			t.Errorf("the id is of %v, %v", at, err)
		}
		clock.Step(-time.Hour)
		if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClockBack) {
			t.Errorf("Next() an hour back = %v, want ErrClockBack", err)
		}
		if _, mono := clock.Read(); mono != 0 {
			t.Errorf("the monotonic clock shows %v, want 0: no time has passed", mono)
		}
		time.Sleep(time.Hour)
		if _, err := g.Next(t.Context()); err != nil {
			t.Errorf("Next() when the clock has caught up = %v", err)
		}
	})
}
