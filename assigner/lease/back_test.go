package lease_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

// TestWentBack: whatever state the store goes back to while an owner works, the owner stops at its
// window's end, says what happened, and leaves a slot that lets no other claim begin inside that
// window. What it claims next begins beyond what others may have had.
func TestWentBack(t *testing.T) {
	t.Parallel()
	const window = time.Hour
	type world struct {
		m     *memory
		owner *lease.Assigner
		claim assigner.Claim
		log   winlog.Log
	}
	claim := func(t *testing.T, w *world) { w.claim = assign(t, w.owner) }
	other := func(t *testing.T, w *world, n int64) assigner.Claim {
		c := assign(t, newAssigner(t, w.m, nil))
		if c.Worker() != 0 {
			t.Fatalf("the other has worker %d, want the forgotten 0", c.Worker())
		}
		w.log.Put(winlog.Window{Claim: n, From: from(c), Until: until(c)})
		return c
	}
	// given leaves slot 0 free for the next claim.
	given := func(t *testing.T, w *world) {
		c := assign(t, newAssigner(t, w.m, nil))
		if err := c.Release(t.Context(), time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		before func(*testing.T, *world) // what happens before the backup
		after  func(*testing.T, *world) // what happens between backup and restore
		since  func(*testing.T, *world) // what happens after the restore
		is     string                   // what the error says of the slot
		shared bool                     // another process has stamped in the owner's window
		ahead  bool                     // and the slot's fencing token is beyond the owner's
	}{
		{name: "an extension", before: claim,
			after: func(t *testing.T, w *world) { extend(t, w.claim, time.Minute) },
			is:    "is at fencing token 1 of owner"},
		{name: "the claim", before: given, after: claim, is: `is at fencing token 2 of owner ""`},
		{name: "everything", after: claim, is: "is gone"},
		{name: "the claim, and another made one", before: given, after: claim, shared: true,
			since: func(t *testing.T, w *world) { other(t, w, 100) }, is: "is at fencing token 3 of owner"},
		{name: "the claim, and another made, extended and gave back one", before: given, after: claim,
			shared: true, ahead: true, is: `is at fencing token 5 of owner ""`,
			since: func(t *testing.T, w *world) {
				c := other(t, w, 100)
				extend(t, c, time.Minute)
				if err := c.Release(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &world{m: &memory{}}
			w.owner = newAssigner(t, w.m, &lease.Options{Window: window, Owner: "the owner"})
			if tt.before != nil {
				tt.before(t, w)
			}
			restore := w.m.backup()
			tt.after(t, w)
			end := until(w.claim)
			restore()
			if tt.since != nil {
				tt.since(t, w)
			}
			for range 2 {
				_, err := w.claim.Extend(t.Context(), end.Add(window))
				if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) ||
					!strings.Contains(err.Error(), tt.is) || strings.Count(err.Error(), "lease:") != 1 ||
					strings.Contains(err.Error(), "and the slot claimed from since") != tt.ahead {
					t.Fatalf("Extend = %v, want ErrClaimLost, ErrWentBack and %q", err, tt.is)
				}
			}
			if !until(w.claim).Equal(end) {
				t.Errorf("the window ends at %v after the refusal, want %v as before", until(w.claim), end)
			}
			put := func(n int64, c assigner.Claim) {
				w.log.Put(winlog.Window{Claim: n, Worker: c.Worker(), From: from(c), Until: until(c)})
			}
			if !tt.shared {
				put(0, w.claim)
			}
			// A process that knows nothing of the claim claims the slot with a clock beyond all
			// windows.
			late := newAssigner(t, w.m, nil)
			late.SetClock(func() time.Time { return end.Add(time.Hour) })
			if tt.name == "everything" {
				// The header is gone as well, so that nothing is claimed until it is repaired.
				if _, err := late.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Assign without a header = %v, want ErrWentBack", err)
				}
				if err := late.Restore(t.Context(), 0, window, ""); err != nil {
					t.Fatal(err)
				}
			}
			for n := range int64(3) {
				put(n+1, assign(t, late))
			}
			again := assign(t, w.owner)
			if from(again).Before(end) || from(again).Before(time.Now().Add(reach-time.Minute)) {
				t.Errorf("the owner's next window begins at %v, want a reach from now and not before %v",
					from(again), end)
			}
			put(10, again)
			if err := w.log.Overlap(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAssignWentBack: a process that claims again finds out that the slots of its earlier claims
// went back.
func TestAssignWentBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before bool // the backup has the slot
	}{{"a slot", true}, {"everything", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &memory{}
			a := newAssigner(t, m, nil)
			restore := m.backup()
			if tt.before {
				if err := assign(t, a).Release(t.Context(), time.Time{}); err != nil {
					t.Fatal(err)
				}
				restore = m.backup()
			}
			c := assign(t, a)
			end := until(c)
			restore()
			_, err := a.Assign(t.Context(), maxWorker)
			if !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("Assign = %v, want ErrWentBack", err)
			}
			next := assign(t, a)
			if from(next).Before(end) {
				t.Errorf("the next window of worker %d begins at %v, want %v or later",
					next.Worker(), from(next), end)
			}
		})
	}
}

// TestDeleted: the worker id of a slot that was deleted is not given out again, and without a header
// none is.
func TestDeleted(t *testing.T) {
	t.Parallel()
	m := &memory{}
	gone := assign(t, newAssigner(t, m, nil))
	m.set(func() { delete(m.entries, "slot-0") })
	if c := assign(t, newAssigner(t, m, nil)); c.Worker() != 1 {
		t.Errorf("worker id = %d, want 1", c.Worker())
	}
	_, err := newAssigner(t, m, &lease.Options{Last: 0}).Assign(t.Context(), 0)
	if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("Assign of a deleted slot alone = %v, want ErrWorkersExhausted that says why", err)
	}
	if _, err := gone.Extend(t.Context(), until(gone).Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend of the deleted slot = %v, want ErrWentBack", err)
	}
	m.set(func() { delete(m.entries, "header") })
	if _, err := newAssigner(t, m, nil).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Assign without a header = %v, want ErrWentBack", err)
	}
}

