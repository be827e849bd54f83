package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

const slot0 = lease.SlotPrefix + "0"

// TestExtend: an extension reaches a whole Window from now, or as far as is asked for. One to an
// instant that the window has makes no call of the store. One to no instant is an error.
func TestExtend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		c := assign(t, newAssigner(t, s, nil))
		end := until(c)
		calls := s.calls
		for _, want := range []time.Time{end, end.Add(-time.Hour)} {
			if got, err := c.Extend(t.Context(), want); err != nil || !got.Equal(end) || s.calls != calls {
				t.Errorf("Extend to %v = %v, %v, with %d calls, want %v without", want, got, err, s.calls-calls, end)
			}
		}
		for _, want := range []time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if got, err := c.Extend(t.Context(), want); err == nil ||
				!strings.Contains(err.Error(), "want an instant before the year 10000") {
				t.Errorf("Extend to %v = %v, %v, want an error", want, got, err)
			}
		}
		time.Sleep(10 * time.Minute)
		whole := time.Now().Add(20 * time.Minute)
		if got, err := c.Extend(t.Context(), end.Add(time.Millisecond)); err != nil || !got.Equal(whole) {
			t.Errorf("Extend by a millisecond = %v, %v, want %v", got, err, whole)
		}
		far := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
		if got, err := c.Extend(t.Context(), far); err != nil || !got.Equal(far) {
			t.Errorf("Extend = %v, %v, want %v", got, err, far)
		}
		used := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := c.Release(t.Context(), used); err != nil {
			t.Error(err)
		}
		if r := recordOf(t, s.memory, slot0); r.Until != used.UnixMilli() {
			t.Errorf("the slot is %+v, want end %d", r, used.UnixMilli())
		}
	})
}

// TestExtendFails: a call of the store that fails once costs an extension a try, and neither the
// claim nor a part of the window. A change that was made and not answered is made once more: a store
// may show what it has not made safe yet.
func TestExtendFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op, name   string
		how        func(run func() error) error
		generation int64
	}{
		{"now", "", notDone, 2},
		{"get", slot0, notDone, 2},
		{"put", slot0, notDone, 2},
		{"put", slot0, done, 3},
		{"put", slot0, doubled, 3},
		{"put", slot0, conflict, 2},
		{"get", lease.HeaderName, notDone, 2},
	} {
		t.Run(tt.op+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := timed{newAmbush()}
				c := assign(t, newAssigner(t, s, nil))
				time.Sleep(10 * time.Minute)
				whole := time.Now().Add(20 * time.Minute)
				met := s.once(1, tt.op, tt.name, tt.how)
				got, err := c.Extend(t.Context(), until(c).Add(time.Millisecond))
				if err != nil || got.Before(whole) || !*met {
					t.Errorf("Extend = %v, %v, want %v or later, after a failure: %v", got, err, whole, *met)
				}
				if r := recordOf(t, s.memory, slot0); r.FencingToken != tt.generation {
					t.Errorf("the slot is at fencing token %d, want %d", r.FencingToken, tt.generation)
				}
			})
		})
	}
}

// TestExtendKeepsEnd: an extension does not move the end of its slot back to what it asks for, where
// one before it was made and got no answer.
func TestExtendKeepsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		c := assign(t, newAssigner(t, s, nil))
		far := until(c).Add(10 * time.Hour)
		s.around = func(op, _ string, run func() error) error {
			if op == "put" {
				return done(run)
			}
			return run()
		}
		if _, err := c.Extend(t.Context(), far); !errors.Is(err, errLost) {
			t.Errorf("Extend = %v, want its lost answer", err)
		}
		s.around = nil
		extend(t, c, time.Minute)
		if r := recordOf(t, s.memory, slot0); r.Until < far.UnixMilli() || until(c).Before(far) {
			t.Errorf("the slot is %+v and the window ends at %v, want %v or later", r, until(c), far)
		}
	})
}

// TestExtendMoved: a slot whose version differs and whose text does not, as after a move of the store,
// is still the claim's. One whose text an operator changed is not, although it has a token that the
// claim sent.
func TestExtendMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		c := assign(t, newAssigner(t, s, nil))
		s.edit(slot0, "gen", "gen")
		extend(t, c, time.Minute)
		s.once(1, "put", slot0, func(run func() error) error {
			err := done(run)
			s.edit(slot0, `"gen":3`, `"gen":7`)
			return err
		})
		end := until(c)
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend = %v, want ErrClaimLost", err)
		}
		if !until(c).Equal(end) {
			t.Errorf("the window ends at %v, want %v as before", until(c), end)
		}
	})
}

