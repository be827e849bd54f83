package lease_test

import (
	"context"
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

// layoutOld begins before the first instant of a bubble.
const layoutOld = "28-22-13-0/1s@1990-01-01T00:00:00Z"

// headerIs changes the layouts of the header.
func headerIs(m *memory, from, to string) {
	m.edit(lease.HeaderName, `"layout":"`+from+`"`, `"layout":"`+to+`"`)
}

// TestLayoutAnnounced begins where a process died that had announced a layout: a claim that does not
// know the layout is cut at its start and leaves the header alone; the next claim that knows it takes
// it back if a window reaches further, else settles it.
func TestLayoutAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		old := assign(t, a.BindLayout(layoutOld))
		begin := until(old).Add(10 * time.Minute)
		want := begin.Add(time.Hour)
		both, announced := layoutOld+","+beginning(begin), layoutOld+"|"+beginning(begin)
		headerIs(s.memory, layoutOld, announced)
		// The slot is written before the header shows the layout.
		if end, err := old.Extend(t.Context(), want); err != nil || !end.Equal(begin) {
			t.Errorf("Extend beyond an announced layout = %v, %v, want its start, %v", end, err, begin)
		}
		if end, err := old.Extend(t.Context(), want); !errors.Is(err, assigner.ErrSuperseded) ||
			!strings.Contains(err.Error(), "it stops at "+begin.String()) {
			t.Errorf("Extend at the start of an announced layout = %v, %v, want ErrSuperseded", end, err)
		}
		if c := assign(t, a.BindLayout(layoutOld)); until(c).After(begin) {
			t.Errorf("the window ends at %v, want %v, where the announced layout begins, or before", until(c), begin)
		}
		layoutIs(t, s.memory, announced)
		_, err := a.BindLayout(both).Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrLayoutMismatch) || !strings.Contains(err.Error(), "let it begin later") {
			t.Errorf("Assign with a layout that begins before a window's end = %v, want ErrLayoutMismatch", err)
		}
		layoutIs(t, s.memory, layoutOld)
		end, err := old.Extend(t.Context(), want)
		if err != nil || end.Before(want) {
			t.Errorf("Extend after the layout was taken back = %v, %v, want %v", end, err, want)
		}
		// A layout may begin where the latest window ends.
		begin = time.UnixMilli(max(recordOf(t, s.memory, slot0).Until, end.UnixMilli()))
		both, announced = layoutOld+","+beginning(begin), layoutOld+"|"+beginning(begin)
		headerIs(s.memory, layoutOld, announced)
		c := assign(t, a.BindLayout(both))
		layoutIs(t, s.memory, both)
		extend(t, c, 10*time.Hour)
		if r := recordOf(t, s.memory, lease.SlotPrefix+"2"); r.Layout != both {
			t.Errorf("the slot has the layout %q, want %q", r.Layout, both)
		}
	})
}

// TestLayoutTakenBack: a layout that is announced cuts no window that is reserved already, keeps one
// from growing without a check of its slot, and cuts nothing any more once it is taken back.
func TestLayoutTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil).BindLayout(layoutOld)
		before := assign(t, a)
		end := until(before)
		begin := end.Add(-30 * time.Second)
		announced := layoutOld + "|" + beginning(begin)
		headerIs(s.memory, layoutOld, announced)
		after := assign(t, a) // cut from the start
		looks := 0
		s.around = func(op, name string, run func() error) error {
			if op == "get" && name != lease.HeaderName {
				looks++
			}
			return run()
		}
		want := end.Add(time.Hour)
		for _, tt := range []struct {
			c     assigner.Claim
			until time.Time
		}{{before, end}, {after, begin}} {
			for range 2 {
				if end, err := tt.c.Extend(t.Context(), want); !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("Extend beyond an announced layout = %v, %v, want ErrSuperseded", end, err)
				}
				if !until(tt.c).Equal(tt.until) {
					t.Errorf("the window ends at %v, want %v as before", until(tt.c), tt.until)
				}
			}
		}
		if looks != 1 {
			t.Errorf("%d looks at slots, want 1, of the claim that did not know the layout", looks)
		}
		headerIs(s.memory, announced, layoutOld)
		for _, c := range []assigner.Claim{before, after} {
			if end, err := c.Extend(t.Context(), want); err != nil || end.Before(want) {
				t.Errorf("Extend after the layout was taken back = %v, %v, want %v or later", end, err, want)
			}
		}
	})
}

