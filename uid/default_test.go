package uid_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// defaultAt returns a Default of worker 1 on a clock of the test's.
func defaultAt(t *testing.T, o uid.Both, clock *uid.TestClock) *uid.Default {
	t.Helper()
	return uid.Open(t, uid.NewDefaultAt, claimtest.Static(1), o, clock)
}

// TestDefaultCapacity takes more than a second's ids: the surplus waits for the next second, on a
// timer.
func TestDefaultCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{SeqStart: 1}, uid.NewTestClock())
		start := time.Now()
		var last uid.ID
		for i := range 3*8192 + 1 {
			id := mustNext(t, d)
			p := d.Parse(id)
			if want := start.Add(time.Duration(i/8192) * time.Second); !p.Time.Equal(want) ||
				p.Seq != int64(i%8192) || p.Worker != 1 {
				t.Fatalf("id %d is %+v, want second %v, sequence %d", i, p, want, i%8192)
			}
			if id <= last {
				t.Fatalf("%d came after %d", id, last)
			}
			last = id
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("three seconds' ids and one took %v", took)
		}
	})
}

// TestDefaultFillCapacity does the same through Fill, which claims a tick's rest at once.
func TestDefaultFillCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{}, uid.NewTestClock())
		ids := make([]uid.ID, 5*8192)
		if n, err := d.Fill(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatalf("Fill() = %d, %v", n, err)
		}
		for i := range ids[1:] {
			if ids[i+1] <= ids[i] {
				t.Fatalf("Fill gave %d after %d", ids[i+1], ids[i])
			}
		}
		ctx := within(t, 1500*time.Millisecond)
		n, err := d.Fill(ctx, ids)
		if !errors.Is(err, context.DeadlineExceeded) || n < 8192 || n > 2*8192 {
			t.Errorf("Fill() for a second and a half = %d, %v, want one to two ticks' ids and the deadline", n, err)
		}
	})
}

// TestDefaultBusyTickIsWhole runs at 5,000 a second: more than half a tick's space, which a spread
// start must not cut short.
func TestDefaultBusyTickIsWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{}, uid.NewTestClock())
		ids := make([]uid.ID, 500)
		late := 0
		for range 1000 {
			time.Sleep(100 * time.Millisecond)
			before := time.Now()
			mustFill(t, d, ids)
			if time.Since(before) > 0 {
				late++
			}
		}
		if late > 1 {
			t.Errorf("%d of 1000 fills waited, want at most the first second's", late)
		}
	})
}

func TestDefaultRollback(t *testing.T) {
	t.Parallel()
	ms := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: bubbleEpoch}
	for _, tc := range []struct {
		name     string
		rollback uid.Rollback
		back     time.Duration
		wantErr  bool
		wantWait time.Duration
	}{
		{"refuse", uid.Rollback{}, time.Millisecond, true, 0},
		{"refuse is the default", uid.Rollback{}, time.Hour, true, 0},
		{"wait within", uid.RollbackWait(5 * time.Millisecond), 5 * time.Millisecond, false, 5 * time.Millisecond},
		{"wait beyond", uid.RollbackWait(5 * time.Millisecond), 6 * time.Millisecond, true, 0},
		{"hold within", uid.RollbackHold(2000 * time.Millisecond), 1999 * time.Millisecond, false, 0},
		{"hold beyond", uid.RollbackHold(2000 * time.Millisecond), 2000 * time.Millisecond, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := uid.NewTestClock()
				d := defaultAt(t, uid.Both{Layout: ms, Rollback: tc.rollback}, clock)
				time.Sleep(3 * time.Second)
				last := mustNext(t, d)
				clock.Step(-tc.back)
				start := time.Now()
				id, err := d.Next(t.Context())
				if tc.wantErr {
					var back *uid.ClockBackError
					if !errors.Is(err, uid.ErrClockBack) || !errors.As(err, &back) || back.By != tc.back {
						t.Fatalf("Next() = %v, want a ClockBackError by %v", err, tc.back)
					}
					if d.Stats().RejectsRollback != 1 {
						t.Errorf("RejectsRollback = %d, want 1", d.Stats().RejectsRollback)
					}
					time.Sleep(tc.back) // the clock catches up, and all is well again
					id, err = d.Next(t.Context())
					start = time.Now()
				}
				if err != nil {
					t.Fatal(err)
				}
				if id <= last {
					t.Errorf("%d came after %d", id, last)
				}
				if took := time.Since(start); took != tc.wantWait {
					t.Errorf("Next() took %v, want %v", took, tc.wantWait)
				}
			})
		})
	}
}

