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

// TestStats looks at the figures of a generator whose every step is known.
func TestStats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1, RunLength: 256}, uid.NewTestClock())
		s := c.Stats()
		if s.Worker != 1 || s.Cap != 65536 || s.Len != 65536 || s.Tail != 255 || s.Cursor != -1 ||
			s.RunLength != 256 || s.Lanes != 1 {
			t.Errorf("a new generator has %+v", s)
		}
		if s.Lead != 0 || time.Until(s.Position) != 8*time.Second || s.Lag != 0 || s.Err != nil ||
			s.RunsTaken != 0 || s.PadderRuns != 0 {
			t.Errorf("a new generator has %+v", s)
		}
		if want := time.Date(2034, 7, 3, 21, 24, 16, 0,
			time.UTC).Add(bubbleEpoch.Sub(uid.DefaultEpoch)); s.Expires.Sub(
			want).Abs() > 48*time.Hour {
			t.Errorf("Expires = %v, want about %v", s.Expires, want)
		}
		for range 257 {
			mustNext(t, c)
		}
		if s := c.Stats(); s.RunsTaken != 2 || s.Cursor != 1 || s.Len != 65536-512 {
			t.Errorf("after two runs: %+v", s)
		}
		time.Sleep(3 * time.Second)
		if s := c.Stats(); s.RunsStale == 0 || s.RunsTaken != 2 || s.Len != 65536 {
			t.Errorf("after three idle seconds: %+v", s)
		}
	})
}

// TestStatsOfIdleRing lets the ring grow old while the padder is stopped: Lag says so. What Close
// throws away does not count as taken.
func TestStatsOfIdleRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{}, uid.NewTestClock())
		c.StopPadder()
		mustNext(t, c)
		c.Empty()
		if err := c.LatePad(); err != nil { // the ring has ids, the lane has none
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		if lag := c.Stats().Lag; lag < 19*time.Minute {
			t.Errorf("Lag is %v with a ring that is 20 min old", lag)
		}
		before := c.Stats()
		mustClose(t, c)
		if s := c.Stats(); s.RunsTaken != before.RunsTaken || s.RunsStale <= before.RunsStale || s.Len != 0 {
			t.Errorf("Close took %d runs and dropped %d, %d ids are left, want no run taken, some dropped, none left",
				s.RunsTaken-before.RunsTaken, s.RunsStale-before.RunsStale, s.Len)
		}
	})
}

// TestStatsOfNoIDs looks at generators that have no ids left, or fail.
func TestStatsOfNoIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{}, uid.NewTestClock())
		mustNext(t, c)
		mustClose(t, c)
		time.Sleep(time.Hour)
		if lag := c.Stats().Lag; lag != 0 {
			t.Errorf("Lag is %v after Close, want 0: there are no ids", lag)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{MaxLead: time.Second, TakeFunc: func(ctx context.Context, reason error) error {
			if _, ends := ctx.Deadline(); !ends {
				return reason
			}
			<-ctx.Done()
			return nil
		}}, uid.NewTestClock())
		ids := make([]uid.ID, 100_000)
		if _, err := c.Fill(t.Context(), ids); !errors.Is(err, uid.ErrLead) || c.Stats().RejectsLead != 1 {
			t.Errorf("Fill: %v, RejectsLead = %d, want ErrLead and 1", err, c.Stats().RejectsLead)
		}
		ctx := within(t, time.Millisecond)
		if _, err := c.Fill(ctx, ids); !errors.Is(err, context.DeadlineExceeded) || uid.Temporary(err) {
			t.Errorf("Fill: %v, Temporary = %v, want the ctx's end, false", err, uid.Temporary(err))
		}
	})
	synctest.Test(t, func(t *testing.T) { // a ring that is full at the end of the time bits
		l := bitsalloc.Layout{TimeBits: 5, WorkerBits: 2, SeqBits: 4, Epoch: time.Now().Add(-30 * time.Second)}
		cachedAt(t, uid.Both{Layout: l, BoostPower: 1, SeqStart: 1, RunLength: 4,
			PutFunc: func(id uid.ID) error {
				t.Errorf("PutFunc(%d) after the last id", id)
				return nil
			}}, uid.NewTestClock())
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
	})
}

// registry is an authority with a name.
type registry struct{ *place }

func (registry) String() string { return "a registry" }

// TestStatsOfClaim looks at what Stats says of the claim, and of calls that wait or fail, until the
// last id of the time bits.
func TestStatsOfClaim(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			a := registry{newPlace(10 * time.Hour)}
			a.From = begin.Add(-time.Minute)
			a.worker.Store(3)
			// The time bits end in four seconds.
			l := bitsalloc.Layout{TimeBits: 4, WorkerBits: 2, SeqBits: 6,
				Epoch: begin.Add(-12 * time.Second)}
			g, err := start(t.Context(), a, &uid.Both{Layout: l, SeqStart: 1}, uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			end := begin.Add(4 * time.Second)
			if s := g.Stats(); s.Authority != "a registry" || s.Universe != s.Authority ||
				s.Worker != 3 || s.Claims != 1 ||
				!s.WindowFrom.Equal(a.From) || !s.WindowUntil.Equal(begin.Add(a.Length)) ||
				!s.IDsUntil.Equal(end) || !s.Expires.Equal(end) || !s.LastExtended.Equal(begin) {
				t.Errorf("%s: of its claim a generator says %+v", kind, s)
			}
			n, err := g.Fill(t.Context(), make([]uid.ID, 1000))
			if s := g.Stats(); n != 4*64 || !errors.Is(err, uid.ErrExhausted) ||
				s.RejectsExhausted != 1 || s.Issued != int64(n) {
				t.Errorf("%s: Fill() = %d, %v, want all 256 ids and ErrExhausted; Stats says %+v",
					kind, n, err, s)
			}
			// Only Default waits for its clock.
			s := g.Stats()
			if waited := time.Since(begin); s.Waited != waited ||
				s.Waits != int64(waited/time.Second) {
				t.Errorf("%s: %d waits of %v, want those of %v", kind, s.Waits, s.Waited, waited)
			}
		})
	}
}

// TestStatsLeadOfIdle looks in the middle of a tick: nothing is ahead of the clock.
func TestStatsLeadOfIdle(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, _ *place,
		_ *uid.TestClock) {
		mustNext(t, g)
		time.Sleep(1700 * time.Millisecond)
		if s := g.Stats(); s.Lead != 0 {
			t.Errorf("Lead is %v, want 0", s.Lead)
		}
	})
}

// named is a claim that says what universe its ids are of.
type named struct{ assigner.Claim }

func (named) Universe() string { return "4711" }

// TestStatsUniverse gets the name of the universe of ids from the claim.
func TestStatsUniverse(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		a := altered{&claimtest.Memory{}, func(c assigner.Claim) assigner.Claim { return named{c} }}
		g := uid.Open(t, start, a, uid.Both{}, uid.NewTestClock())
		if got := g.Stats().Universe; got != "4711" {
			t.Errorf("%s: Universe = %q, want the claim's", kind, got)
		}
	}
}
