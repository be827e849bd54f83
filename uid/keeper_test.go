package uid_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestKeeperExtends runs for hours on windows of ten minutes.
func TestKeeperExtends(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		for range 4 * 60 {
			time.Sleep(time.Minute)
			mustNext(t, g)
			if left := time.Until(g.Stats().WindowUntil); left < 4*time.Minute {
				t.Fatalf("the window ends in %v, want it extended well before its end", left)
			}
		}
		if n := len(extensions(a.Memory)); n < 4*5 || n > 4*20 {
			t.Errorf("extended %d times in four hours, want about 12 an hour", n)
		}
	})
}

// TestKeepersSpread starts a fleet in one instant: its extensions are spread over an eighth of a
// window each time, so that the authority does not get all of them at once.
func TestKeepersSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const fleet = 50
		m := &claimtest.Memory{Length: time.Hour}
		o := &uid.DefaultOptions{Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12,
			Tick: time.Millisecond, Epoch: bubbleEpoch}}
		for range fleet {
			d, err := uid.NewDefault(t.Context(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
		}
		begin := time.Now()
		time.Sleep(time.Hour)
		seconds := map[time.Duration]int{}
		for _, c := range m.Calls() {
			if c.Op == claimtest.OpExtend && c.At.Sub(begin) < 40*time.Minute {
				seconds[c.At.Sub(begin).Truncate(time.Second)]++
			}
		}
		most := 0
		for _, n := range seconds {
			most = max(most, n)
		}
		if len(seconds) < fleet*3/4 || most > fleet/10 {
			t.Errorf("%d processes extend in %d different seconds, %d of them in one, want nearly as many "+
				"seconds as processes", fleet, len(seconds), most)
		}
	})
}

// TestWindowEnd lets the authority fall silent: ids go on to the very end of the window, and not
// one beyond it; then the reason; and on again when the authority is back.
func TestWindowEnd(t *testing.T) {
	down := errors.New("no route to host")
	eachKind(t, uid.Both{SeqStart: 1}, func(a *place) { a.Fail(down, claimtest.OpExtend) },
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			end := bubbleStart.Add(a.Length)
			var last uid.ID
			for {
				id, err := g.Next(t.Context())
				if err != nil {
					if !errors.Is(err, uid.ErrClaimExpired) || !errors.Is(err, down) {
						t.Fatalf("after the window's end: %v, want ErrClaimExpired and its cause", err)
					}
					break
				}
				p := g.Parse(id)
				if !p.Time.Add(time.Second).Before(end.Add(time.Nanosecond)) {
					t.Fatalf("an id is stamped %v, the window ends at %v", p.Time, end)
				}
				last = id
				time.Sleep(100 * time.Millisecond)
			}
			if at := g.Parse(last).Time; end.Sub(at) > 2*time.Second {
				t.Errorf("the last id is stamped %v before the window's end, want it used to the end", end.Sub(at))
			}
			if now := time.Now(); now.Before(end) {
				t.Errorf("ids stopped %v before the window's end", end.Sub(now))
			}
			if err := g.Stats().Err; !errors.Is(err, uid.ErrClaimExpired) {
				t.Errorf("Stats().Err = %v, want ErrClaimExpired", err)
			}
			time.Sleep(time.Hour)
			a.Fail(nil)
			time.Sleep(time.Minute)
			id := mustNext(t, g)
			if p := g.Parse(id); id <= last || time.Since(p.Time) > 2*time.Second || p.Worker != 1 {
				t.Errorf("after the outage: %+v, want a fresh id of worker 1 above %d", p, last)
			}
		})
}

// TestClaimLost lets someone take the worker id over: a new claim, with a new worker id, goes on
// without a restart.
func TestClaimLost(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		last := mustNext(t, g)
		from, firstNew := time.Now().Add(7*time.Minute), time.Time{}
		a.lose(0, from, 23*time.Minute)
		deadline := from.Add(23 * time.Minute)
		for time.Since(deadline) < time.Hour {
			time.Sleep(time.Second)
			id := mustNext(t, g)
			p := g.Parse(id)
			if id <= last {
				t.Fatalf("%d came after %d", id, last)
			}
			last = id
			if p.Worker == 0 && firstNew.IsZero() {
				firstNew = p.Time
				if firstNew.Before(from) {
					t.Fatalf("worker 0 stamps %v, its window begins at %v", firstNew, from)
				}
			}
			if p.Worker == 1 && !firstNew.IsZero() {
				t.Fatalf("worker 1 came back: %+v", p)
			}
		}
		if n := len(a.Calls(claimtest.OpAssign)); firstNew.IsZero() || n != 2 {
			t.Errorf("assigned %d times, first id of the new worker at %v", n, firstNew)
		}
	})
}