// TestRestore: after Restore no process claims what may have been forgotten, and owners lose their
// claims.
func TestRestore(t *testing.T) {
	t.Parallel()
	m := &memory{}
	const layout = "28-22-13-0/1s@2026-01-01T00:00:00Z"
	owner := assign(t, newAssigner(t, m, nil).BindLayout(layout))
	a := newAssigner(t, m, nil)
	const reach = 3 * time.Hour
	begin := time.Now()
	for range 2 {
		if err := a.Restore(t.Context(), 7, reach, layout); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := owner.Extend(t.Context(), until(owner).Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) ||
		errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend after Restore = %v, want ErrClaimLost", err)
	}
	c := assign(t, newAssigner(t, m, nil).BindLayout(layout))
	if c.Worker() != 8 || from(c).Before(begin.Add(reach).Truncate(time.Millisecond)) {
		t.Errorf("the next claim is worker %d from %v, want 8 from %v", c.Worker(), from(c), begin.Add(reach))
	}
}

// TestRestoreBounds: the greatest values that Restore takes, and those beyond them.
func TestRestoreBounds(t *testing.T) {
	t.Parallel()
	const highest, reach, length = 1 << 53, 2 * 366 * 24 * time.Hour, 2048
	restore := func(highest int64, reach time.Duration, length int) error {
		layout := layoutA + "," + strings.Repeat("x", length-len(layoutA)-1)
		return newAssigner(t, &memory{}, nil).Restore(t.Context(), highest, reach, layout)
	}
	for _, err := range []error{restore(highest, 0, 99), restore(0, reach, 99), restore(0, 0, length)} {
		if err != nil {
			t.Errorf("Restore of the greatest = %v", err)
		}
	}
	for want, err := range map[string]error{
		"is -1, want 0 to 9007199254740992":               restore(-1, 0, 99),
		"is 9007199254740993, want 0 to 9007199254740992": restore(highest+1, 0, 99),
		"is -1ns, want 0 to 17568h0m0s":                   restore(0, -1, 99),
		"is 17568h0m0.000000001s, want 0 to 17568h0m0s":   restore(0, reach+1, 99),
		"has 2049 bytes, want at most 2048":               restore(0, 0, length+1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Restore out of range = %v, want %q", err, want)
		}
	}
}