// TestLayoutCutToNothing: a layout that is announced while a claim is made, and cuts all of its
// window or all that is left of it, ends the claim. It costs one worker id.
func TestLayoutCutToNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		floor, begin time.Duration
	}{
		{"before now", 0, -time.Minute},
		{"now", 0, 0},
		{"before the floor", time.Hour, 30 * time.Minute},
		{"at the floor", time.Hour, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a := newAssigner(t, s, nil)
				if err := a.Restore(t.Context(), 0, 0, layoutOld); err != nil {
					t.Fatal(err)
				}
				s.edit(lease.HeaderName, `"floor_ms":`, fmt.Sprintf(`"floor_ms":%d,"was":`,
					time.Now().Add(tt.floor).UnixMilli()))
				s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
					headerIs(s.memory, layoutOld, layoutOld+"|"+beginning(time.Now().Add(tt.begin)))
					return run()
				})
				c, err := a.BindLayout(layoutOld).Assign(t.Context(), maxWorker)
				if !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("Assign = %v, %v, want ErrSuperseded", c, err)
				}
				if n := len(s.entries); n != 3 {
					t.Errorf("%d entries, want the header, one slot and its note", n)
				}
			})
		})
	}
}

// TestLayoutBegun: from the instant at which a layout begins, a process that does not know it is refused,
// whether it learns of the layout before it takes a worker id or while it does. Before, it uses none up.
func TestLayoutBegun(t *testing.T) {
	t.Parallel()
	for _, ago := range []time.Duration{time.Minute, 0} {
		for _, meanwhile := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a := newAssigner(t, s, nil).BindLayout(layoutOld)
				assign(t, a)
				begin := func() { headerIs(s.memory, layoutOld, layoutOld+","+beginning(time.Now().Add(-ago))) }
				if meanwhile {
					s.once(1, "put", lease.NotePrefix+"1", func(run func() error) error { begin(); return run() })
				} else {
					begin()
				}
				if c, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("Assign without a layout that has begun = %v, %v, want ErrSuperseded", c, err)
				}
				if n := len(s.entries); n != 3 && !meanwhile {
					t.Errorf("begun %v ago: %d entries, want the header, one slot and its note", ago, n)
				}
			})
		}
	}
}

// TestLayoutSettledMeanwhile: another process settles a layout between the check that finds it missing
// and the one that is to announce it.
func TestLayoutSettledMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		both := layoutOld + "," + beginning(time.Now().Add(time.Hour))
		s.once(2, "list", "", func(run func() error) error {
			assign(t, newAssigner(t, s, nil).BindLayout(both))
			return run()
		})
		if c := assign(t, newAssigner(t, s, nil).BindLayout(both)); c.Worker() != 2 {
			t.Errorf("worker = %d, want 2", c.Worker())
		}
	})
}

// TestFirstHeader: the header is made with the first layout of the claim that makes it, so that of
// processes with different layouts one is refused. The others are announced with it.
func TestFirstHeader(t *testing.T) {
	t.Parallel()
	const next, last = "36-14-13-0/1s+9@2060-01-01T00:00:00Z", "36-14-13-0/1s+99@2070-01-01T00:00:00Z"
	for _, tt := range []struct {
		layout string
		want   []string // layouts of the header, each time it is written
	}{
		{"", []string{""}},
		{layoutOld, []string{layoutOld}},
		{layoutOld + "," + next + "," + last, []string{layoutOld + "|" + next + "," + last,
			layoutOld + "," + next + "," + last}},
	} {
		s := newAmbush()
		var got []string
		s.around = func(op, name string, run func() error) error {
			err := run()
			if op == "put" && name == lease.HeaderName {
				text := string(s.entries[lease.HeaderName].Value)
				if len(got) == 0 && !strings.Contains(text, `"used":[]`) {
					t.Errorf("the first header is %s, want an empty list of used worker ids", text)
				}
				got = append(got, recordOf(t, s.memory, lease.HeaderName).Layout)
			}
			return err
		}
		assign(t, newAssigner(t, s, nil).BindLayout(tt.layout))
		if !slices.Equal(got, tt.want) {
			t.Errorf("the header had the layouts %q, want %q", got, tt.want)
		}
	}
}

