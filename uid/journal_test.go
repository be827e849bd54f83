package uid_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/ringbuffer"
	"github.com/uidring/uidring/uid"
)

// greedy is a log handler that takes ids of the generator that logs, for as long as it may.
type greedy struct {
	generator atomic.Pointer[uid.Generator]
	ids       int
	patience  time.Duration
	handled   atomic.Int64
}

func (h *greedy) handle(slog.Record) {
	if g := h.generator.Load(); g != nil {
		ctx, cancel := context.WithTimeout(context.Background(), h.patience)
		defer cancel()
		_, _ = (*g).Fill(ctx, make([]uid.ID, h.ids))
	}
	h.handled.Add(1)
}

// TestLoggerOfFullRing has the handler take more ids for the line that the ring is full than the
// ring holds.
func TestLoggerOfFullRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &greedy{ids: 12, patience: time.Hour}
		l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 2, Epoch: bubbleEpoch}
		c := cachedAt(t, uid.Both{Layout: l, BoostPower: uid.NoBoost, RunLength: 1, TakePolicy: uid.TakeWait,
			PutPolicy: ringbuffer.PutFail, Logger: slog.New(records(h.handle))}, uid.NewTestClock())
		g := uid.Generator(c)
		h.generator.Store(&g)
		begin := time.Now()
		for range 100 {
			mustNext(t, c)
			time.Sleep(time.Second)
		}
		if took := time.Since(begin); took > 101*time.Second || h.handled.Load() < 2 {
			t.Errorf("100 ids, one a second, took %v with %d lines, want 100 s and some lines",
				took, h.handled.Load())
		}
	})
}

// TestLoggerOfExpiredClaim has the handler wait for an id while there are none, and the take
// function wait as well: the claim is extended all the same.
func TestLoggerOfExpiredClaim(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			h := &greedy{ids: 1, patience: 10 * time.Hour}
			a := newPlace(20 * time.Second)
			a.Fail(errDown, claimtest.OpExtend)
			g := uid.Open(t, start, a, uid.Both{Logger: slog.New(records(h.handle)),
				TakeFunc: func(_ context.Context, reason error) error {
					time.Sleep(10 * time.Millisecond)
					if errors.Is(reason, uid.ErrClaimExpired) || errors.Is(reason, uid.ErrEmpty) {
						return nil
					}
					return reason
				}}, uid.NewTestClock())
			h.generator.Store(&g)
			for range 40 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, _ = g.Fill(ctx, make([]uid.ID, 20_000))
				cancel()
				time.Sleep(time.Second)
			}
			a.Fail(nil)
			nextIn(t, g, 0, 16*time.Second, kind+" waits for a back-off at most when the authority is back")
		})
	}
}

// stamper is a log handler that stamps every record with an id of the generator that logs.
type stamper struct {
	generator atomic.Pointer[uid.Generator]
	stamped   atomic.Int64
	failed    atomic.Pointer[error]
}

func (h *stamper) handle(slog.Record) {
	g := h.generator.Load()
	if g == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	before := time.Now()
	ids := make([]uid.ID, 5000)
	if _, err := (*g).Fill(ctx, ids); err != nil {
		h.failed.Store(&err)
	}
	_ = (*g).Stats()
	if time.Since(before) > 0 {
		err := errors.New("the handler waited")
		h.failed.Store(&err)
	}
	h.stamped.Add(1)
}

// TestLoggerTakesIds logs to a handler that needs ids for its records: whatever is logged, no lock
// is held that Next takes.
func TestLoggerTakesIds(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			clock, h := uid.NewTestClock(), &stamper{}
			a := newPlace(10 * time.Minute)
			a.TellTime = true
			l := bitsalloc.Layout{TimeBits: 31, WorkerBits: 10, SeqBits: 20, Epoch: bubbleEpoch}
			g := uid.Open(t, start, a, uid.Both{Layout: l,
				Logger: slog.New(records(h.handle)), PutPolicy: ringbuffer.PutFail}, clock)
			h.generator.Store(&g)
			take := func(d time.Duration) {
				for range int(d / time.Second) {
					time.Sleep(time.Second)
					mustNext(t, g)
				}
			}
			take(5 * time.Second) // the ring is full
			clock.Step(5 * time.Hour)
			take(5 * time.Second) // the jump is held
			clock.Step(-5 * time.Hour)
			a.Fail(errDown, claimtest.OpExtend)
			take(6 * time.Minute) // the claim is not extended
			a.Fail(nil)
			take(time.Minute) // it is again
			a.lose(2, time.Now(), time.Hour)
			take(6 * time.Minute) // it is lost, and replaced
			if err := h.failed.Load(); err != nil {
				t.Errorf("%s: stamping a record: %v", kind, *err)
			}
			if n := h.stamped.Load(); n < 5 {
				t.Errorf("%s: %d records were stamped, want 5 at the least", kind, n)
			}
		})
	}
}
