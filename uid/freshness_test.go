package uid_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestFreshWithoutPadder lets a caller fill an empty ring at a position that grows old, because the
// padder is stopped: it moves to the current tick when ids of its tick would be too old within two
// padder intervals, and not before.
func TestFreshWithoutPadder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pause time.Duration
		ticks int64 // from the position to the id
	}{{0, 0}, {1499 * time.Millisecond, 0}, {1500 * time.Millisecond, 1},
		{1501 * time.Millisecond, 1}, {2 * time.Second, 2}, {time.Hour, 3600}} {
		synctest.Test(t, func(t *testing.T) {
			o := uid.Both{SeqStart: 1, RunLength: 16, BoostPower: uid.NoBoost, PaddingFactor: 1}
			c := cachedAt(t, o, uid.NewTestClock())
			c.StopPadder()
			last := c.Parse(mustNext(t, c))
			for c.Stats().Position.Equal(last.Time) {
				last = c.Parse(mustNext(t, c))
			}
			c.Empty()
			last.Time, last.Tick = c.Stats().Position, last.Tick+1
			time.Sleep(time.Until(last.Time.Add(tc.pause)))
			p := c.Parse(mustNext(t, c))
			if ticks := p.Tick - last.Tick; ticks != tc.ticks {
				t.Errorf("%v after the start of the position's tick the id is %d ticks ahead of "+
					"it, want %d", tc.pause, ticks, tc.ticks)
			}
		})
	}
}

// TestFreshLanes looks at the lanes after each of the padder's looks: what is left may wait for two
// more of them and is not too old then. A run of the highest worker that is a whole tick ends right
// where the next tick's numbers begin.
func TestFreshLanes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lanes, run int
		worker     int64
	}{{1, 0, 1}, {4, 0, 1}, {1, 8192, 1<<22 - 1}} {
		synctest.Test(t, func(t *testing.T) {
			c := uid.Open(t, uid.NewCachedAt, claimtest.Static(tc.worker),
				uid.Both{Lanes: tc.lanes, RunLength: tc.run}, uid.NewTestClock())
			for range 400 {
				mustNext(t, c)
				time.Sleep(250 * time.Millisecond)
				synctest.Wait()
				if lag := c.Stats().Lag; lag >= 1500*time.Millisecond {
					t.Fatalf("%+v: after a look the oldest id in the lanes is %v old, "+
						"want less than 2 s less two intervals of 250 ms", tc, lag)
				}
			}
		})
	}
}

// TestLag takes ids at a standstill of the padder: Lag counts from the oldest id that is left, in a
// lane or in the ring, and the position counts only when neither has one.
func TestLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1, RunLength: 16, BoostPower: uid.NoBoost,
			PaddingFactor: 1, MaxLag: time.Hour}, uid.NewTestClock())
		c.StopPadder()
		take := func(n int) {
			t.Helper()
			mustFill(t, c, make([]uid.ID, n))
		}
		want := func(what string, lag time.Duration) {
			t.Helper()
			if got := c.Stats().Lag; got != lag {
				t.Errorf("%s: Lag = %v, want %v", what, got, lag)
			}
		}
		time.Sleep(10*time.Second + 300*time.Millisecond)
		want("the ring has the first tick", 10300*time.Millisecond)
		take(8192 - 16 - 1)
		want("the lane has one id of the first tick, the ring its last run", 10300*time.Millisecond)
		take(2)
		if first := c.Stats().Position; time.Since(first) != 9300*time.Millisecond {
			t.Fatalf("the position is %v old, want 9.3 s", time.Since(first))
		}
		want("the lane has the first tick's last ids", 10300*time.Millisecond)
		take(15)
		want("nothing is left", 9300*time.Millisecond)
	})
}

// TestFreshFromTheEpoch begins at the layout's first tick, where nothing can be old enough to be
// dropped at first.
func TestFreshFromTheEpoch(t *testing.T) {
	t.Parallel()
	for _, start := range []int64{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Both{Layout: bitsalloc.Layout{Epoch: time.Now()},
				SeqStart: start, BoostPower: uid.NoBoost}, uid.NewTestClock())
			last := uid.ID(-1)
			for range 60 {
				id := mustNext(t, c)
				if lag := time.Since(c.Parse(id).Time); id <= last || lag > 2*time.Second {
					t.Fatalf("%d came after %d, %v old", id, last, lag)
				}
				last = id
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
}

// TestFreshBehindOutage uses a window up to its end while the authority is down for an hour. The
// position stays there, with nothing in the ring or the lanes that could be seen to be old: the
// first id of the next window is of the current tick all the same.
func TestFreshBehindOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(10 * time.Minute)
		a.Fail(errDown, claimtest.OpExtend)
		c := uid.Open(t, uid.NewCachedAt, a, uid.Both{}, uid.NewTestClock())
		var err error
		for ids := make([]uid.ID, 8192); err == nil; {
			_, err = c.Fill(t.Context(), ids)
		}
		if !errors.Is(err, uid.ErrClaimExpired) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		a.Fail(nil)
		for {
			id, err := c.Next(t.Context())
			if err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			if lag := time.Since(c.Parse(id).Time); lag > 2*time.Second {
				t.Errorf("the first id behind the outage is %v old", lag)
			}
			break
		}
	})
}

