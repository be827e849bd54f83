package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

const maxWorker = 1<<10 - 1

// assign claims a worker id.
func assign(tb testing.TB, a assigner.Assigner) assigner.Claim {
	tb.Helper()
	c, err := a.Assign(tb.Context(), maxWorker)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// extend makes a claim's window longer by d.
func extend(tb testing.TB, c assigner.Claim, d time.Duration) {
	tb.Helper()
	if _, err := c.Extend(tb.Context(), until(c).Add(d)); err != nil {
		tb.Fatal(err)
	}
}

func from(c assigner.Claim) time.Time  { from, _ := c.Window(); return from }
func until(c assigner.Claim) time.Time { _, until := c.Window(); return until }

// TestOptions: an option that is out of range is an error that names it and its bound.
func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]lease.Options{
		"First is -1, want 0 or above":                          {First: -1},
		"Last is 2, want 3, which is First, or above":           {First: 3, Last: 2},
		"Last is -1, want 0, which is First, or above":          {Last: -1},
		"Window is 1ms, want 1s to 8784h0m0s":                   {Window: time.Millisecond},
		"Window is 9000h0m0s, want 1s to 8784h0m0s":             {Window: 9000 * time.Hour},
		"Reach is 59m0s, want 1h0m0s, which is three Windows, ": {Reach: 59 * time.Minute},
		"Reach is 25h0m0s, want 30h0m0s, ":                      {Reach: 25 * time.Hour, Window: 10 * time.Hour},
		"is three Windows, to 17568h0m0s":                       {Reach: 17569 * time.Hour},
	} {
		if _, err := lease.New(&memory{}, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want an error with %q", o, err, want)
		}
	}
	// The greatest, and the defaults that follow from them.
	for _, window := range []time.Duration{10 * time.Hour, 366 * 24 * time.Hour} {
		_, err := lease.New(told{&memory{}, &clock{}}, &lease.Options{Window: window, MaxSkew: 366 * 24 * time.Hour})
		if err != nil {
			t.Error(err)
		}
	}
	// An owner that is too long, which a host name can make it, is no reason not to start.
	m, long, cut := &memory{}, strings.Repeat("é", 191), strings.Repeat("é", 190)+"~"
	assign(t, newAssigner(t, m, &lease.Options{Owner: "the server"}).BindOwner(long+"\xffx"))
	if r := recordOf(t, m, slot0); r.Owner != cut {
		t.Errorf("the owner is %q, want 191 characters", r.Owner)
	}
	m = &memory{}
	assign(t, newAssigner(t, m, &lease.Options{Owner: long + "\xffx"}))
	if r := recordOf(t, m, slot0); r.Owner != cut {
		t.Errorf("owner = %q, want 191 characters, a tilde among them", r.Owner)
	}
	for owner, want := range map[string]string{"a\x00\xff\nb": "a???b", long: long} {
		var log strings.Builder
		m = &memory{}
		assign(t, newAssigner(t, m, &lease.Options{Owner: owner, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
		logged := strings.Contains(log.String(), "was changed")
		if r := recordOf(t, m, slot0); r.Owner != want || logged != (owner != want) {
			t.Errorf("owner = %q, want a question mark for each that not every store can hold; logged: %v",
				r.Owner, logged)
		}
	}
	if _, err := lease.New(nil, nil); err == nil {
		t.Error("New(nil) succeeded")
	}
	a := newAssigner(t, &memory{}, &lease.Options{First: 5, Last: 9})
	_, err := a.Assign(t.Context(), 8)
	if !errors.Is(err, assigner.ErrWorkersExhausted) ||
		!strings.Contains(err.Error(), "First is 5 and Last 9, the layout's highest worker id is 8") {
		t.Errorf("Assign in a range beyond the layout = %v", err)
	}
}

// TestReuse: worker ids that are free are used before new ones, and the windows of one worker id
// follow one another.
func TestReuse(t *testing.T) {
	t.Parallel()
	a := newAssigner(t, &memory{}, nil)
	first := assign(t, a)
	if first.Worker() != 0 || !from(first).IsZero() {
		t.Errorf("first claim is worker %d from %v, want 0 from the beginning of time",
			first.Worker(), from(first))
	}
	if left := time.Until(until(first)); left < 19*time.Minute {
		t.Errorf("the window is %v long, want %v", left, 20*time.Minute)
	}
	if c := assign(t, a); c.Worker() != 1 {
		t.Errorf("second claim is worker %d, want 1", c.Worker())
	}
	used := time.Now().Add(-time.Second).Truncate(time.Millisecond)
	if err := first.Release(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	if c := assign(t, a); c.Worker() != 0 || !from(c).Equal(used) {
		t.Errorf("third claim is worker %d from %v, want 0 from %v", c.Worker(), from(c), used)
	}
}

// TestFleet: many processes that start at once on an empty store get one worker id each, the lowest
// ones.
func TestFleet(t *testing.T) {
	t.Parallel()
	const processes = 60
	m := &memory{}
	var log winlog.Log
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			c, err := newAssigner(t, m, nil).Assign(t.Context(), processes-1)
			if err != nil {
				t.Error(err)
				return
			}
			log.Put(winlog.Window{Claim: int64(i), Worker: c.Worker(), From: from(c), Until: until(c)})
		})
	}
	wg.Wait()
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
	_, err := newAssigner(t, m, nil).Assign(t.Context(), processes-1)
	if !errors.Is(err, assigner.ErrWorkersExhausted) ||
		!strings.Contains(err.Error(), "the first until") || strings.Count(err.Error(), "lease:") != 1 {
		t.Errorf("Assign with no slot left = %v", err)
	}
	t.Logf("%d calls of the store for %d processes", m.calls, processes)
}

