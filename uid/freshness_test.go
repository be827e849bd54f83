package uid_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestFreshWithoutPadder lets a caller fill an empty ring at a position that grows old, because the padder stands still: it moves to the present when
// ids of its tick would be too old before the padder's next look but one, and not before.
func TestFreshWithoutPadder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pause time.Duration
		ticks int64 // from the position to the id
	}{{0, 0}, {1499 * time.Millisecond, 0}, {1500 * time.Millisecond, 1}, {1501 * time.Millisecond, 1}, {2 * time.Second, 2}, {time.Hour, 3600}} {
		synctest.Test(t, func(t *testing.T) {
			o := uid.Options{SeqStart: 1, RunLength: 16, BoostPower: uid.NoBoost}
			stop, resume := stoppable(&o)
			c := cachedAt(t, o, uid.NewTestClock())
			defer c.Close()
			defer resume()
			stop()
			time.Sleep(250 * time.Millisecond)
			synctest.Wait()
			if _, err := c.Fill(t.Context(), make([]uid.ID, 8192)); err != nil {
				t.Fatal(err)
			}
			last := c.Parse(mustNext(t, c)) // the caller's own filling: 64 runs, of which these are the first
			if _, err := c.Fill(t.Context(), make([]uid.ID, 64*16-1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(last.Time.Add(tc.pause)))
			p := c.Parse(mustNext(t, c))
			if ticks := p.Tick - last.Tick; ticks != tc.ticks {
				t.Errorf("%v behind the begin of the position's tick the id is %d ticks ahead of it, want %d", tc.pause, ticks, tc.ticks)
			}
		})
	}
}

// TestFreshLanes looks at the lanes behind each of the padder's looks: what is left may wait for two more of them and is not too old then.
func TestFreshLanes(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Options{Lanes: lanes}, uid.NewTestClock())
			defer c.Close()
			for range 400 {
				mustNext(t, c)
				time.Sleep(250 * time.Millisecond)
				synctest.Wait()
				if lag := c.Stats().Lag; lag >= 1500*time.Millisecond {
					t.Fatalf("behind a look the oldest id in the lanes is %v old, want less than 2 s less two intervals of 250 ms", lag)
				}
			}
		})
	}
}

// TestFreshFromTheEpoch begins at the layout's first tick, where nothing can be old enough to be dropped at first.
func TestFreshFromTheEpoch(t *testing.T) {
	t.Parallel()
	for _, start := range []int64{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, uid.Options{Layout: bitsalloc.Layout{Epoch: time.Now()}, SeqStart: start, BoostPower: uid.NoBoost}, uid.NewTestClock())
			defer c.Close()
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

// TestFreshBehindOutage uses a window up to its end while the authority is down for an hour. The position stays there, with nothing in the ring or the
// lanes that could be seen to be old: the first id of the next window is of the present all the same.
func TestFreshBehindOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(10 * time.Minute), extend: errDown}
		c, err := uid.NewCachedAt(t.Context(), a, &uid.Options{Layout: bubbleLayout()}, uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for ids := make([]uid.ID, 8192); err == nil; {
			_, err = c.Fill(t.Context(), ids)
		}
		if !errors.Is(err, uid.ErrClaimExpired) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		a.set(func(a *scriptedAssigner) { a.extend = nil })
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

// TestFreshAndOnce lets the padder move to the present at all rates, in rings that hold a tick or less than two: the position may be in the present's
// tick already, behind the number that the tick would start at, and must not go back there.
func TestFreshAndOnce(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 4, 16} {
		for _, pause := range []time.Duration{70 * time.Millisecond, 390 * time.Millisecond, 1100 * time.Millisecond} {
			t.Run(fmt.Sprintf("run=%d/%v", run, pause), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := uid.Options{RunLength: run, BoostPower: uid.NoBoost, Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 6, Epoch: bubbleEpoch}}
					c := cachedAt(t, o, uid.NewTestClock())
					defer c.Close()
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

// TestFreshWords sets the clock ahead so that the padder's next look comes as many ticks behind the tenure's base as a lane's word tells apart, or one more
// or less: a word that cannot hold the tick stands for another one.
func TestFreshWords(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: bubbleEpoch}
	k := uid.NewCodec(41, 22, 12, 9, 0)
	_, _, _, ticks := k.Fields()
	const interval = 200 * time.Millisecond
	for _, gene := range []int{0, 2} {
		for _, more := range []int64{-1, 0, 1} {
			synctest.Test(t, func(t *testing.T) {
				clock := uid.NewTestClock()
				l := l
				l.WorkerBits, l.GeneBits = l.WorkerBits-gene, gene
				c := cachedAt(t, uid.Options{Layout: l, RunLength: 512, SeqStart: 1, BoostPower: uid.NoBoost, MaxJump: 1 << 62, ScheduleInterval: interval}, clock)
				defer c.Close()
				mustNext(t, c)
				// The base is the tick before the first.
				clock.Step(time.Duration(ticks-1+more)*time.Millisecond - interval)
				time.Sleep(interval)
				synctest.Wait()
				for range 10 {
					id := mustNext(t, c)
					if lag := clock.Now().Sub(c.Parse(id).Time); lag < 0 || lag > time.Second || c.Parse(id).Worker != 1 {
						t.Fatalf("%d%+d ticks ahead: %+v at %v", ticks, more, c.Parse(id), clock.Now())
					}
				}
			})
		}
	}
}

// TestFreshStarts makes generators one after the other: their first ids are spread as those behind a pause are.
func TestFreshStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		offsets := map[int64]bool{}
		for range 50 {
			c := cachedAt(t, uid.Options{RunLength: 512}, uid.NewTestClock())
			offsets[c.Parse(mustNext(t, c)).Seq%512] = true
			c.Close()
			time.Sleep(time.Second)
		}
		if len(offsets) < 40 {
			t.Errorf("the first ids of 50 generators are at %d offsets in their runs, want about 48", len(offsets))
		}
	})
}

// TestClaimRegainedInBurst loses worker 1, gets the same worker id again with a window that begins later, and takes ids far faster than the clock goes:
// what lies between the two windows is somebody else's.
func TestClaimRegainedInBurst(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 512} {
		synctest.Test(t, func(t *testing.T) {
			a := &scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(20 * time.Second)}
			c, err := uid.NewCachedAt(t.Context(), a, &uid.Options{Layout: bubbleLayout(), RunLength: run}, uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			oldEnd, newBegin := a.until, a.until.Add(10*time.Second)
			a.set(func(a *scriptedAssigner) {
				a.extend = assigner.ErrClaimLost
				a.from, a.until = newBegin, newBegin.Add(time.Hour)
			})
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
