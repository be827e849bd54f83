package lease_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// mustMove moves a universe.
func mustMove(tb testing.TB, from, to lease.Store) {
	tb.Helper()
	_, err := lease.Move(tb.Context(), bound(tb, from, moveOne, nil), bound(tb, to, moveOne, nil), nil)
	if err != nil {
		tb.Fatal(err)
	}
}

// TestMoveAgain: the same Move seals a source again that was restored to before it, whatever the backup
// has, and leaves a claim of the target alone.
func TestMoveAgain(t *testing.T) {
	t.Parallel()
	later := strings.TrimPrefix(moveTwo, moveOne+",")
	for _, tt := range []struct {
		name   string
		backup func(from named)
		onward bool
	}{
		{"announced", func(from named) { from.edit(lease.HeaderName, moveOne, moveOne+"|"+later) }, false},
		{"taken back", func(from named) { from.edit(lease.HeaderName, moveOne, moveOne+"~"+later) }, false},
		{"no entry", func(from named) { remove(from.memory, lease.HeaderName, "slot-0") }, false},
		{"no header", func(from named) { remove(from.memory, lease.HeaderName) }, false},
		{"unreadable", func(from named) { from.edit("slot-0", `"gen":`, `"gen":-`) }, false},
		{"a closed target", func(from named) {
			from.edit(lease.HeaderName, `"layout":"`, `"layout":"moving:`)
		}, false},
		{"moved on", func(named) {}, true},
		{"moved on, and no entry", func(from named) { remove(from.memory, lease.HeaderName, "slot-0") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to, third := named{&memory{}, "old"}, named{&memory{}, "new"}, named{&memory{}, "third"}
				mustAssign(t, bound(t, from, moveOne, nil))
				restore := from.backup()
				mustMove(t, from, to)
				last := to
				if tt.onward {
					mustMove(t, to, third)
					last = third
				}
				c := mustAssign(t, bound(t, last, moveOne, nil))
				restore()
				tt.backup(from)

				var lines []string
				o := &lease.MoveOptions{DryRun: true, Report: func(line string) { lines = append(lines, line) }}
				was := from.version + to.version
				a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
				if _, err := lease.Move(t.Context(), a, b, o); err != nil || from.version+to.version != was ||
					!strings.Contains(strings.Join(lines, "\n"), "once more") {
					t.Errorf("the dry run = %v, %q, want that the source is to be sealed once more", err, lines)
				}
				was = to.version
				mustMove(t, from, to)
				if tt.onward && to.version != was {
					t.Errorf("%d entries of a store that was moved on were changed, want none", to.version-was)
				}
				if _, err := bound(t, from, moveOne, nil).Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
					t.Errorf("Assign on the source that is sealed again = %v, want ErrMoved", err)
				}
				if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
					t.Errorf("Extend in the target = %v, want it to go on", err)
				}
				lines, o.DryRun = nil, false
				if _, err := lease.Move(t.Context(), a, b, o); err != nil || len(lines) != 1 ||
					!strings.Contains(lines[0], "nothing to do") {
					t.Errorf("Move once more = %v, %q, want nothing to do", err, lines)
				}
			})
		})
	}
}

// TestMoveChain: a store that a universe went through keeps where it is from, so that the first store is
// sealed again after the third has the ids.
func TestMoveChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second, third := place{newAmbush(), "first"}, named{&memory{}, "second"}, named{&memory{}, "third"}
		mustAssign(t, bound(t, first, moveOne, nil))
		restore := first.backup()
		first.once(2, "put", lease.HeaderName, refused) // the note that the second was opened
		stopped(t, first, second)
		closed := second.backup()
		mustMove(t, second, third)
		closed()
		mustMove(t, second, third)
		was := first.version
		if mustMove(t, first, second); first.version != was {
			t.Errorf("%d entries of the first were changed, want none: it was moved", first.version-was)
		}
		restore()
		mustMove(t, first, second)
		for _, s := range []lease.Store{first, second} {
			if _, err := bound(t, s, moveOne, nil).Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
				t.Errorf("%s: Assign = %v, want ErrMoved", s, err)
			}
		}
		// Another store's universe is not mistaken for it.
		other := named{&memory{}, "other"}
		mustAssign(t, bound(t, other, moveOne, nil))
		_, err := lease.Move(t.Context(), bound(t, other, moveOne, nil), bound(t, second, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "was moved itself, to third") {
			t.Errorf("Move of another store = %v, want it refused", err)
		}
	})
}