// TestAnswerLost loses the answer to each single write in the life of a claim, carried out or not.
// None of them loses the claim, and none costs a worker id.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		for broken := 1; broken <= 5; broken++ {
			t.Run(fmt.Sprintf("write %d done %v", broken, done), func(t *testing.T) {
				t.Parallel()
				puts, hit := 0, false
				m := &memory{fault: func(op, _ string) (bool, error) {
					if op == "put" {
						puts++
					}
					if op != "put" || puts != broken || hit {
						return true, nil
					}
					hit = true
					return done, errLost
				}}
				a := newAssigner(t, m, nil)
				c := assign(t, a) // writes header, header, slot
				if c.Worker() != 0 {
					t.Errorf("worker id = %d, want 0", c.Worker())
				}
				extend(t, c, time.Minute)
				if err := c.Release(t.Context(), until(c).Add(-time.Hour)); err != nil {
					t.Error(err)
				}
				if !hit {
					t.Error("the fault was not met")
				}
				if c := assign(t, a); c.Worker() != 0 {
					t.Errorf("worker id after a release = %d, want 0", c.Worker())
				}
			})
		}
	}
}

// TestLostForGood: a claim whose slot has another owner says so at once and for good, and keeps its
// window.
func TestLostForGood(t *testing.T) {
	t.Parallel()
	m := &memory{}
	old := assign(t, newAssigner(t, m, nil))
	fast := newAssigner(t, m, nil)
	fast.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	c := assign(t, fast)
	if c.Worker() != old.Worker() || from(c).Before(until(old)) {
		t.Fatalf("a process whose clock is ahead has worker %d from %v, want %d from %v or later",
			c.Worker(), from(c), old.Worker(), until(old))
	}
	end := until(old)
	for range 2 {
		calls := m.calls
		_, err := old.Extend(t.Context(), end.Add(time.Hour))
		if !errors.Is(err, assigner.ErrClaimLost) || errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrClaimLost alone", err)
		}
		if m.calls > calls+2 {
			t.Errorf("%d calls for a claim that is lost, want at most 2", m.calls-calls)
		}
	}
	if err := old.Release(t.Context(), end); err != nil {
		t.Errorf("Release of a lost claim = %v", err)
	}
	extend(t, c, time.Minute)
}

