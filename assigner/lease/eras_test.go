package lease_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestRestoreBeforeEra: a store goes back to before a layout was added. After Restore a process that
// does not know the layout claims first, and gets no window beyond its start.
func TestRestoreBeforeEra(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a := newAssigner(t, m, nil)
		assign(t, a.BindLayout(layoutOld))
		restore := m.backup()
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		knows := assign(t, a.BindLayout(both))
		restore()
		if err := newAssigner(t, m, nil).Restore(t.Context(), 9, time.Hour, both); err != nil {
			t.Fatal(err)
		}
		layoutIs(t, m, both)
		time.Sleep(90 * time.Minute)
		c := assign(t, newAssigner(t, m, nil).BindLayout(layoutOld))
		if _, err := c.Extend(t.Context(), begin.Add(time.Hour)); err != nil {
			t.Error(err)
		}
		if until(c).After(begin) {
			t.Errorf("the window of a process that does not know the layout ends at %v, want %v", until(c), begin)
		}
		if _, err := knows.Extend(t.Context(), begin.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of the forgotten claim = %v, want ErrClaimLost", err)
		}
		c = assign(t, newAssigner(t, m, nil).BindLayout(both))
		extend(t, c, 5*time.Hour)
		if !until(c).After(begin) {
			t.Errorf("the window of a process that knows the layout ends at %v, want later than %v", until(c), begin)
		}
	})
}

// TestLayoutForgotten: a claim that knows a layout which the store has not, or only announced, gets no
// window beyond its start: others may not know it.
func TestLayoutForgotten(t *testing.T) {
	t.Parallel()
	for _, announced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			begin := time.Now().Add(2 * time.Hour)
			next := beginning(begin)
			both, has := layoutOld+","+next, layoutOld
			if announced {
				has += "|" + next
			}
			c := assign(t, newAssigner(t, m, nil).BindLayout(both))
			headerIs(m, both, has)
			if _, err := c.Extend(t.Context(), begin.Add(time.Hour)); err != nil || !until(c).Equal(begin) {
				t.Errorf("Extend = %v until %v, want until %v", err, until(c), begin)
			}
			_, err := c.Extend(t.Context(), begin.Add(time.Hour))
			if !errors.Is(err, assigner.ErrLayoutMismatch) || errors.Is(err, assigner.ErrClaimLost) ||
				!strings.Contains(err.Error(), "taken back or forgotten: it stops at "+begin.String()) {
				t.Errorf("Extend = %v, want ErrLayoutMismatch", err)
			}
			headerIs(m, has, both)
			extend(t, c, time.Hour)
		})
	}
}

// TestTakeBack: a layout that has not begun is taken back. Processes that do not know it run through
// its start from then on, and one that does stops there.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		old := assign(t, a.BindLayout(layoutOld))
		knows := assign(t, a.BindLayout(both))
		for layout, want := range map[string]string{
			"": `this one has ""`,
			both + "," + beginning(begin.Add(time.Hour)): "want the beginning of this list",
			layoutA: "other claims have the layout",
		} {
			if err := a.TakeBack(t.Context(), layout); !errors.Is(err, assigner.ErrLayoutMismatch) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("TakeBack to %q = %v, want %q", layout, err, want)
			}
		}
		layoutIs(t, s.memory, both)
		s.once(1, "put", lease.HeaderName, done)
		for range 2 {
			if err := a.TakeBack(t.Context(), layoutOld); err != nil {
				t.Fatal(err)
			}
			layoutIs(t, s.memory, layoutOld)
		}
		far := begin.Add(time.Hour)
		if end, err := old.Extend(t.Context(), far); err != nil || !end.Equal(far) {
			t.Errorf("Extend without the layout = %v, %v, want %v", end, err, far)
		}
		if end, err := knows.Extend(t.Context(), far); err != nil || !end.Equal(begin) {
			t.Errorf("Extend with the layout = %v, %v, want its start, %v", end, err, begin)
		}
	})
}