// TestRestoreShorter: Restore moves nothing back, neither the floor of an earlier one nor an end. A slot
// that cannot be read is left alone, and those after it are not.
func TestRestoreShorter(t *testing.T) {
	t.Parallel()
	s := timed{newAmbush()}
	a := newAssigner(t, s, nil)
	for range 2 {
		assign(t, a)
	}
	put(s.memory, slot0, `{"v":7}`)
	if err := a.Restore(t.Context(), 1, 3*time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	floor := func() (text string) {
		s.set(func() { text = string(s.entries[lease.HeaderName].Value) })
		_, text, _ = strings.Cut(text, `"floor_ms":`)
		text, _, _ = strings.Cut(text, ",")
		return text
	}
	was, end := floor(), recordOf(t, s.memory, "slot-1").Until
	if err := a.Restore(t.Context(), 1, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	if got := recordOf(t, s.memory, "slot-1").Until; got != end || end < time.Now().Add(2*time.Hour).UnixMilli() ||
		was == "" || floor() != was {
		t.Errorf("the end is %d, and the floor %s, want %d and %s as before", got, floor(), end, was)
	}
	if s.set(func() {
		if got := string(s.entries[slot0].Value); got != `{"v":7}` || len(s.entries) != 5 { // two notes
			t.Errorf("slot-0 is %s among %v, want it left alone", got, s.entries)
		}
	}); s.version == 0 {
		t.Error("nothing was changed")
	}
	puts := s.version
	s.once(1, "now", "", refused)
	if err := a.Restore(t.Context(), 1, time.Hour, ""); !errors.Is(err, lease.ErrRefused) || s.version != puts {
		t.Errorf("Restore without the time = %v, and %d changes, want none", err, s.version-puts)
	}
}

// TestReleaseWentBack: a slot that was given back, and has its owner again in the restored state, is
// told apart from one that was never given back.
func TestReleaseWentBack(t *testing.T) {
	t.Parallel()
	m, k := &memory{}, &clock{}
	a := newAssigner(t, m, nil)
	a.SetClock(k.now)
	c := assign(t, a)
	restore := m.backup()
	if err := c.Release(t.Context(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	restore()
	k.step(time.Hour)
	if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Assign = %v, want ErrWentBack", err)
	}
}

// reach is the default of Options.Reach.
const reach = 24 * time.Hour

// found is when a test notices that the store went back, after the claim.
const found = 10 * time.Minute

// behind returns a claim at fencing token 2 whose slot is replaced by a text, which may have the claim's
// end, or is deleted if text is empty. found has passed since the claim.
func behind(t *testing.T, s lease.Store, m *memory, text string) (a *lease.Assigner, c assigner.Claim) {
	t.Helper()
	a = newAssigner(t, s, nil)
	c = assign(t, a)
	extend(t, c, time.Millisecond)
	if text == "" {
		remove(m, slot0)
	} else {
		end := until(c).UnixMilli()
		universe := recordOf(t, m, lease.HeaderName).Universe
		text = strings.Replace(text, `,"until_ms"`, `,"universe":"`+universe+`","until_ms"`, 1)
		text = strings.ReplaceAll(text, "END", strconv.FormatInt(end, 10))
		put(m, slot0, strings.ReplaceAll(text, "FLOOR", strconv.FormatInt(end+1, 10)))
	}
	time.Sleep(found)
	return a, c
}

// TestForgotten: where a store has forgotten a claim, the next window begins a whole reach after that
// was found, because any window up to there may be forgotten as well. A slot that is there gets that
// end and no owner, and its fencing token does not go back. One that is missing, and has a note, stays
// missing. A slot as Restore leaves it shows that nothing is forgotten any more.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		release    bool  // to where nothing was stamped, else an extension
		generation int64 // of the slot after it; 0: there is none
		restored   bool  // the header has a floor where the slot ends
	}{
		{name: "deleted"},
		{name: "deleted, and nothing stamped", release: true},
		{name: "deleted after Restore", restored: true},
		{name: "another's", text: `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":END}`, generation: 3},
		{name: "another's, ends early", text: `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`, generation: 3},
		{name: "another's of later", text: `{"v":1,"gen":9,"token":"t","owner":"x","until_ms":5}`, generation: 10},
		{name: "free", text: `{"v":1,"gen":2,"token":"t","owner":"","until_ms":5}`, generation: 3},
		{name: "repaired", text: `{"v":1,"gen":1,"token":"t","owner":"","until_ms":END}`, generation: 3},
		{name: "restored", text: `{"v":1,"gen":1,"token":"t","owner":"","until_ms":FLOOR}`, generation: 1,
			restored: true},
		{name: "restored, and another's since", text: `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":FLOOR}`,
			generation: 1, restored: true},
		{name: "deleted, and made anew after Restore", text: `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":END}`,
			generation: 3, restored: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a, c := behind(t, s, s.memory, tt.text)
				floor := until(c).Add(time.Millisecond).UnixMilli()
				if tt.restored {
					s.edit(lease.HeaderName, `"used"`, fmt.Sprintf(`"floor_ms":%d,"used"`, floor))
				}
				now, end := time.Now(), time.Now().Add(reach).UnixMilli()
				if tt.release {
					if err := c.Release(t.Context(), time.Time{}); err != nil {
						t.Errorf("Release = %v", err)
					}
				} else {
					_, err := c.Extend(t.Context(), until(c).Add(time.Hour))
					if !errors.Is(err, assigner.ErrWentBack) || strings.Contains(err.Error(), "could not be repaired") {
						t.Errorf("Extend = %v, want ErrWentBack, and the slot repaired", err)
					}
				}
				want := now.Add(reach).UTC()
				if tt.restored && tt.generation <= 1 {
					end, want = floor, time.UnixMilli(floor).UTC() // where the header's new worker ids begin
				}
				if tt.generation == 0 {
					if e, _ := s.Get(t.Context(), slot0); e.Version != "" {
						t.Errorf("the slot is %s, want none", e.Value)
					}
				} else if r := recordOf(t, s.memory, slot0); r.FencingToken != tt.generation || r.Until != end {
					t.Errorf("the slot is %+v, want fencing token %d and end %d", r, tt.generation, end)
				}
				if c := assign(t, a); !from(c).Equal(want) {
					t.Errorf("the next window begins at %v, want %v", from(c), want)
				}
			})
		})
	}
}