// TestMoveUniverse: the target has the source's name of the universe, also where the source has got one
// from a process that came between two runs of the move, or has none.
func TestMoveUniverse(t *testing.T) {
	t.Parallel()
	name := func(c assigner.Claim) string { return c.(assigner.Named).Universe() }
	for _, between := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
			c := mustAssign(t, bound(t, from, moveOne, nil))
			from.edit(lease.HeaderName, `"universe":"`+name(c)+`"`, `"reach_ms":0`)
			from.edit(lease.HeaderName, `"used":[]`, `"used":[[0,1]]`) // as an earlier version's
			from.set(func() {
				from.fault = func(op, _ string) (bool, error) {
					if op == "put" {
						return false, lease.ErrRefused
					}
					return true, nil
				}
			})
			_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
			if !errors.Is(err, lease.ErrRefused) || !to.has(lease.HeaderName) {
				t.Fatalf("Move = %v, want the fault, after the target is closed", err)
			}
			from.set(func() { from.fault = nil })
			want := ""
			if between {
				want = name(mustAssign(t, bound(t, from, moveOne, nil)))
			}
			mustMove(t, from, to)
			got := name(mustAssign(t, bound(t, to, moveOne, nil)))
			if got == "" || between && got != want {
				t.Errorf("the target's universe is called %q, want %q as the source's", got, want)
			}
		})
	}
}

// TestMoveRenamed: a move that broke off goes on under another address of its source.
func TestMoveRenamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "localhost"}, place{newAmbush(), "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		to.once(2, "put", lease.HeaderName, refused)
		stopped(t, from, to)
		mustMove(t, named{from.memory, "127.0.0.1"}, to)
		mustAssign(t, bound(t, to, moveOne, nil))
	})
}

// TestMoveSameStore: one store under two names is not moved.
func TestMoveSameStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from := named{&memory{}, "localhost"}
		mustAssign(t, bound(t, from, moveOne, nil))
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil),
			bound(t, named{from.memory, "127.0.0.1"}, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "127.0.0.1 is the source as well") {
			t.Errorf("Move = %v, want it refused", err)
		}
	})
}

// TestMoveReach: the target has the source's reach, that of a process which comes while the move runs too.
func TestMoveReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &ambush{memory: &memory{}}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, &lease.Options{Reach: 48 * time.Hour}))
		reach := func(hours int) {
			t.Helper()
			want := fmt.Sprintf(`"reach_ms":%d`, hours*3600_000)
			to.set(func() {
				if h := string(to.entries[lease.HeaderName].Value); !strings.Contains(h, want) {
					t.Errorf("the target's header is %s, want %s in it", h, want)
				}
			})
		}
		from.once(1, "put", lease.HeaderName, func(run func() error) error { // the seal
			reach(48)
			mustAssign(t, bound(t, from.memory, moveOne, &lease.Options{Reach: 72 * time.Hour}))
			return run()
		})
		restore := from.backup()
		mustMove(t, from, to)
		reach(72)
		restore() // and the target keeps a reach of its own when the source is sealed again
		mustAssign(t, bound(t, to, moveOne, &lease.Options{Reach: 96 * time.Hour}))
		mustMove(t, from, to)
		reach(96)
	})
}

// TestMoveElsewhere: a move that has closed its target before the source was moved to another store does
// not go on.
func TestMoveElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := place{newAmbush(), "old"}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		from.once(1, "put", lease.HeaderName, refused)
		stopped(t, from, to)
		mustMove(t, from, named{&memory{}, "third"})
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "it was moved to third") {
			t.Errorf("Move = %v, want it refused", err)
		}
		// An operator has changed what the header says.
		from.edit(lease.HeaderName, `"move"`, `"gone"`)
		_, err = lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "says nothing of the move") {
			t.Errorf("Move of a header without its move = %v, want it refused", err)
		}
	})
}