// TestClaimLostForGood is the same where no other worker id is left.
func TestClaimLostForGood(t *testing.T) {
	eachKind(t, uid.Both{}, nil,
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			a.Fail(assigner.ErrWorkersExhausted, claimtest.OpAssign)
			a.Lose(1)
			for {
				time.Sleep(time.Second)
				if _, err := g.Next(t.Context()); err != nil {
					if !errors.Is(err, assigner.ErrClaimLost) {
						t.Fatalf("Next() = %v, want ErrClaimLost", err)
					}
					break
				}
			}
			if end := bubbleStart.Add(a.Length); time.Now().Before(end) {
				t.Errorf("ids stopped %v before the window's end", time.Until(end))
			}
			if n := g.Stats().Claims; n != 1 {
				t.Errorf("%d claims, want one", n)
			}
		})
}

// TestReleaseUsed checks what Close gives back: at or after the last id's tick, and no more than
// the ring was ahead.
func TestReleaseUsed(t *testing.T) {
	eachKind(t, uid.Both{SeqStart: 1}, nil,
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			time.Sleep(30 * time.Second)
			p := g.Parse(mustNext(t, g))
			mustClose(t, g)
			released := a.Calls(claimtest.OpRelease)
			if len(released) != 1 {
				t.Fatalf("released %d times, want once", len(released))
			}
			if used := released[0].Asked.Sub(p.Time); used != time.Second {
				t.Errorf("released from %v after the last id's tick on, want its end: 1 s", used)
			}
			if err := g.Close(); err != nil || len(a.Calls(claimtest.OpRelease)) != 1 {
				t.Errorf("the second Close() = %v, calls %v, want no error and no release", err, a.Calls())
			}
		})
}

func TestBindLayout(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	uid.Open(t, uid.NewCachedAt, m, uid.Both{}, uid.NewTestClock())
	if _, err := m.BindLayout((bitsalloc.Layout{}).String()).Assign(t.Context(), 7); err != nil {
		t.Errorf("another claim for the generator's layout: %v", err)
	}
	if _, err := m.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("a claim for no layout: %v, want ErrLayoutMismatch", err)
	}
}

// misnamed is a claim that says that it is for another worker id.
type misnamed struct {
	assigner.Claim
	worker int64
}

func (c misnamed) Worker() int64 { return c.worker }

// TestAssignerErrors checks that what an assigner says reaches the caller, and what it may not say
// is refused.
func TestAssignerErrors(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		m := &claimtest.Memory{}
		m.Fail(assigner.ErrWorkersExhausted)
		_, err := make(t.Context(), m, nil, uid.NewTestClock())
		if !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("%s: %v, want it to wrap ErrWorkersExhausted", name, err)
		}
		for _, worker := range []int64{-1, 1 << 22} {
			m := &claimtest.Memory{}
			g, err := make(t.Context(), altered{m, func(c assigner.Claim) assigner.Claim {
				return misnamed{c, worker}
			}}, nil, uid.NewTestClock())
			if err == nil {
				g.Close()
				t.Errorf("%s: worker %d was accepted", name, worker)
				continue
			}
			if n := len(m.Calls(claimtest.OpRelease)); !strings.Contains(err.Error(), "worker id is") || n != 1 {
				t.Errorf("%s: %v and %d releases, want the bound named and the claim given back", name, err, n)
			}
		}
		if _, err := make(t.Context(), nil, nil, uid.NewTestClock()); !errors.Is(err, uid.ErrOptions) {
			t.Errorf("%s without an assigner: %v, want ErrOptions", name, err)
		}
	}
}

