package uid_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestKeeperExtends runs for hours on windows of ten minutes.
func TestKeeperExtends(t *testing.T) {
	eachKind(t, uid.Options{}, nil, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		for range 4 * 60 {
			time.Sleep(time.Minute)
			mustNext(t, g)
			if left := time.Until(g.Stats().WindowUntil); left < 4*time.Minute {
				t.Fatalf("the window ends in %v, want it extended well before its end", left)
			}
		}
		if _, n := a.counts(); n < 4*5 || n > 4*20 {
			t.Errorf("extended %d times in four hours, want about 12 an hour", n)
		}
	})
}

// TestWindowEnd lets the authority fall silent: ids go on to the very end of the window, and not
// one beyond it; then the reason; and on again when the authority is back.
func TestWindowEnd(t *testing.T) {
	down := errors.New("no route to host")
	eachKind(t, uid.Options{SeqStart: 1}, func(a *scriptedAssigner) { a.extend = down },
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			end := a.until
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
			a.set(func(a *scriptedAssigner) { a.extend = nil })
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
	eachKind(t, uid.Options{}, nil, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		last := mustNext(t, g)
		a.set(func(a *scriptedAssigner) {
			a.extend = assigner.ErrClaimLost
			a.worker, a.from, a.until = 0, time.Now().Add(7*time.Minute), time.Now().Add(30*time.Minute)
		})
		deadline, firstNew := a.until, time.Time{}
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
				if firstNew.Before(a.from) {
					t.Fatalf("worker 0 stamps %v, its window begins at %v", firstNew, a.from)
				}
				a.set(func(a *scriptedAssigner) { a.extend = nil })
			}
			if p.Worker == 1 && !firstNew.IsZero() {
				t.Fatalf("worker 1 came back: %+v", p)
			}
		}
		if n, _ := a.counts(); firstNew.IsZero() || n != 2 {
			t.Errorf("assigned %d times, first id of the new worker at %v", n, firstNew)
		}
	})
}

// TestClaimLostForGood is the same with NoReassign.
func TestClaimLostForGood(t *testing.T) {
	eachKind(t, uid.Options{NoReassign: true}, func(a *scriptedAssigner) { a.extend = assigner.ErrClaimLost },
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			for {
				time.Sleep(time.Second)
				if _, err := g.Next(t.Context()); err != nil {
					if !errors.Is(err, uid.ErrClaimLost) {
						t.Fatalf("Next() = %v, want ErrClaimLost", err)
					}
					break
				}
			}
			if time.Now().Before(a.until) {
				t.Errorf("ids stopped %v before the window's end", time.Until(a.until))
			}
			if n, _ := a.counts(); n != 1 {
				t.Errorf("assigned %d times, want once", n)
			}
		})
}

// TestReleaseUsed checks what Close gives back: at or after the last id's tick, and no more than
// the ring was ahead.
func TestReleaseUsed(t *testing.T) {
	eachKind(t, uid.Options{SeqStart: 1}, nil,
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			time.Sleep(30 * time.Second)
			p := g.Parse(mustNext(t, g))
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if len(a.released) != 1 {
				t.Fatalf("released %d times, want once", len(a.released))
			}
			if used := a.released[0].Sub(p.Time); used != time.Second {
				t.Errorf("released from %v after the last id's tick on, want its end: 1 s", used)
			}
			if err := g.Close(); err != nil || len(a.released) != 1 {
				t.Errorf("the second Close() = %v and %d releases, want none of either", err, len(a.released))
			}
		})
}

// boundAssigner records the layout that generators bind it to.
type boundAssigner struct {
	scriptedAssigner
	layout string
}

func (b *boundAssigner) BindLayout(layout string) assigner.Assigner {
	b.layout = layout
	return b
}

