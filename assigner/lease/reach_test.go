package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestReach: a store that tells the time grants no end beyond its time plus the reach, whatever is
// asked for. Where nothing is left to grant, the error says so at once and names both clocks.
func TestReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &clock{}
		s := told{&memory{}, k}
		c := assign(t, newAssigner(t, s, nil))
		far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 3 {
			want := k.now().Add(reach)
			if got, err := c.Extend(t.Context(), far); err != nil || !got.Equal(want) {
				t.Errorf("Extend to %v = %v, %v, want %v", far, got, err, want)
			}
			calls := s.calls
			_, err := c.Extend(t.Context(), far)
			if !errors.Is(err, assigner.ErrBeyondReach) || errors.Is(err, assigner.ErrClaimLost) ||
				!until(c).Equal(want) || s.calls > calls+2 {
				t.Errorf("Extend beyond %v = %v with %d calls, want ErrBeyondReach", want, err, s.calls-calls)
			}
			for _, text := range []string{"it is " + k.now().UTC().String(), far.String(), "reach is 24h0m0s",
				"the test's memory", "Options.Reach"} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("Extend = %v, want %q in it", err, text)
				}
			}
			time.Sleep(time.Second)
		}
		// The clock of the authority is wrong, not that of the process.
		k.step(-2 * reach)
		if got, err := c.Extend(t.Context(), until(c).Add(time.Second)); !errors.Is(err, assigner.ErrBeyondReach) {
			t.Errorf("Extend on an authority that is two days behind = %v, %v, want ErrBeyondReach", got, err)
		}
		s.edit(slot0, `"until_ms":`, `"until_ms":0,"was":`)
		if _, err := c.Extend(t.Context(), until(c).Add(time.Second)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend of a slot that went back as well = %v, want ErrWentBack", err)
		}
		// Without a clock there is nothing to compare with.
		c = assign(t, newAssigner(t, &memory{}, nil))
		if got, err := c.Extend(t.Context(), far); err != nil || !got.Equal(far) {
			t.Errorf("Extend = %v, %v, want %v", got, err, far)
		}
	})
}

// TestReachOfStore: the longest reach of any process is that of the store, before that process's first
// claim counts. It holds for grants and for what a repair writes.
func TestReachOfStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		a := newAssigner(t, s, nil)
		short := assign(t, a)
		const wide = 100 * time.Hour
		long := assign(t, newAssigner(t, s, &lease.Options{Reach: wide}))
		far := time.Now().Add(1000 * time.Hour)
		want := time.Now().Add(wide)
		if got, err := long.Extend(t.Context(), far); err != nil || !got.Equal(want) {
			t.Errorf("Extend = %v, %v, want %v", got, err, want)
		}
		extend(t, short, time.Millisecond) // reads the header
		if got, err := short.Extend(t.Context(), far); err != nil || !got.Equal(want) {
			t.Errorf("Extend of a process with a shorter reach = %v, %v, want %v", got, err, want)
		}
		s.edit(slot0, `"until_ms":`, `"until_ms":0,"was":`)
		now := time.Now()
		if _, err := short.Extend(t.Context(), far.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend of a slot that went back = %v, want ErrWentBack", err)
		}
		if r := recordOf(t, s.memory, slot0); r.Until != now.Add(wide).UnixMilli() {
			t.Errorf("the repaired slot is %+v, want end %d", r, now.Add(wide).UnixMilli())
		}
		// A restore that names more raises it too, so that claims can begin where it says.
		restored := 200 * time.Hour
		if err := a.Restore(t.Context(), 7, restored, ""); err != nil {
			t.Fatal(err)
		}
		now = time.Now()
		if c := assign(t, newAssigner(t, s, nil)); from(c).Before(now.Add(restored)) ||
			until(c).After(time.Now().Add(restored)) || until(c).Before(from(c).Add(time.Second)) {
			t.Errorf("the window is %v to %v, want one of a second or more from %v", from(c), until(c),
				now.Add(restored))
		}
	})
}

