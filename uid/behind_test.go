package uid_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// bounded reserves windows of ten minutes by its authority's clock, whatever is asked for.
type bounded struct{ *claimtest.Memory }

// boundedClaim is a claim of it.
type boundedClaim struct {
	assigner.Claim
	m *claimtest.Memory
}

func (b bounded) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := b.Memory.Assign(ctx, maxWorker)
	return boundedClaim{c, b.Memory}, err
}

func (b bounded) BindLayout(string) assigner.Assigner { return b }

func (c boundedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	if most := c.m.Now().Add(10 * time.Minute); until.After(most) {
		until = most
	}
	return c.Claim.Extend(ctx, until)
}

// TestWindowBehindClock has a clock that is an hour ahead of the authority's, so that each
// extension moves the window's end and none reaches the clock: calls say so, and do not wait.
func TestWindowBehindClock(t *testing.T) {
	t.Parallel()
	for kind, make := range kinds {
		synctest.Test(t, func(t *testing.T) {
			m := &claimtest.Memory{}
			g, err := make(t.Context(), bounded{m}, &uid.Both{Layout: bubbleLayout()}, uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			mustNext(t, g)
			m.Step(-time.Hour)
			time.Sleep(70 * time.Minute) // from here on windows reach beyond the first one
			_, err = g.Next(t.Context())
			s := g.Stats()
			if !errors.Is(err, uid.ErrClaimExpired) || s.Health().Status != uid.Down || s.Extends == 0 {
				t.Errorf("%s: Next: %v, Health() = %+v after %d extensions", kind, err, s.Health(), s.Extends)
			}
			asked := len(m.Calls(claimtest.OpExtend))
			time.Sleep(time.Hour)
			if n := len(m.Calls(claimtest.OpExtend)) - asked; n > 1000 {
				t.Errorf("%s: the authority was asked %d times in an hour", kind, n)
			}
			m.Step(time.Hour)
			time.Sleep(20 * time.Second)
			mustNext(t, g)
			if h := g.Stats().Health(); h.Status != uid.Up {
				t.Errorf("%s: the clocks agree again: %+v", kind, h)
			}
		})
	}
}

// TestWindowBehindClockSince says since when windows have stayed behind the clock, and logs it
// once, with a reminder every five minutes.
func TestWindowBehindClockSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		m := &claimtest.Memory{}
		g, err := uid.NewDefaultAt(t.Context(), bounded{m},
			&uid.Both{Layout: bubbleLayout(), Logger: logger}, uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		m.Step(-time.Hour)
		time.Sleep(70 * time.Minute)
		since, extends := g.Stats().FailingSince, g.Stats().Extends
		time.Sleep(30 * time.Minute)
		if s := g.Stats(); since.IsZero() || !s.FailingSince.Equal(since) || s.Extends == extends {
			t.Errorf("failing since %v, want %v; %d extensions, want more than %d", s.FailingSince,
				since, s.Extends, extends)
		}
		again := log.of("claim still not extended")
		if n := log.of("claim not extended"); n != 1 || again < 15 || again > 20 {
			t.Errorf("the log says %d times that the claim is not extended and %d times that it "+
				"still is not, want 1 and one in five minutes", n, again)
		}
	})
}

// TestExhaustedIsNotBehind extends a claim whose window reaches beyond the time bits, which no id
// does: nothing is wrong with the claim, so the log and Stats say nothing of it.
func TestExhaustedIsNotBehind(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 5, WorkerBits: 2, SeqBits: 4,
		Epoch: bubbleStart.Add(-time.Second)}
	for kind := range kinds {
		logger, log := newLogged()
		bubble(t, kind, newMemory(time.Minute), uid.Both{Layout: l, BoostPower: 1,
			Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			time.Sleep(20 * time.Minute)
			if s := g.Stats(); !errors.Is(s.Err, uid.ErrExhausted) || s.ExtendErr != nil ||
				s.ExtendFailures != 0 || s.Extends == 0 || log.of("claim not extended") != 0 {
				t.Errorf("%s: at the end of the time bits %+v; the log is %v", kind, s, log.counts)
			}
		})
	}
}