// TestUnreadableHeader: no claim is made and no window grows under a header that cannot be read.
func TestUnreadableHeader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"v":1,"layout":"","used":[],"floor_ms":"0"}`:              "the header: json: cannot unmarshal",
		`{"v":2,"layout":"","used":[]}`:                             "the header has version 2, want 1",
		`{"v":1,"layout":"","used":[],"floor_ms":-1}`:               "floor_ms -1",
		`{"v":1,"layout":"","used":[],"floor_ms":9007199254740993}`: "floor_ms 9007199254740993",
		`{"v":1,"layout":"","used":[],"reach_ms":-1}`:               "reach_ms -1",
		`{"v":1,"layout":"","used":[],"reach_ms":63244800001}`:      "reach_ms 63244800001",
		`{"v":1,"layout":"","used":[[0,0]]}`:                        "used [[0 0]]",
		`{"v":1,"layout":"","used":[[-1,3]]}`:                       "used [[-1 3]]",
		`{"v":1,"layout":"","used":[[5,6],[0,1]]}`:                  "used [[5 6] [0 1]]",
		`{"v":1,"layout":"","used":[[5,6],[6,7]]}`:                  "used [[5 6] [6 7]]",
	} {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		c := assign(t, a)
		put(s.memory, lease.HeaderName, text)
		end := until(c)
		_, extended := c.Extend(t.Context(), end.Add(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, assigned := a.Assign(ctx, maxWorker)
		cancel()
		for what, err := range map[string]error{"Extend": extended, "Assign": assigned} {
			if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s under the header %s = %v, want ErrRefused and %q", what, text, err, want)
			}
		}
		if !until(c).Equal(end) {
			t.Errorf("the window ends at %v under the header %s, want %v as before", until(c), text, end)
		}
	}
}

// TestHeaderUnseen: a header is made only where there is certainly none, and no slot.
func TestHeaderUnseen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		layout string
		n      int // the n-th call of op meets f
		op     string
		on     string
		f      func(s *ambush, header lease.Entry) func(run func() error) error
		empty  bool // there is no slot
		want   error
	}{
		{name: "the list fails", n: 1, op: "list", want: assigner.ErrWentBack,
			f: func(*ambush, lease.Entry) func(func() error) error { return notDone }},
		{name: "the header is refused", n: 1, op: "get", on: lease.HeaderName, empty: true, want: lease.ErrRefused,
			f: func(*ambush, lease.Entry) func(func() error) error { return refused }},
		{name: "the header is put back after the list", n: 1, op: "get", on: lease.HeaderName,
			f: func(s *ambush, header lease.Entry) func(func() error) error {
				return func(run func() error) error {
					s.set(func() { s.entries[lease.HeaderName] = header })
					return run()
				}
			}},
	} {
		for _, layout := range []string{"", layoutOld} {
			t.Run(tt.name+" "+layout, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newAmbush()
					a := newAssigner(t, s, nil).BindLayout(layout)
					assign(t, a)
					header := s.entries[lease.HeaderName]
					remove(s.memory, lease.HeaderName)
					if tt.empty {
						remove(s.memory, slot0)
					}
					met := s.once(tt.n, tt.op, tt.on, tt.f(s, header))
					c, err := newAssigner(t, s, nil).BindLayout(layout).Assign(t.Context(), maxWorker)
					if !errors.Is(err, tt.want) || err == nil && c.Worker() != 1 || !*met {
						t.Errorf("Assign = %v, %v, want worker 1 or %v", c, err, tt.want)
					}
					if _, ok := s.entries[lease.HeaderName]; ok != (tt.want == nil) {
						t.Errorf("there is a header: %v, want %v", ok, tt.want == nil)
					}
				})
			})
		}
	}
}

// TestHeaderGoneMeanwhile: a header that is deleted while a claim is about to write it, or the note of a
// worker id, is not made anew, because a new one may lack layouts that there are windows of.
func TestHeaderGoneMeanwhile(t *testing.T) {
	t.Parallel()
	const note = lease.NotePrefix + "1"
	for _, tt := range []struct{ before, layout, name string }{
		{"", "", note},
		{layoutOld, layoutOld, note},
		{"", "28-22-13-0/1s@2060-01-01T00:00:00Z", lease.HeaderName}, // a first layout
		{layoutOld, layoutOld + ",28-22-13-0/1s@2060-01-01T00:00:00Z", lease.HeaderName},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			assign(t, newAssigner(t, s, nil).BindLayout(tt.before))
			met := s.once(1, "put", tt.name, func(run func() error) error {
				remove(s.memory, lease.HeaderName)
				return run()
			})
			c, err := newAssigner(t, s, nil).BindLayout(tt.layout).Assign(t.Context(), maxWorker)
			if !errors.Is(err, assigner.ErrWentBack) || !*met {
				t.Errorf("Assign with layout %q = %v, %v, want ErrWentBack", tt.layout, c, err)
			}
			if s.has(lease.HeaderName) {
				t.Error("there is a header, want none")
			}
		})
	}
}

// prompt is an ambush whose lists are not old.
type prompt struct{ *ambush }

func (prompt) Fresh() {}

// TestHeaderTwice: a header that another process has made at the same time, and somebody deleted, is made
// with the layout, at once.
func TestHeaderTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prompt{newAmbush()}
		s.once(1, "put", lease.HeaderName, conflict)
		layouts := written(s.ambush)
		assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		if want := []string{layoutOld}; !slices.Equal(*layouts, want) {
			t.Errorf("the header got the layouts %q, want %q", *layouts, want)
		}
	})
}

// TestLayoutTogether: of two processes that announce a layout at once, the slower one goes on without a
// pause.
func TestLayoutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		both, start := layoutOld+","+beginning(time.Now().Add(time.Hour)), time.Now()
		met := s.once(1, "put", lease.HeaderName, conflict)
		if assign(t, newAssigner(t, s, nil).BindLayout(both)); !*met || !time.Now().Equal(start) {
			t.Errorf("Assign took %v, want no pause", time.Since(start))
		}
	})
}
