package uidtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// rig is a generator, and what takes its ids away: from stop on calls get what is left, and then
// ErrClaimExpired. resume ends that.
type rig struct {
	uid.Generator
	stop, resume func()
}

// rigs makes the real generators and the fake.
var rigs = map[string]func(t *testing.T, l bitsalloc.Layout) rig{
	"cached": func(t *testing.T, l bitsalloc.Layout) rig {
		return realRig(t, func(m *claimtest.Memory) (uid.Generator, error) {
			return uid.NewCached(t.Context(), m, &uid.Options{Layout: l, Clock: uidtest.NewClock().Read})
		})
	},
	"default": func(t *testing.T, l bitsalloc.Layout) rig {
		return realRig(t, func(m *claimtest.Memory) (uid.Generator, error) {
			return uid.NewDefault(t.Context(), m,
				&uid.DefaultOptions{Layout: l, Clock: uidtest.NewClock().Read})
		})
	},
	"fake": func(_ *testing.T, l bitsalloc.Layout) rig {
		g := &uidtest.Generator{Layout: l, Clock: uidtest.NewClock().Read}
		return rig{g, func() { g.Fail(3, uid.ErrClaimExpired) }, func() { g.Fail(0, nil) }}
	},
}

// realRig makes a real generator. Its window ends a tick after stop.
func realRig(t *testing.T, open func(*claimtest.Memory) (uid.Generator, error)) rig {
	m := &claimtest.Memory{Length: time.Minute}
	g, err := open(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return rig{g, func() {
		m.Fail(errAway, claimtest.OpExtend)
		time.Sleep(time.Until(g.Stats().WindowUntil) - time.Second)
	}, func() {
		m.Fail(nil)
		time.Sleep(time.Minute)
	}}
}

// TestLikeReal makes the same calls of the real generators and of the fake: what a program can
// depend on is the same.
func TestLikeReal(t *testing.T) {
	t.Parallel()
	plain := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 4}
	genes := plain
	genes.GeneBits = 3
	for kind, open := range rigs {
		for name, calls := range map[string]func(*testing.T, rig, bool){
			"ctx": likeCtx, "stop": likeStop, "time": likeTime, "genes": likeGenes, "close": likeClose,
		} {
			for _, l := range []bitsalloc.Layout{plain, genes} {
				t.Run(kind+"/"+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						l.Epoch = time.Now().Add(-time.Hour)
						calls(t, open(t, l), l.GeneBits > 0)
					})
				})
			}
		}
	}
}

// likeCtx: ids that are ready are handed out although ctx has ended.
func likeCtx(t *testing.T, g rig, genes bool) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := g.Next(ended)
	if err != nil || first <= 0 {
		t.Errorf("Next() = %v, %v", first, err)
	}
	ids := make([]uid.ID, 4)
	if n, err := g.Fill(ended, ids); n != len(ids) || err != nil {
		t.Errorf("Fill() = %d, %v", n, err)
	}
	last := first
	for _, id := range ids {
		if id <= last {
			t.Errorf("%v came after %v", id, last)
		}
		last = id
	}
	if !genes {
		return
	}
	if id, err := g.NextGene(ended, 5); id <= last || err != nil {
		t.Errorf("NextGene() = %v, %v", id, err)
	}
}

// likeStop: a Fill is cut short where ids end, with those that it set, and goes on later.
func likeStop(t *testing.T, g rig, _ bool) {
	g.stop()
	const mark = -7
	ids := make([]uid.ID, 1000)
	for i := range ids {
		ids[i] = mark
	}
	ctx := t.Context()
	n, err := g.Fill(ctx, ids)
	if n == 0 || n == len(ids) || !errors.Is(err, uid.ErrClaimExpired) || !uid.Temporary(err) {
		t.Fatalf("Fill() = %d, %v, want some ids and ErrClaimExpired", n, err)
	}
	for i, id := range ids {
		if set := id != mark; set != (i < n) {
			t.Fatalf("Fill() = %d, and ids[%d] is %v", n, i, id)
		}
	}
	if id, err := g.Next(ctx); id != 0 || !errors.Is(err, uid.ErrClaimExpired) {
		t.Errorf("Next() = %v, %v, want 0 and ErrClaimExpired", id, err)
	}
	if n, err := g.Fill(ctx, nil); n != 0 || err != nil {
		t.Errorf("Fill() of nothing = %d, %v", n, err)
	}
	s := g.Stats()
	if h := s.Health(); h.Status != uid.Down || s.Issued != int64(n) {
		t.Errorf("%s, %d issued, want down and %d", h.Status, s.Issued, n)
	}
	g.resume()
	if id, err := g.Next(ctx); id <= ids[n-1] || err != nil {
		t.Errorf("Next() after that = %v, %v", id, err)
	}
	if s := g.Stats(); s.Health().Status != uid.Up || s.Issued != int64(n)+1 {
		t.Errorf("%s, %d issued, want up and %d", s.Health().Status, s.Issued, n+1)
	}
}

// likeTime: an id's time is near now.
func likeTime(t *testing.T, g rig, _ bool) {
	for range 3 {
		time.Sleep(10 * time.Second)
		id, err := g.Next(t.Context())
		if off := time.Until(g.Parse(id).Time); err != nil || off.Abs() > 2*time.Second {
			t.Errorf("the time of %v is %v off now; %v", id, off, err)
		}
		if l := g.Stats().Layout; l.Tick != time.Second {
			t.Errorf("the tick is %v", l.Tick)
		}
	}
}

// likeGenes: an id has the gene of its key, and there are none without GeneBits.
func likeGenes(t *testing.T, g rig, genes bool) {
	ids := make([]uid.ID, 3)
	for _, key := range []int64{0, 5, 13, -1} {
		id, err := g.NextGene(t.Context(), key)
		n, errFill := g.FillGene(t.Context(), key, ids)
		if !genes {
			if id != 0 || n != 0 || !errors.Is(err, uid.ErrNoGene) || !errors.Is(errFill, uid.ErrNoGene) {
				t.Errorf("NextGene() = %v, %v, FillGene() = %d, %v, want ErrNoGene", id, err, n, errFill)
			}
			continue
		}
		if n != len(ids) || err != nil || errFill != nil {
			t.Fatalf("NextGene() = %v, FillGene() = %d, %v", err, n, errFill)
		}
		for _, id := range append(ids, id) {
			if got := g.Parse(id).Gene; got != key&7 {
				t.Errorf("the gene of key %d is %d", key, got)
			}
		}
	}
}

// likeClose: no call gets an id after Close, and Close may be called again.
func likeClose(t *testing.T, g rig, _ bool) {
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if id, err := g.Next(t.Context()); id != 0 || !errors.Is(err, uid.ErrClosed) || uid.Temporary(err) {
		t.Errorf("Next() = %v, %v, want 0 and ErrClosed", id, err)
	}
	if n, err := g.Fill(t.Context(), make([]uid.ID, 2)); n != 0 || !errors.Is(err, uid.ErrClosed) {
		t.Errorf("Fill() = %d, %v, want 0 and ErrClosed", n, err)
	}
	if n, err := g.Fill(t.Context(), nil); n != 0 || err != nil {
		t.Errorf("Fill() of nothing = %d, %v", n, err)
	}
	if s := g.Stats(); s.Health().Status != uid.Down || !errors.Is(s.Err, uid.ErrClosed) {
		t.Errorf("%+v", s.Health())
	}
}