// TestTakeBackRefused: a layout that has begun, or in which a window may have ids, is not taken back,
// also if that window grows while the slots are listed.
func TestTakeBackRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"begun", "began at"},
		{"reached", "the window of worker 0 reaches"},
		{"reached meanwhile", "the window of worker 0 reaches"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a := newAssigner(t, s, nil)
				begin := time.Now().Add(2 * time.Hour)
				both := layoutOld + "," + beginning(begin)
				knows := assign(t, a.BindLayout(both))
				switch tt.name {
				case "begun":
					time.Sleep(2 * time.Hour)
				case "reached":
					extend(t, knows, 2*time.Hour)
				default:
					s.once(1, "put", lease.HeaderName, func(run func() error) error {
						extend(t, knows, 2*time.Hour)
						return run()
					})
				}
				if err := a.TakeBack(t.Context(), layoutOld); !errors.Is(err, assigner.ErrLayoutMismatch) ||
					!strings.Contains(err.Error(), tt.want) {
					t.Errorf("TakeBack = %v, want %q", err, tt.want)
				}
				layoutIs(t, s.memory, both)
				// Nothing goes beyond its start without the layout, and what knows it goes on.
				c, err := a.BindLayout(layoutOld).Assign(t.Context(), maxWorker)
				if err == nil && until(c).After(begin) || err != nil && !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("Assign without the layout = %v, %v", c, err)
				}
				extend(t, assign(t, a.BindLayout(both)), 3*time.Hour)
				layoutIs(t, s.memory, both)
			})
		})
	}
}

// written returns the layouts that the header gets from now on.
func written(s *ambush) *[]string {
	var got []string
	before := s.around
	s.around = func(op, name string, run func() error) error {
		if before != nil {
			inner := run
			run = func() error { return before(op, name, inner) }
		}
		err := run()
		if op == "put" && name == lease.HeaderName && err == nil {
			var r record
			_ = json.Unmarshal(s.entries[name].Value, &r)
			got = append(got, r.Layout)
		}
		return err
	}
	return &got
}

// TestLayoutSteps: a layout is added and taken back in the steps that there are, whichever call gets no
// answer, and a refusal ends it.
func TestLayoutSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := beginning(time.Now().Add(100*time.Hour)), beginning(time.Now().Add(200*time.Hour))
		const a = layoutOld
		take := func(s timed) error { return newAssigner(t, s, nil).TakeBack(t.Context(), a) }
		add := func(s timed) error {
			_, err := newAssigner(t, s, nil).BindLayout(a+","+b).Assign(t.Context(), maxWorker)
			return err
		}
		for _, tt := range []struct {
			what   string
			layout string
			do     func(timed) error
			n      int // the call that meets answer
			call   string
			answer func(func() error) error
			want   []string
			err    error
		}{
			// The first, before the others have waited.
			{"take back what begins now", a + ",28-22-13-0/1s@2000-01-01T00:00:00Z", take, 1, "now ", answered,
				nil, assigner.ErrLayoutMismatch},
			{"add", a, add, 2, "list ", notDone, []string{a + "|" + b, a + "," + b}, nil},
			{"add", a, add, 2, "list ", refused, nil, lease.ErrRefused},
			{"add", a, add, 1, "put header", refused, nil, lease.ErrRefused},
			{"settle", a + "|" + b, add, 2, "list ", notDone, []string{a + "," + b}, nil},
			{"settle", a + "|" + b, add, 1, "put header", refused, nil, lease.ErrRefused},
			{"take back", a + "," + b, take, 1, "get header", notDone, []string{a + "~" + b, a}, nil},
			{"take back", a + "," + b, take, 1, "list ", notDone, []string{a + "~" + b, a}, nil},
			{"take back", a + "," + b, take, 2, "list ", notDone, []string{a + "~" + b, a}, nil},
			{"take back", a + "," + b, take, 1, "put header", notDone, []string{a + "~" + b, a}, nil},
			{"take back", a + "," + b, take, 1, "put header", refused, nil, lease.ErrRefused},
			{"take back what is announced", a + "|" + b, take, 1, "list ", notDone, []string{a}, nil},
			{"take back two", a + "," + b + "|" + c, take, 1, "list ", notDone,
				[]string{a + "," + b, a + "~" + b, a}, nil},
			{"take back what has begun", a + ",28-22-13-0/1s@1999-12-31T23:59:59Z", take, 1, "now ", notDone,
				nil, assigner.ErrLayoutMismatch},
		} {
			s := timed{newAmbush()}
			free := assign(t, newAssigner(t, s, nil).BindLayout(a))
			if err := free.Release(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
			headerIs(s.memory, a, tt.layout)
			op, name, _ := strings.Cut(tt.call, " ")
			met := s.once(tt.n, op, name, tt.answer)
			got := written(s.ambush)
			if err := tt.do(s); !errors.Is(err, tt.err) || !slices.Equal(*got, tt.want) || !*met {
				t.Errorf("%s, with %s: %v, and the header had %q, want %v and %q", tt.what, tt.call, err, *got, tt.err,
					tt.want)
			}
		}
	})
}

// TestTakingBackKnown: a claim that knows a layout which is being taken back settles it again, however
// far windows reach: it was settled, so they may.
func TestTakingBackKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		extend(t, assign(t, a.BindLayout(both)), 3*time.Hour)
		headerIs(s.memory, both, layoutOld+"~"+beginning(begin))
		extend(t, assign(t, a.BindLayout(both)), 3*time.Hour)
		layoutIs(t, s.memory, both)
	})
}