// TestClaimLostInTick replaces worker 1 by worker 0 in the middle of a tick: only a new tick keeps
// one lane's ids increasing.
func TestClaimLostInTick(t *testing.T) {
	eachKind(t, uid.Both{Rollback: uid.RollbackHold(time.Minute)}, nil,
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			if _, ok := g.(*uid.Default); ok {
				return // Default promises the order but for this case
			}
			a.lose(0, time.Time{}, claimtest.Endless)
			var last uid.ID
			for begin, worker := time.Now(), int64(1); worker == 1; {
				id := mustNext(t, g)
				if worker = g.Parse(id).Worker; id <= last {
					t.Fatalf("%d of worker %d came after %d", id, worker, last)
				}
				last = id
				time.Sleep(7 * time.Millisecond)
				if time.Since(begin) > time.Hour {
					t.Fatal("the worker id was never replaced")
				}
			}
		})
}

// TestClaimRegained loses worker 1 and gets the same worker id again, with a window that begins
// later: what lies between the two windows belongs to another owner.
func TestClaimRegained(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		oldEnd := bubbleStart.Add(a.Length)
		newBegin := oldEnd.Add(5 * time.Minute)
		mustNext(t, g)
		a.between(t, 5*time.Minute, time.Hour)
		began := false
		for range 30 * 60 {
			time.Sleep(time.Second)
			p := g.Parse(mustNext(t, g))
			if end := p.Time.Add(time.Second); end.After(oldEnd) && p.Time.Before(newBegin) {
				t.Fatalf("an id is stamped %v, between the windows' %v and %v", p.Time, oldEnd, newBegin)
			}
			if !p.Time.Before(newBegin) && !began {
				began = true
			}
		}
		if !began {
			t.Error("no id was stamped in the new window")
		}
	})
}

// TestBurstExtends borrows far beyond the window: the keeper is at work before the position gets to
// its end, so that no call sees it.
func TestBurstExtends(t *testing.T) {
	eachKind(t, uid.Both{TakePolicy: uid.TakeReject}, nil,
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			if _, ok := g.(*uid.Default); ok {
				return // never borrows
			}
			for range 100_000 {
				_, err := g.Fill(t.Context(), make([]uid.ID, 1024))
				if err != nil {
					t.Fatalf("a call met the window's end: %v", err)
				}
				synctest.Wait()
				if len(extensions(a.Memory)) > 5 {
					return
				}
			}
			t.Error("the window was not extended")
		})
}

// TestMaxLeadSaturates sets a bound that no clock reaches.
func TestMaxLeadSaturates(t *testing.T) {
	t.Parallel()
	o := uid.Both{MaxLead: 1<<63 - 1, Layout: bitsalloc.Layout{TimeBits: 61, WorkerBits: 1,
		SeqBits: 1, Tick: time.Nanosecond, Epoch: time.Unix(0, 0)}}
	for _, make := range kinds {
		mustNext(t, uid.Open(t, make, claimtest.Static(1), o, uid.NewTestClock()))
	}
}

// TestReleaseIsExact: with runs of one id, what is given back begins after the tick of the last id.
func TestReleaseIsExact(t *testing.T) {
	eachKind(t, uid.Both{RunLength: 1}, nil,
		func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
			last := g.Parse(mustNext(t, g))
			mustClose(t, g)
			used := a.Calls(claimtest.OpRelease)[0].Asked
			if want := last.Time.Add(time.Second); !used.Equal(want) {
				t.Errorf("released from %v on, want from %v, the last id's is %v", used, want, last.Time)
			}
		})
}

// TestClaimLostReminder loses a claim that cannot be replaced: the log says that it is lost, and
// five minutes later that it still is.
func TestClaimLostReminder(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := losing(10 * time.Minute)
	bubble(t, "default", a, uid.Both{Logger: logger},
		func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			a.Fail(errDown, claimtest.OpAssign)
			for log.of("claim lost") == 0 {
				time.Sleep(time.Second)
			}
			time.Sleep(4*time.Minute + 58*time.Second)
			if n := log.of("lost claim still not replaced"); n != 0 {
				t.Errorf("within five minutes the log was reminded %d times", n)
			}
			time.Sleep(30 * time.Second)
			if n := log.of("lost claim still not replaced"); n != 1 {
				t.Errorf("after five minutes the log was reminded %d times, want once", n)
			}
		})
}