// TestRepairFails: an extension makes a repair that fails for now again. Where a repair is refused, or
// an Assign's one fails, the error says so, and the next Assign makes it.
func TestRepairFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, op string
		how      func(s *ambush, run func() error) error
		refused  bool
	}{
		{name: "no time", op: "now", how: func(*ambush, func() error) error { return errLost }},
		{name: "not done", op: "put", how: func(*ambush, func() error) error { return errLost }},
		{name: "done", op: "put", how: func(_ *ambush, run func() error) error { return done(run) }},
		{name: "conflict", op: "put", how: func(s *ambush, run func() error) error {
			s.edit(slot0, "gen", "gen")
			return run()
		}},
		{name: "refused", op: "put", refused: true,
			how: func(*ambush, func() error) error { return lease.ErrRefused }},
	} {
		for _, by := range []string{"Extend", "Assign"} {
			t.Run(tt.name+", by "+by, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := timed{newAmbush()}
					a, c := behind(t, s, s.memory, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`)
					n, name := 1, ""
					if tt.op == "put" {
						name = slot0
						if by == "Extend" {
							n = 2 // after the one that shows that the slot is not the claim's
						}
					} else if by == "Assign" {
						n = 2 // after the search for free slots
					}
					met := s.once(n, tt.op, name, func(run func() error) error { return tt.how(s.ambush, run) })
					now := time.Now()
					var err error
					if by == "Extend" {
						_, err = c.Extend(t.Context(), until(c).Add(time.Hour))
					} else {
						_, err = a.Assign(t.Context(), maxWorker)
					}
					unknown := by == "Assign" && (tt.name == "done" || tt.name == "not done")
					if failed := tt.refused || unknown; !errors.Is(err, assigner.ErrWentBack) || !*met ||
						strings.Contains(err.Error(), "could not be repaired: ") != failed {
						t.Errorf("%s = %v, want ErrWentBack, with a repair that failed: %v", by, err, failed)
					}
					left := tt.refused || unknown && tt.name == "not done"
					want := record{FencingToken: 3, Until: now.Add(reach).UnixMilli()}
					if left {
						want = record{FencingToken: 1, Owner: "x", Until: 5}
					}
					if r := recordOf(t, s.memory, slot0); r.FencingToken != want.FencingToken ||
						r.Owner != want.Owner ||
						r.Until < want.Until {
						t.Errorf("the slot is %+v, want %+v", r, want)
					}
					if left {
						if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
							t.Errorf("Assign = %v, want ErrWentBack", err)
						}
						if r := recordOf(t, s.memory, slot0); r.FencingToken != 3 {
							t.Errorf("the slot is %+v, want fencing token 3", r)
						}
					}
					begin := now.Add(reach)
					if c := assign(t, a); from(c).Before(begin) || from(c).After(begin.Add(time.Minute)) {
						t.Errorf("the next window begins at %v, want %v", from(c), begin)
					}
				})
			})
		}
	}
}

// TestWentBackAgain: a store that goes back once more, from the repaired slot to the claim, is found
// out as well, also where the answer to the repair was lost.
func TestWentBackAgain(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"Extend", "Extend, unanswered", "Assign"} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a := newAssigner(t, s, nil)
			c := assign(t, a)
			restore := s.backup()
			if by == "Extend, unanswered" {
				s.once(2, "put", slot0, done)
			}
			put(s.memory, slot0, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5,"universe":"`+
				recordOf(t, s.memory, lease.HeaderName).Universe+`"}`)
			end := until(c)
			var err error
			if by != "Assign" {
				_, err = c.Extend(t.Context(), end.Add(time.Hour))
			} else {
				_, err = a.Assign(t.Context(), maxWorker)
			}
			if !errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("%s = %v, want ErrWentBack", by, err)
			}
			restore()
			time.Sleep(time.Hour)
			if c, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("Assign = %v, %v, want ErrWentBack", c, err)
			}
		})
	}
}