// TestReachForgotten: a store that goes back to before a process with a longer reach is repaired beyond
// the windows of that process, by each process that knew of it.
func TestReachForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		short := assign(t, newAssigner(t, s, nil))
		back := s.backup()
		const wide = 100 * time.Hour
		long := assign(t, newAssigner(t, s, &lease.Options{Reach: wide}))
		extend(t, long, 90*time.Hour)
		extend(t, short, time.Minute) // reads the header
		back()
		now := time.Now()
		if _, err := short.Extend(t.Context(), until(short).Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend of a slot that went back = %v, want ErrWentBack", err)
		}
		if r := recordOf(t, s.memory, slot0); r.Until != now.Add(wide).UnixMilli() {
			t.Errorf("the repaired slot is %+v, want end %d", r, now.Add(wide).UnixMilli())
		}
	})
}

// TestReachShort: a store has the reach of its processes where that is shorter than a day, in what it
// grants and in what a repair writes. A header that names none stands for a day, and so does one that
// is gone, because the store has forgotten what it named.
func TestReachShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		const short = time.Hour
		a := newAssigner(t, s, &lease.Options{Reach: short})
		c := assign(t, a)
		want := func(what string, reach time.Duration) {
			t.Helper()
			now := time.Now()
			s.edit(slot0, `"until_ms":`, `"until_ms":0,"was":`)
			if _, err := c.Extend(t.Context(), until(c).Add(time.Second)); !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("%s: Extend of a slot that went back = %v, want ErrWentBack", what, err)
			}
			if r := recordOf(t, s.memory, slot0); r.Until != now.Add(reach).UnixMilli() {
				t.Errorf("%s: the repaired slot ends %v from now, want %v", what,
					time.UnixMilli(r.Until).Sub(now), reach)
			}
			time.Sleep(reach + time.Second)
			c = assign(t, newAssigner(t, s, &lease.Options{Reach: short}))
		}
		if got, err := c.Extend(t.Context(), time.Now().Add(2*short)); err != nil || !got.Equal(time.Now().Add(short)) {
			t.Errorf("Extend = %v, %v, want an hour from now", got, err)
		}
		want("all processes have a short reach", short)
		s.edit(lease.HeaderName, `"reach_ms":`, `"was":`)
		want("the header names none", 24*time.Hour)
		want("after a claim", 24*time.Hour)
	})
}

// TestReachRestored: Restore leaves a reach as the store has it, however long the default is, and
// raises it only where its own argument or Options.Reach asks for more.
func TestReachRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		assign(t, newAssigner(t, s, &lease.Options{Reach: time.Hour}))
		for _, tt := range []struct {
			asks, reach, want time.Duration
		}{
			{0, 0, time.Hour}, {0, time.Hour, time.Hour}, {0, 2 * time.Hour, 2 * time.Hour},
			{3 * time.Hour, 0, 3 * time.Hour}, {time.Hour, 0, 3 * time.Hour},
		} {
			a := newAssigner(t, s, &lease.Options{Reach: tt.asks})
			if err := a.Restore(t.Context(), 3, tt.reach, ""); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`"reach_ms":%d`, tt.want.Milliseconds())
			e, err := s.Get(t.Context(), lease.HeaderName)
			if err != nil || !strings.Contains(string(e.Value), want) {
				t.Errorf("Restore with %v by an Assigner that asks for %v leaves %s, %v, want %s",
					tt.reach, tt.asks, e.Value, err, want)
			}
		}
	})
}

// TestReachConfirmed: an extension beyond the reach confirms what one before it has reserved.
func TestReachConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		c := assign(t, newAssigner(t, s, nil))
		far := time.Now().Add(10 * reach)
		s.around = func(op, name string, run func() error) error {
			if op == "get" && name == lease.HeaderName {
				return errLost
			}
			return run()
		}
		if _, err := c.Extend(t.Context(), far); !errors.Is(err, errLost) {
			t.Errorf("Extend without the header = %v, want its error", err)
		}
		s.around = nil
		want := time.Now().Add(reach).Truncate(time.Millisecond)
		if end, err := c.Extend(t.Context(), far); err != nil || !end.Equal(want) {
			t.Errorf("Extend = %v, %v, want %v", end, err, want)
		}
	})
}