// TestDefaultHoldUsesUpTheTick takes more ids than the held tick has: the surplus waits for the
// clock, and none is repeated. hutool's widely copied version hands out the tick's ids again.
func TestDefaultHoldUsesUpTheTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ms := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: bubbleEpoch}
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Layout: ms, Rollback: uid.RollbackHold(2 * time.Second)}, clock)
		time.Sleep(3 * time.Second)
		seen := map[uid.ID]bool{mustNext(t, d): true}
		clock.Step(-100 * time.Millisecond)
		for range 10_000 {
			id := mustNext(t, d)
			if seen[id] {
				t.Fatalf("the id %d was repeated", id)
			}
			seen[id] = true
		}
	})
}

// TestDefaultSteps moves the clock by every size and sign, with every policy: no id is repeated,
// whatever is refused.
func TestDefaultSteps(t *testing.T) {
	t.Parallel()
	for _, r := range []uid.Rollback{{}, uid.RollbackWait(time.Second),
		uid.RollbackHold(time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			d := defaultAt(t, uid.Both{Rollback: r,
				Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 3,
					Epoch: bubbleEpoch}}, clock)
			last := uid.ID(-1)
			for i := range 3000 {
				step := time.Duration(1) << (i % 42) // up to more than an hour
				if i%2 == 1 {
					step = -step
				}
				clock.Step(step)
				time.Sleep(time.Duration(i%7) * 100 * time.Millisecond)
				for range i % 11 {
					id, err := d.Next(t.Context())
					if errors.Is(err, uid.ErrClockBack) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if id <= last {
						t.Fatalf("step %d: %d came after %d", i, id, last)
					}
					last = id
				}
			}
		})
	}
}

// TestDefaultStart checks SeqStart: zero as in Twitter's, below 100 as in Leaf's.
func TestDefaultStart(t *testing.T) {
	t.Parallel()
	for _, start := range []int64{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			d := defaultAt(t, uid.Both{SeqStart: start}, uid.NewTestClock())
			seen := map[int64]bool{}
			for range 1000 {
				time.Sleep(time.Second)
				seen[d.Parse(mustNext(t, d)).Seq] = true
			}
			if int64(len(seen)) != start {
				t.Errorf("SeqStart %d: the ticks start at %d different numbers, want %d", start, len(seen), start)
			}
			for seq := range seen {
				if seq >= start {
					t.Errorf("SeqStart %d: a tick starts at %d", start, seq)
				}
			}
		})
	}
}

func TestDefaultExhausted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: bitsalloc.Layout{TimeBits: 17, WorkerBits: 33,
			SeqBits: 13, Epoch: bubbleEpoch}}, uid.NewTestClock())
		time.Sleep(time.Until(d.Stats().Expires) - time.Second)
		if id := mustNext(t, d); id <= 0 {
			t.Errorf("the last tick gives %d", id)
		}
		for range 3 {
			time.Sleep(time.Second)
			if id, err := d.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("Next() = %d, %v, want ErrExhausted", id, err)
			}
		}
	})
}

func TestDefaultExactlyOnce(t *testing.T) {
	t.Parallel()
	layout := bitsalloc.Layout{TimeBits: 41, WorkerBits: 8, SeqBits: 14, Tick: time.Millisecond}
	d := defaultAt(t, uid.Both{Layout: layout, Rollback: uid.RollbackHold(time.Minute)}, uid.NewTestClock())
	r := newRecord(allocator(t, layout), time.Now(), 60_000<<14)
	take(t, d, r, 4, 50_000)
	r.check(t, 200_000)
}

// TestDefaultStartsSpread makes generators that take one id each: their first ids do not fall on
// one shard.
func TestDefaultStartsSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seqs := map[int64]bool{}
		for range 50 {
			d := defaultAt(t, uid.Both{}, uid.NewTestClock())
			seqs[d.Parse(mustNext(t, d)).Seq] = true
			d.Close()
			time.Sleep(time.Second)
		}
		if len(seqs) < 45 {
			t.Errorf("the first ids of 50 generators have %d sequence numbers, want about 50", len(seqs))
		}
	})
}

// TestDefaultAheadTogether has callers pass a clock that is behind the whole window together: none
// takes another's tick for a clock that went back.
func TestDefaultAheadTogether(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 45, WorkerBits: 4, SeqBits: 1, Tick: time.Millisecond}
	for range 4 {
		a := &claimtest.Memory{From: time.Now().Add(time.Hour), Length: claimtest.Endless}
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{Layout: l}, uid.NewTestClock())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20_000 {
					if _, err := d.Next(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		mustClose(t, d)
	}
}

// TestNewDefaultRace makes generators whose keeper has to extend at once: what the constructor
// writes must be written before the keeper's goroutine reads it. The race detector judges.
func TestNewDefaultRace(t *testing.T) {
	t.Parallel()
	for range 50 {
		d, err := uid.NewDefault(t.Context(), &claimtest.Memory{Length: time.Millisecond}, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