func TestBindLayout(t *testing.T) {
	t.Parallel()
	b := &boundAssigner{scriptedAssigner: scriptedAssigner{worker: 1}}
	c, err := uid.NewCached(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if want := (bitsalloc.Layout{}).String(); b.layout != want {
		t.Errorf("bound to the layout %q, want %q", b.layout, want)
	}
}

// TestAssignerErrors checks that what an assigner says reaches the caller, and what it may not say
// is refused.
func TestAssignerErrors(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, a := range []*scriptedAssigner{{err: assigner.ErrWorkersExhausted}, {worker: -1}, {worker: 1 << 22}} {
			g, err := make(t.Context(), a, nil, uid.NewTestClock())
			if err == nil {
				g.Close()
				t.Errorf("%s: worker %d was accepted", name, a.worker)
				continue
			}
			if a.err != nil && !errors.Is(err, a.err) {
				t.Errorf("%s: %v, want it to wrap %v", name, err, a.err)
			}
			if a.err == nil && (!strings.Contains(err.Error(), "worker id is") || len(a.released) != 1) {
				t.Errorf("%s: %v and %d releases, want the bound named and the claim given back",
					name, err, len(a.released))
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
	eachKind(t, uid.Options{Rollback: uid.RollbackHold(time.Minute)}, nil,
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			if _, ok := g.(*uid.Default); ok {
				return // Default promises the order but for this case
			}
			a.set(func(a *scriptedAssigner) {
				a.extend = assigner.ErrClaimLost
				a.worker, a.from, a.until = 0, time.Time{}, time.Time{}
			})
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
	eachKind(t, uid.Options{}, nil, func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
		oldEnd := a.until
		newBegin := oldEnd.Add(5 * time.Minute)
		mustNext(t, g)
		a.set(func(a *scriptedAssigner) {
			a.extend = assigner.ErrClaimLost
			a.from, a.until = newBegin, newBegin.Add(time.Hour)
		})
		began := false
		for range 30 * 60 {
			time.Sleep(time.Second)
			p := g.Parse(mustNext(t, g))
			if end := p.Time.Add(time.Second); end.After(oldEnd) && p.Time.Before(newBegin) {
				t.Fatalf("an id is stamped %v, between the windows' %v and %v", p.Time, oldEnd, newBegin)
			}
			if !p.Time.Before(newBegin) && !began {
				began = true
				a.set(func(a *scriptedAssigner) { a.extend = nil })
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
	eachKind(t, uid.Options{TakePolicy: uid.TakeReject}, nil,
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			if _, ok := g.(*uid.Default); ok {
				return // never borrows
			}
			for range 100_000 {
				_, err := g.Fill(t.Context(), make([]uid.ID, 1024))
				if err != nil {
					t.Fatalf("a call met the window's end: %v", err)
				}
				synctest.Wait()
				if _, n := a.counts(); n > 5 {
					return
				}
			}
			t.Error("the window was not extended")
		})
}

// TestMaxLeadSaturates sets a bound that no clock reaches.
func TestMaxLeadSaturates(t *testing.T) {
	t.Parallel()
	o := &uid.Options{MaxLead: 1<<63 - 1, Layout: bitsalloc.Layout{TimeBits: 61, WorkerBits: 1,
		SeqBits: 1, Tick: time.Nanosecond, Epoch: time.Unix(0, 0)}}
	for name, make := range kinds {
		g, err := make(t.Context(), assignertest.Static(1), o, uid.NewTestClock())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustNext(t, g)
		g.Close()
	}
}

// TestReleaseIsExact: with runs of one id, what is given back begins after the tick of the last id.
func TestReleaseIsExact(t *testing.T) {
	eachKind(t, uid.Options{RunLength: 1}, nil,
		func(t *testing.T, g uid.Generator, a *scriptedAssigner, _ *uid.TestClock) {
			last := g.Parse(mustNext(t, g))
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if want := last.Time.Add(time.Second); !a.released[0].Equal(want) {
				t.Errorf("released from %v on, want from %v, the last id's is %v", a.released[0], want, last.Time)
			}
		})
}
