package uid_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestHealthNextCall compares Health with the next call a million times, through outages, lost
// claims, clocks that step, bursts and closing. The status is down exactly if the call fails, or
// waits for longer than a tick; else degraded exactly if the authority's last answer was a failure
// or a jump is held back; else up.
func TestHealthNextCall(t *testing.T) {
	t.Parallel()
	rounds := 1_000_000 / scale
	if testing.Short() {
		rounds /= 20 / scale
	}
	cases := []struct {
		kind string
		o    uid.Both
	}{
		{"cached", uid.Both{RunLength: 2, BoostPower: uid.NoBoost}},
		{"cached", uid.Both{TakePolicy: uid.TakeWait, MaxLead: time.Second}},
		{"cached", uid.Both{MaxLead: time.Nanosecond, Lanes: 4, RunLength: 1}},
		{"default", uid.Both{MaxLead: 2 * time.Second}},
		{"default", uid.Both{Rollback: uid.RollbackWait(5 * time.Second)}},
		{"default", uid.Both{Rollback: uid.RollbackHold(2 * time.Second)}},
	}
	seen := make([]map[uid.Status]int, len(cases))
	t.Cleanup(func() {
		t.Logf("of %d comparisons each: %v", rounds/len(cases), seen)
		for i, n := range seen {
			least := rounds / len(cases) / 50
			if min(n[uid.Up], n[uid.Degraded], n[uid.Down]) < least || n["changed"] > 10*least {
				t.Errorf("%+v: %v: want more of each status", cases[i], n)
			}
		}
	})
	for i, tc := range cases {
		seen[i] = map[uid.Status]int{}
		t.Run(tc.kind, func(t *testing.T) {
			t.Parallel()
			const life = 5000
			for n := 0; n < rounds/len(cases); n += life {
				synctest.Test(t, func(t *testing.T) {
					p := newHealthProbe(t, tc.kind, tc.o, rand.New(rand.NewPCG(uint64(i), uint64(n))))
					for range min(life, rounds/len(cases)-n) {
						p.happen(t)
						seen[i][p.compare(t)]++
					}
					mustClose(t, p.g)
					if status := p.compare(t); status != uid.Down {
						t.Errorf("a closed generator is %s", status)
					}
				})
			}
		})
	}
}

// healthProbe is a generator whose health is compared with its calls.
type healthProbe struct {
	g     uid.Generator
	o     uid.Both
	m     *claimtest.Memory
	clock *uid.TestClock
	rnd   *rand.Rand
	away  atomic.Bool   // the authority
	fails atomic.Bool   // its last answer was a failure
	skew  time.Duration // of the clock
}

func newHealthProbe(t *testing.T, kind string, o uid.Both, rnd *rand.Rand) *healthProbe {
	p := &healthProbe{o: o, rnd: rnd, clock: uid.NewTestClock(), m: &claimtest.Memory{Length: time.Minute}}
	p.o.Layout = bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 5, Epoch: bubbleEpoch}
	p.m.Before = func(_ context.Context, c claimtest.Call) error {
		if c.Op == claimtest.OpExtend {
			p.fails.Store(true) // until After
		}
		if p.away.Load() && c.Op != claimtest.OpRelease {
			return errDown
		}
		return nil
	}
	p.m.After = func(context.Context, claimtest.Call) error { p.fails.Store(false); return nil }
	p.g = uid.Open(t, kinds[kind], p.m, p.o, p.clock)
	return p
}

// happen is what happens between two comparisons.
func (p *healthProbe) happen(t *testing.T) {
	time.Sleep(upTo(p.rnd, pick(p.rnd, 1, time.Millisecond, 300*time.Millisecond)))
	switch p.rnd.IntN(200) {
	case 0, 1:
		p.away.Store(!p.away.Load())
	case 2:
		p.m.Lose(p.g.Stats().Worker)
	case 3, 4: // back, or ahead by less than an hour
		by := eitherWay(p.rnd, pick(p.rnd, 3*time.Second, 40*time.Second))
		if p.skew+by > 50*time.Second || p.skew+by < -50*time.Second {
			by = -p.skew
		}
		p.skew += by
		p.clock.Step(by)
		p.g.Stats() // sees the step, which settles
		time.Sleep(200 * time.Millisecond)
		p.g.Stats()
	case 5:
		time.Sleep(upTo(p.rnd, 2*time.Minute))
	case 6, 7, 8:
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, _ = p.g.Fill(ctx, make([]uid.ID, 1+p.rnd.IntN(200)))
		cancel()
	}
}

// compare looks at the health, makes a call, and returns the status.
func (p *healthProbe) compare(t *testing.T) uid.Status {
	t.Helper()
	synctest.Wait()
	s := p.g.Stats()
	h, fails := s.Health(), p.fails.Load()
	const tick = time.Second
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), tick+time.Millisecond)
	_, err := p.g.Next(ctx)
	cancel()
	// A Default whose claim began ahead of the clock may wait for up to five seconds.
	if d, ok := p.g.(*uid.Default); ok && errors.Is(err, context.DeadlineExceeded) && h.Status != uid.Down {
		begin = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 4*tick)
		_, err = d.Next(ctx)
		cancel()
	}
	took := time.Since(begin)
	// What the authority says meanwhile changes what the call gets: nothing is to compare.
	if a := p.g.Stats(); a.Claims != s.Claims || a.Extends != s.Extends || a.ExtendFailures != s.ExtendFailures {
		return "changed"
	}
	want := uid.Up
	switch {
	case err != nil || h.Status == uid.Down && took > tick:
		want = uid.Down
	case fails || s.ClockHeld > 0:
		want = uid.Degraded
	}
	if h.Status != want {
		t.Fatalf("at %v, clock off by %v, authority away %t: Health() = %+v, want %s: Next() = %v after %v\n%+v",
			begin.UTC(), p.skew, p.away.Load(), h, want, err, took, s)
	}
	return want
}