// TestRelease: the slot ends where the owner stamped last, not before the window and not after it.
func TestRelease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		used func(from, until time.Time) time.Time
		want func(from, until time.Time) time.Time
	}{
		{"nothing", func(_, _ time.Time) time.Time { return time.Time{} }, first},
		{"before the window", func(from, _ time.Time) time.Time { return from.Add(-time.Hour) }, first},
		{"long before", func(_, _ time.Time) time.Time { return time.Unix(-1e16, 0) }, first},
		{"a part of a millisecond", func(from, _ time.Time) time.Time { return from.Add(time.Minute + 1) },
			func(from, _ time.Time) time.Time { return from.Add(time.Minute + time.Millisecond) }},
		{"after the window", func(_, until time.Time) time.Time { return until.Add(time.Hour) }, second},
		{"long after", func(_, _ time.Time) time.Time { return time.Unix(1e16, 0) }, second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a := newAssigner(t, s, nil)
				if err := assign(t, a).Release(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				c := assign(t, a)
				from, until := c.Window()
				if err := c.Release(t.Context(), tt.used(from, until)); err != nil {
					t.Fatal(err)
				}
				want := tt.want(from, until).UnixMilli()
				if r := recordOf(t, s.memory, slot0); r.Until != want || r.Owner != "" || r.FencingToken != 4 {
					t.Errorf("the slot is %+v, want fencing token 4, no owner and end %d", r, want)
				}
			})
		})
	}
}

func first(from, _ time.Time) time.Time   { return from }
func second(_, until time.Time) time.Time { return until }

// TestReleaseFails: a Release that fails says so, and another one does its work. A Release that is
// done is not done again, whether its answer arrived or not.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		c := assign(t, newAssigner(t, s, nil))
		s.around = func(string, string, func() error) error { return errLost }
		if err := c.Release(t.Context(), time.Now()); !errors.Is(err, errLost) {
			t.Errorf("Release from a store that is away = %v, want its error", err)
		}
		s.around = nil
		met := s.once(1, "put", slot0, done)
		if err := c.Release(t.Context(), time.Now()); err != nil || !*met {
			t.Errorf("Release = %v, want none, after a lost answer: %v", err, *met)
		}
		if r := recordOf(t, s.memory, slot0); r.FencingToken != 2 || r.Owner != "" {
			t.Errorf("the slot is %+v, want fencing token 2 and no owner", r)
		}
		calls := s.calls
		if err := c.Release(t.Context(), time.Now()); err != nil || s.calls != calls {
			t.Errorf("the second Release = %v, with %d calls, want none", err, s.calls-calls)
		}
	})
}

// TestReleaseUnknown: a Release that was made and whose answer never arrived is no store that went
// back.
func TestReleaseUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		c := assign(t, a)
		used := time.Now().Add(-time.Minute)
		s.once(1, "put", slot0, func(run func() error) error {
			s.around = func(string, string, func() error) error { return errLost }
			return done(run)
		})
		if err := c.Release(t.Context(), used); !errors.Is(err, errLost) {
			t.Errorf("Release = %v, want the store's error", err)
		}
		s.around = nil
		if c := assign(t, a); c.Worker() != 0 || !from(c).Equal(used) {
			t.Errorf("worker %d from %v, want 0 from %v", c.Worker(), from(c), used)
		}
	})
}

// TestUnreadableOwn: a claim whose slot cannot be read is lost for good, keeps its window, and leaves
// the slot alone.
func TestUnreadableOwn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, instead, want string }{
		{`"v":1`, `"v":2`, "has version 2, want 1"},
		{`"gen":1`, `"gen":-2`, "has gen -2, want 0 to 9007199254740992"},
		{`"gen":1`, `"gone":1`, "has gen -1, want 0 to 9007199254740992"},
		{`"gen":1`, `"gen":9007199254740993`, "has gen 9007199254740993, want 0 to "},
		{`"until_ms":`, `"until_ms":-`, "want 0 to 9007199254740992"},
		{`"until_ms":`, `"until_ms":99999`, "want 0 to 9007199254740992"},
		{`"owner":"the owner"`, `"owner":7`, "slot-0: json: cannot unmarshal number"},
	} {
		t.Run(tt.instead, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				c := assign(t, newAssigner(t, s, &lease.Options{Owner: "the owner"}))
				end := until(c)
				s.edit(slot0, tt.old, tt.instead)
				spoiled := string(s.entries[slot0].Value)
				for range 2 {
					_, err := c.Extend(t.Context(), end.Add(time.Hour))
					if !errors.Is(err, assigner.ErrClaimLost) || errors.Is(err, assigner.ErrWentBack) ||
						!strings.Contains(err.Error(), tt.want) {
						t.Errorf("Extend = %v, want ErrClaimLost alone and %q", err, tt.want)
					}
					if got := string(s.entries[slot0].Value); got != spoiled || !until(c).Equal(end) {
						t.Errorf("the slot is %s and the window ends at %v, want %s and %v as before",
							got, until(c), spoiled, end)
					}
					if err == nil {
						return
					}
					s.edit(slot0, tt.instead, tt.old) // too late
					spoiled = string(s.entries[slot0].Value)
				}
				// No other claim gets what cannot be read.
				s.edit(slot0, tt.old, tt.instead)
				time.Sleep(24 * time.Hour)
				if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
					t.Errorf("worker = %d, want 1", c.Worker())
				}
			})
		})
	}
}