// TestReachExact: after a store went back, a process claims as soon as its window can be a second
// long, and changes no slot before.
func TestReachExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		a := newAssigner(t, s, nil)
		c, other := assign(t, a), assign(t, newAssigner(t, s, nil))
		if err := other.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		remove(s.memory, slot0)
		begin, soon := time.Now().Add(reach), time.Now().Add(time.Second)
		if _, err := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Fatalf("Extend = %v, want ErrWentBack", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := a.Assign(ctx, maxWorker); !errors.Is(err, assigner.ErrBeyondReach) {
			t.Errorf("Assign at once = %v, want ErrBeyondReach", err)
		}
		time.Sleep(time.Until(soon))
		next := assign(t, a)
		if next.Worker() != 1 || !from(next).Equal(begin) || !until(next).Equal(begin.Add(time.Second)) ||
			!time.Now().Equal(soon) {
			t.Errorf("after %v worker %d from %v to %v, want 1 for a second from %v", time.Since(soon),
				next.Worker(), from(next), until(next), begin)
		}
		if r := recordOf(t, s.memory, slotOf(next)); r.FencingToken != 3 {
			t.Errorf("the slot is %+v, want fencing token 3", r)
		}
	})
}

// TestReachRaised: a claim of a free slot raises the reach of the store to its process's, and costs no
// second slot by it. No process lowers it.
func TestReachRaised(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	header := func() string { return string(s.entries[lease.HeaderName].Value) }
	free := assign(t, newAssigner(t, s, nil))
	if err := free.Release(t.Context(), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if v := header(); strings.Contains(v, "reach_ms") {
		t.Errorf("the header is %s, want no reach, which stands for a day", v)
	}
	c := assign(t, newAssigner(t, s, &lease.Options{Reach: 732 * 24 * time.Hour}))
	if r := recordOf(t, s.memory, slot0); c.Worker() != 0 || r.FencingToken != 3 {
		t.Errorf("worker %d, and its slot is %+v, want 0 and fencing token 3", c.Worker(), r)
	}
	assign(t, newAssigner(t, s, nil))
	if v := header(); !strings.Contains(v, `"reach_ms":63244800000`) || len(s.entries) != 5 { // two slots and their notes
		t.Errorf("the header is %s, want a reach of 732 days", v)
	}
}

// TestReachGone: while a header is gone, what the store has forgotten may reach a day. That is not the
// store's reach once the header is back, neither for claims nor for a list of layouts that is taken
// back.
func TestReachGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := told{&memory{}, &clock{}}
		const short = `"reach_ms":3600000`
		o := &lease.Options{Reach: time.Hour}
		a := newAssigner(t, s, o)
		both := layoutOld + "," + beginning(time.Now().Add(30*24*time.Hour))
		lost, kept := assign(t, a.BindLayout(both)), assign(t, a.BindLayout(both))
		back := s.backup()
		remove(s.memory, lease.HeaderName, slotOf(lost))
		if _, err := lost.Extend(t.Context(), until(lost).Add(time.Second)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		back()
		far := time.Now().Add(48 * time.Hour)
		if end, err := kept.Extend(t.Context(), far); err != nil || !end.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("Extend = %v, %v, want an hour from now", end, err)
		}
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); err != nil {
			t.Error(err)
		}
		if v := string(s.entries[lease.HeaderName].Value); !strings.Contains(v, short) {
			t.Errorf("the header is %s, want %s in it", v, short)
		}
		// Restore by a process with a short reach does not make what was forgotten shorter.
		remove(s.memory, lease.HeaderName)
		if err := newAssigner(t, s, o).Restore(t.Context(), 1, 0, layoutOld); err != nil {
			t.Error(err)
		}
		if v := string(s.entries[lease.HeaderName].Value); strings.Contains(v, "reach_ms") {
			t.Errorf("the header is %s, want no reach, which stands for a day", v)
		}
	})
}