// TestMoveHeaderAnew: a target whose header Restore has made anew has its move again, and the claims
// that were made since go on. It may be moved on, and the source is sealed again for it.
func TestMoveHeaderAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		restore := from.backup()
		mustMove(t, from, to)
		to.set(func() { to.entries = nil })
		b := bound(t, to, moveOne, nil)
		if err := b.Restore(t.Context(), 0, time.Hour, moveOne); err != nil {
			t.Fatal(err)
		}
		c := mustAssign(t, b)
		time.Sleep(time.Hour)
		mustMove(t, from, to)
		if _, err := c.Extend(t.Context(), until(c).Add(time.Minute)); err != nil {
			t.Errorf("Extend = %v, want it to go on", err)
		}
		token := func(s named) (text string) {
			s.set(func() {
				_, text, _ = strings.Cut(string(s.entries[lease.HeaderName].Value), `"move":{"token":"`)
				text, _, _ = strings.Cut(text, `"`)
			})
			return text
		}
		if token(from) == "" || token(from) != token(to) {
			t.Errorf("the tokens of the move are %q and %q, want one", token(from), token(to))
		}
		mustMove(t, to, named{&memory{}, "third"})
		restore()
		mustMove(t, from, to)
	})
}

// TestMoveSealSeen: a process that has seen the seal writes nothing into a source that lost it. A list that
// is older than the seal is no such source.
func TestMoveSealSeen(t *testing.T) {
	t.Parallel()
	for _, seen := range []string{"extend", "assign"} {
		t.Run(seen, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := &lateList{named: named{&memory{}, "old"}}, named{&memory{}, "new"}
				a := bound(t, from, moveOne, nil)
				c := mustAssign(t, a)
				from.shown, _ = from.named.List(t.Context())
				restore := from.backup()
				mustMove(t, from.named, to)
				var err error
				if seen == "extend" {
					_, end := c.Window()
					_, err = c.Extend(t.Context(), end.Add(time.Hour))
				} else {
					_, err = a.Assign(t.Context(), 7)
				}
				if !errors.Is(err, assigner.ErrMoved) {
					t.Fatalf("%s after the move = %v, want ErrMoved", seen, err)
				}
				from.n = 1
				if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
					t.Errorf("Assign with an old list = %v, want ErrMoved", err)
				}
				restore()
				was := from.version
				if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrWentBack) || from.version != was {
					t.Errorf("Assign after the restore = %v with %d changes, want ErrWentBack and none", err,
						from.version-was)
				}
			})
		})
	}
}

// TestMoveTargetRestored: the mover dies after it has opened the target and before it has noted that, and
// the target goes back to when it was closed. Restore, which every store that went back needs, covers the
// claims that it has forgotten, and the same Move opens it.
func TestMoveTargetRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &ambush{memory: &memory{}}, &ambush{memory: &memory{}}
		mustAssign(t, bound(t, from, moveOne, nil))
		var restore func()
		to.once(3, "put", lease.HeaderName, func(run func() error) error { // it is opened
			restore = to.backup()
			return run()
		})
		from.once(2, "put", lease.HeaderName, refused)
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		if _, err := lease.Move(t.Context(), a, b, nil); !errors.Is(err, lease.ErrRefused) {
			t.Fatalf("Move = %v, want that it broke off", err)
		}
		time.Sleep(time.Hour)
		c := mustAssign(t, bound(t, to, moveOne, nil))
		_, end := c.Window()
		restore()
		ctx, cancel := contextFor(t, time.Minute)
		defer cancel()
		if err := b.Restore(ctx, 0, time.Hour, moveOne); err != nil {
			t.Fatalf("Restore of a closed target = %v", err)
		}
		if _, err := bound(t, to, moveOne, nil).Assign(ctx, 7); err == nil {
			t.Error("Assign succeeds on a target that is closed, and was restored")
		}
		mustMove(t, from, to)
		for range 8 {
			c, err := bound(t, to, moveOne, nil).Assign(t.Context(), 7)
			if err != nil {
				break
			}
			if from, _ := c.Window(); from.Before(end) {
				t.Errorf("worker %d begins at %v, want %v or later: the target has forgotten a claim",
					c.Worker(), from, end)
			}
		}
	})
}

// TestMoveBrokenTwice: a move that breaks off after the seal, and again before it seals once more, goes on.
func TestMoveBrokenTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := place{newAmbush(), "old"}, place{newAmbush(), "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		to.once(2, "put", lease.HeaderName, refused)
		stopped(t, from, to)
		from.once(1, "put", lease.HeaderName, refused)
		stopped(t, from, to)
		mustMove(t, from, to)
	})
}

// TestMoveBothElsewhere: a target that was moved itself takes no source that was moved elsewhere.
func TestMoveBothElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		restore := from.backup()
		mustMove(t, from, to)
		mustMove(t, to, named{&memory{}, "third"})
		restore()
		mustMove(t, from, named{&memory{}, "fourth"})
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "new was moved itself, to third") {
			t.Errorf("Move = %v, want it refused", err)
		}
	})
}