// TestLayoutRefused: a layout is refused where a window may reach beyond its start, be it one that the
// store shows or one that it does not have: then the header stays as it was. A list that is older
// than the header proves nothing.
func TestLayoutRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		for text, want := range map[string]error{
			`"used":[]`:       assigner.ErrLayoutMismatch, // there may have been notes
			`"used":[[0,1]]`:  assigner.ErrLayoutMismatch,
			`"used":[[7,12]]`: assigner.ErrLayoutMismatch,
			`"used":[],"move":{"token":"t","from":"x","done":false}`: assigner.ErrLayoutMismatch,
		} {
			for _, early := range []time.Duration{1, 0} {
				s := newAmbush()
				put(s.memory, lease.HeaderName, fmt.Sprintf(`{"v":1,"token":"t","layout":%q,"floor_ms":%d,"universe":"u",%s}`,
					layoutOld, begin.UnixMilli()+early.Nanoseconds(), text))
				before := s.entries[lease.HeaderName].Version
				_, err := newAssigner(t, s, nil).BindLayout(both).Assign(t.Context(), maxWorker)
				refused := early > 0
				if (err != nil) != refused || refused && !errors.Is(err, want) ||
					(s.entries[lease.HeaderName].Version == before) != refused {
					t.Errorf("%s, %v early: Assign = %v, want it refused: %v", text, early, err, refused)
				}
			}
		}
		s := newAmbush()
		c := assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		extend(t, c, 10*time.Hour)
		before := s.entries[lease.HeaderName].Version
		_, err := newAssigner(t, s, nil).BindLayout(both).Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrLayoutMismatch) || s.entries[lease.HeaderName].Version != before {
			t.Errorf("Assign = %v, and the header is %s, want ErrLayoutMismatch and it as it was", err,
				s.entries[lease.HeaderName].Value)
		}
		old := s.backup()
		if err := c.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		s.edit(lease.HeaderName, "used", "used")
		now := s.backup()
		met := s.once(2, "list", "", func(run func() error) error {
			old()
			defer now()
			return run()
		})
		if c, err := newAssigner(t, s, nil).BindLayout(both).Assign(t.Context(), maxWorker); err != nil || !*met {
			t.Errorf("Assign after an old list = %v, %v, want a claim", c, err)
		}
	})
}

// TestTakeBackTrouble: a TakeBack that fails for a moment does not go on with half of what it has to know.
func TestTakeBackTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		s := newAmbush()
		assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		old := s.entries[lease.HeaderName]
		assign(t, newAssigner(t, s, nil).BindLayout(both))
		s.edit(lease.HeaderName, `"changes":`, `"changes":1`) // as many more
		h := s.entries[lease.HeaderName]
		assign(t, newAssigner(t, s, nil).BindLayout(both))
		s.set(func() { s.entries[lease.HeaderName] = old })
		s.edit(lease.HeaderName, layoutOld, both)
		s.once(1, "list", "", notDone)
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("TakeBack of a header that was put back = %v, want ErrWentBack", err)
		}
		layoutIs(t, s.memory, both)
		s.set(func() { s.entries[lease.HeaderName] = h })

		s.once(2, "put", lease.HeaderName, refused)
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("TakeBack = %v, want ErrRefused", err)
		}
		half := recordOf(t, s.memory, lease.HeaderName).Layout
		s.once(2, "list", "", refused)
		err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld)
		if !errors.Is(err, lease.ErrRefused) || half == both {
			t.Errorf("TakeBack = %v, and the header had %q, want ErrRefused", err, half)
		}
		layoutIs(t, s.memory, half)
	})
	synctest.Test(t, func(t *testing.T) {
		both := layoutOld + "," + beginning(time.Now().Add(2*time.Hour))
		s := timed{newAmbush()}
		assign(t, newAssigner(t, s, nil).BindLayout(both))
		time.Sleep(2 * time.Hour)
		s.once(1, "now", "", notDone)
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); err == nil ||
			!strings.Contains(err.Error(), "began at") {
			t.Errorf("TakeBack of a layout that has begun = %v, want it refused", err)
		}
		layoutIs(t, s.memory, both)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, false)
		both := layoutOld + "," + beginning(time.Now().Add(2*time.Hour))
		assign(t, newAssigner(t, s, nil).BindLayout(both))
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); err != nil || s.lists.Load() > 0 {
			t.Errorf("TakeBack = %v after %d lists of a Numberer, want none", err, s.lists.Load())
		}
	})
}