// TestRefused: a refusal is an error at once, which says once whose it is, and where the store is, and
// keeps its words.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := &memory{fault: func(string, string) (bool, error) {
		return false, fmt.Errorf("%w: no rights", lease.ErrRefused)
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := newAssigner(t, m, nil).Assign(ctx, maxWorker)
	if !errors.Is(err, lease.ErrRefused) || ctx.Err() != nil ||
		err.Error() != "lease: claiming a worker id: the test's memory: lease: the store refuses: no rights" {
		t.Errorf("Assign = %v, want ErrRefused at once", err)
	}
}

// TestAway: Assign waits for a store that is away, and Extend does not.
func TestAway(t *testing.T) {
	t.Parallel()
	m := &memory{}
	c := assign(t, newAssigner(t, m, nil))
	away := func(string, string) (bool, error) { return false, errLost }
	m.set(func() { m.fault = away })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := newAssigner(t, m, nil).Assign(ctx, maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLost) {
		t.Errorf("Assign = %v, want it to wrap ctx's error and the store's", err)
	}
	end := until(c)
	if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, errLost) ||
		errors.Is(err, assigner.ErrClaimLost) || !until(c).Equal(end) {
		t.Errorf("Extend = %v, and the window ends at %v, want %v", err, until(c), end)
	}
	time.AfterFunc(50*time.Millisecond, func() { m.set(func() { m.fault = nil }) })
	if c := assign(t, newAssigner(t, m, nil)); c.Worker() != 1 {
		t.Errorf("worker id after the outage = %d, want 1", c.Worker())
	}
}

// TestLate: an Assign whose window has passed before it read the header claims again.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, wrote, away := &memory{}, false, time.Now().Add(5*time.Second)
		m.fault = func(op, name string) (bool, error) {
			wrote = wrote || op == "put" && name == lease.SlotPrefix+"0"
			if wrote && op == "get" && time.Now().Before(away) {
				return false, errLost
			}
			return true, nil
		}
		c := assign(t, newAssigner(t, m, &lease.Options{Window: time.Second}))
		if c.Worker() != 0 || !until(c).After(time.Now()) || from(c).IsZero() {
			t.Errorf("worker %d from %v until %v, want 0 again, after the window that has passed",
				c.Worker(), from(c), until(c))
		}
	})
}

// TestSlow: an Assign that a call of the store holds up for longer than a window still gives a claim
// whose window lies ahead, and on its first worker id if the delay was before the claim.
func TestSlow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op, name string
		again    bool // the window passed after the claim was made
	}{
		{"list", "", false},
		{"put", lease.HeaderName, false},
		{"get", lease.HeaderName, true},
	} {
		for _, tells := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s, told %v", tt.op, tt.name, tells), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m, slow := &memory{}, 4
					m.fault = func(op, name string) (bool, error) {
						if op == tt.op && name == tt.name && slow > 0 {
							slow--
							time.Sleep(3 * time.Second)
						}
						return true, nil
					}
					var s lease.Store = m
					if tells {
						s = told{m, &clock{}}
					}
					c := assign(t, newAssigner(t, s, &lease.Options{Window: time.Second}))
					if c.Worker() != 0 || !until(c).After(time.Now()) || from(c).IsZero() == tt.again {
						t.Errorf("at %v worker %d from %v until %v, want 0 with a window that has not passed, "+
							"claimed again: %v", time.Now(), c.Worker(), from(c), until(c), tt.again)
					}
				})
			})
		}
	}
}

// TestUnreadable: a slot of another version is left alone, and a store whose header is of another
// version refuses.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, nil)
	c := assign(t, a)
	if err := c.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	m.edit("slot-0", `"v":1`, `"v":2`)
	if c := assign(t, a); c.Worker() != 1 {
		t.Errorf("worker id = %d, want 1, as slot 0 cannot be read", c.Worker())
	}
	m.edit("header", `"v":1`, `"v":2`)
	if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, lease.ErrRefused) ||
		!strings.Contains(err.Error(), "the header has version 2, want 1") {
		t.Errorf("Assign under a header of version 2 = %v", err)
	}
}