// TestFreshAndOnce lets the padder move to the current tick at all rates, in rings that hold a tick or
// less than two: the position may be in the current tick already, below the number that the tick
// would start at, and must not go back there.
func TestFreshAndOnce(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 4, 16} {
		for _, pause := range []time.Duration{70 * time.Millisecond, 390 * time.Millisecond, 1100 * time.Millisecond} {
			t.Run(fmt.Sprintf("run=%d/%v", run, pause), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := uid.Both{RunLength: run, BoostPower: uid.NoBoost,
						Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 6,
							Epoch: bubbleEpoch}}
					c := cachedAt(t, o, uid.NewTestClock())
					last := uid.ID(-1)
					for i := range 3000 {
						for range 1 + i%5*i%7 {
							id := mustNext(t, c)
							if id <= last {
								t.Fatalf("%+v came after %+v", c.Parse(id), c.Parse(last))
							}
							last = id
						}
						time.Sleep(pause)
					}
				})
			})
		}
	}
}

// TestFreshStarts makes generators one after the other: their first ids are spread as those after
// a pause are.
func TestFreshStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		offsets := map[int64]bool{}
		for range 50 {
			c := cachedAt(t, uid.Both{RunLength: 512}, uid.NewTestClock())
			offsets[c.Parse(mustNext(t, c)).Seq%512] = true
			c.Close()
			time.Sleep(time.Second)
		}
		if len(offsets) < 40 {
			t.Errorf("the first ids of 50 generators are at %d offsets in their runs, want about 48", len(offsets))
		}
	})
}

// TestClaimRegainedInBurst loses worker 1, gets the same worker id again with a window that begins
// later, and takes ids far faster than the clock goes: what lies between the two windows is
// of another owner.
func TestClaimRegainedInBurst(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 512} {
		synctest.Test(t, func(t *testing.T) {
			a := newPlace(20 * time.Second)
			c := uid.Open(t, uid.NewCachedAt, a, uid.Both{RunLength: run}, uid.NewTestClock())
			oldEnd := bubbleStart.Add(a.Length)
			newBegin := oldEnd.Add(10 * time.Second)
			a.between(t, 10*time.Second, time.Hour)
			last := uid.Parts{ID: -1}
			for ids := make([]uid.ID, 1000); last.Time.Before(newBegin.Add(time.Minute)); {
				n, err := c.Fill(t.Context(), ids)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range ids[:n] {
					p := c.Parse(id)
					if p.Time.Add(time.Second).After(oldEnd) && p.Time.Before(newBegin) || id <= last.ID {
						t.Fatalf("%+v came after %+v; the windows end at %v and begin at %v", p, last, oldEnd, newBegin)
					}
					last = p
				}
				synctest.Wait()
			}
		})
	}
}

// TestLagOfLane leaves an id in a lane while the ring is empty: Lag counts from it, and from nothing
// when it is gone.
func TestLagOfLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1, MaxLead: time.Nanosecond}, uid.NewTestClock())
		c.StopPadder()
		mustFill(t, c, make([]uid.ID, 8191))
		time.Sleep(1300 * time.Millisecond)
		if s := c.Stats(); s.Len != 0 || s.Lag != 1300*time.Millisecond || s.Lead != 0 {
			t.Errorf("with one id in a lane, Len = %d, Lag = %v, Lead = %v, want 0, 1.3 s and 0",
				s.Len, s.Lag, s.Lead)
		}
		mustNext(t, c)
		if lag := c.Stats().Lag; lag != 0 {
			t.Errorf("without any id, Lag = %v", lag)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a burst leaves ids that are ahead of the clock
		c := cachedAt(t, uid.Both{SeqStart: 1}, uid.NewTestClock())
		mustFill(t, c, make([]uid.ID, 3*8192))
		if s := c.Stats(); s.Lag != 0 || s.Lead != 2*time.Second {
			t.Errorf("three ticks used up, Lag = %v, Lead = %v, want 0 and 2 s", s.Lag, s.Lead)
		}
	})
}

// TestFreshAheadOfClock makes generators whose claims begin ahead of the clock: their first ids are
// spread, too.
func TestFreshAheadOfClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seqs := map[int64]bool{}
		for range 50 {
			a := newPlace(claimtest.Endless)
			a.From = time.Now().Add(3 * time.Second)
			c := uid.Open(t, uid.NewCachedAt, a, uid.Both{RunLength: 16}, uid.NewTestClock())
			p := c.Parse(mustNext(t, c))
			if time.Until(p.Time) != 3*time.Second {
				t.Errorf("the first id's time is %v ahead, want 3 s", time.Until(p.Time))
			}
			seqs[p.Seq/16] = true
			mustClose(t, c)
			time.Sleep(time.Second)
		}
		if len(seqs) < 35 {
			t.Errorf("the first ids of 50 generators are in %d runs of a tick, want about 45", len(seqs))
		}
	})
}