// TestLostAsk: a claim that is lost stays lost when the store shows its slot as it was, and does not
// ask the store again.
func TestLostAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		c := assign(t, newAssigner(t, s, &lease.Options{Window: time.Minute}))
		restore := s.backup()
		time.Sleep(2 * time.Minute)
		assign(t, newAssigner(t, s, nil))
		want := until(c).Add(time.Hour)
		if _, err := c.Extend(t.Context(), want); !errors.Is(err, assigner.ErrClaimLost) {
			t.Fatalf("Extend = %v, want ErrClaimLost", err)
		}
		restore()
		calls := s.calls
		if _, err := c.Extend(t.Context(), want); !errors.Is(err, assigner.ErrClaimLost) || s.calls != calls {
			t.Errorf("Extend again = %v, with %d calls, want ErrClaimLost without", err, s.calls-calls)
		}
	})
}

// TestHeaderGone: no window grows in a store without a header. Slots may be forgotten as well, so the
// process's next window begins after all that it can have forgotten.
func TestHeaderGone(t *testing.T) {
	t.Parallel()
	for _, far := range []time.Duration{time.Second, 50 * time.Hour} { // the slot ends before or after a reach
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a := newAssigner(t, s, nil)
			c := assign(t, a)
			end := until(c)
			remove(s.memory, lease.HeaderName)
			_, err := c.Extend(t.Context(), end.Add(far))
			if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) ||
				!strings.Contains(err.Error(), "the header of the test's memory is gone") {
				t.Errorf("Extend = %v, want ErrClaimLost and ErrWentBack", err)
			}
			if !until(c).Equal(end) {
				t.Errorf("the window ends at %v, want %v as before", until(c), end)
			}
			begin := max(recordOf(t, s.memory, slot0).Until, time.Now().Add(reach).UnixMilli())
			if err := newAssigner(t, s, nil).Restore(t.Context(), 0, 0, ""); err != nil {
				t.Fatal(err)
			}
			if c := assign(t, a); from(c).UnixMilli() != begin {
				t.Errorf("worker %d from %v, want from %v", c.Worker(), from(c), time.UnixMilli(begin).UTC())
			}
		})
	}
}

// keeping is a memory that keeps the puts of slots, once it is on, and neither carries them out nor
// answers them.
type keeping struct {
	*memory
	on   bool
	kept []func() error
}

func (k *keeping) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	if !k.on || old.Name == lease.HeaderName {
		return k.memory.Put(ctx, old, value)
	}
	k.kept = append(k.kept, func() error {
		_, err := k.memory.Put(context.Background(), old, value)
		return err
	})
	return lease.Entry{}, errLost
}

// TestPending: a claim knows the last 64 changes whose answers did not arrive as its own, and no others.
func TestPending(t *testing.T) {
	t.Parallel()
	for late, want := range map[int]error{64: nil, 65: assigner.ErrClaimLost} {
		synctest.Test(t, func(t *testing.T) {
			s := &keeping{memory: &memory{}}
			c := assign(t, newAssigner(t, s, nil))
			for s.on = true; len(s.kept) < 70; time.Sleep(time.Second) {
				if _, err := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(err, errLost) {
					t.Fatalf("Extend = %v, want the store's error", err)
				}
			}
			s.on = false
			if err := s.kept[len(s.kept)-late](); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Extend(t.Context(), until(c).Add(2*time.Hour)); !errors.Is(err, want) {
				t.Errorf("Extend after the last put but %d was made = %v, want %v", late-1, err, want)
			}
		})
	}
}

// TestGoneUntold: a claim that finds no header waits until the store tells the time: windows that it has
// forgotten end that much later.
func TestGoneUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		a := newAssigner(t, s, nil)
		c := assign(t, a)
		h := s.entries[lease.HeaderName]
		remove(s.memory, lease.HeaderName)
		s.once(2, "now", "", notDone)
		reach := time.Now().Add(24 * time.Hour)
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		s.set(func() { s.entries[lease.HeaderName] = h })
		if c := assign(t, a); from(c).Before(reach) {
			t.Errorf("the next window begins at %v, want %v or later", from(c), reach)
		}
	})
}