// TestSlotsCalls: a listing asks for the time where there are slots, and goes on where an answer was lost.
func TestSlotsCalls(t *testing.T) {
	t.Parallel()
	s := timed{newAmbush()}
	a := newAssigner(t, s, nil)
	asked := s.perhaps(1, "now", "", refused)
	if all, err := a.Slots(t.Context()); err != nil || len(all) != 0 || *asked {
		t.Errorf("Slots of an empty store = %v, %v; the time was asked for: %v", all, err, *asked)
	}
	s.around = nil
	assign(t, a)
	s.once(1, "now", "", refused)
	if all, err := a.Slots(t.Context()); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("Slots without the time = %v, %v, want ErrRefused", all, err)
	}
	s.once(1, "list", "", notDone)
	if all, err := a.Slots(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("Slots with an answer lost = %v, %v, want one", all, err)
	}
}

// TestSlots lists what was assigned.
func TestSlots(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, &lease.Options{Owner: "the test"})
	const layout = "28-22-13-0/1s@2026-01-01T00:00:00Z"
	held, given := assign(t, a.BindLayout(layout)), assign(t, a.BindLayout(layout))
	if err := given.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	all, err := a.Slots(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("Slots = %v, %v, want two", all, err)
	}
	for i := range all {
		all[i].Left = 0
	}
	want := []lease.Slot{
		{Worker: 0, FencingToken: 1, Owner: "the test", Until: until(held), Layout: layout, Newest: layout},
		{Worker: 1, FencingToken: 2, Layout: layout, Newest: layout},
	}
	for i := range all {
		if all[i] != want[i] {
			t.Errorf("slot %d = %+v, want %+v", i, all[i], want[i])
		}
	}
}

// TestSpan: a claim says how long its windows are, whatever the store's clock says.
func TestSpan(t *testing.T) {
	t.Parallel()
	c := assign(t, newAssigner(t, told{&memory{}, &clock{shift: time.Hour}}, &lease.Options{Window: time.Minute}))
	if w, ok := c.(assigner.Windowed); !ok || w.Span() != time.Minute {
		t.Errorf("Span of %T = %v, want 1m", c, ok)
	}
}

// closable is a store that has to be closed.
type closable struct {
	*memory
	closed int
}

// Close counts itself.
func (c *closable) Close() error { c.closed++; return io.EOF }

// TestClose: Close closes a store that can be closed, and does nothing with another one.
func TestClose(t *testing.T) {
	t.Parallel()
	s := &closable{memory: &memory{}}
	if err := newAssigner(t, s, nil).Close(); !errors.Is(err, io.EOF) || s.closed != 1 {
		t.Errorf("Close returned %v and closed the store %d times, want %v and once", err, s.closed, io.EOF)
	}
	if err := newAssigner(t, &memory{}, nil).Close(); err != nil {
		t.Errorf("Close of a store that is no io.Closer returned %v", err)
	}
}

// TestNow: an Assigner tells the time of a store that tells it, and trouble of a moment does not matter.
func TestNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		calls := 0
		s.around = func(_, _ string, run func() error) error {
			if calls++; calls == 1 {
				return errLost
			}
			return run()
		}
		now, err := newAssigner(t, s, nil).Now(t.Context())
		if err != nil || !now.Equal(time.Now().Truncate(time.Millisecond)) || now.Location() != time.UTC || calls != 2 {
			t.Errorf("Now = %v, %v after %d calls, want the store's time in UTC after 2", now, err, calls)
		}
		if now, err := newAssigner(t, &memory{}, nil).Now(t.Context()); err == nil || !now.IsZero() {
			t.Errorf("Now of a store that tells no time = %v, %v, want an error", now, err)
		}
	})
}
