package uid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// curious is an authority's error that takes an id wherever it is asked what it is.
type curious struct {
	generator *atomic.Pointer[uid.Generator]
	calls     *atomic.Int64
}

func (e curious) Error() string { e.take(); return "curious" }

func (e curious) Is(error) bool { e.take(); return false }

func (e curious) As(any) bool { e.take(); return false }

func (e curious) Unwrap() error { e.take(); return nil }

func (e curious) take() {
	if g := e.generator.Load(); g != nil && e.calls.Add(1) < 100 { // Next asks, too
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, _ = (*g).Next(ctx)
	}
}

// TestErrorTakesIDs has an authority's error take ids of the generator that meets it, over the end
// of the window and through a new one: nothing asks the error under a lock.
func TestErrorTakesIDs(t *testing.T) {
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait, uid.TakeReject} {
		e := curious{new(atomic.Pointer[uid.Generator]), new(atomic.Int64)}
		for kind := range kinds {
			a := newPlace(10 * time.Minute)
			a.Fail(e, claimtest.OpExtend)
			bubble(t, kind, a, uid.Both{TakePolicy: policy}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				e.generator.Store(&g)
				defer e.generator.Store(nil)
				for range 11 * 60 {
					time.Sleep(time.Second)
					_, _ = g.Fill(within(t, time.Millisecond), make([]uid.ID, 100))
					e.calls.Store(0)
				}
				if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClaimExpired) {
					t.Errorf("%s: Next() = %v, want ErrClaimExpired", kind, err)
				}
				a.Fail(nil)
				time.Sleep(20 * time.Second)
				mustNext(t, g)
			})
		}
	}
}

// TestErrorWaitsForKeeper has an extension fail after the window's end with an error that takes an id,
// without a deadline, when it is asked what it is, and when it is asked for its text. The call that
// makes the error waits, and not the keeper: it gives up on the call, and ids are back with the
// authority.
func TestErrorWaitsForKeeper(t *testing.T) {
	t.Parallel()
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
		for kind := range kinds {
			e := patient{new(atomic.Pointer[uid.Generator])}
			a := late{newMemory(10 * time.Second), e}
			bubble(t, kind, a, uid.Both{TakePolicy: policy}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				e.generator.Store(&g)
				for range 30 { // no id is left when the error arrives
					for n := 1; n > 0; {
						n, _ = g.Fill(within(t, time.Millisecond), make([]uid.ID, 8192))
					}
					time.Sleep(time.Second)
				}
				if err := g.Stats().Err; !errors.Is(err, uid.ErrClaimExpired) {
					t.Errorf("%s, policy %v: Stats().Err = %v, want ErrClaimExpired", kind, policy, err)
				}
				e.generator.Store(nil)
				time.Sleep(time.Minute)
				if _, err := g.Next(within(t, time.Minute)); err != nil {
					t.Errorf("%s, policy %v: the authority is back: %v", kind, policy, err)
				}
			})
		}
	}
}

// late is an authority whose extensions fail with an error as it is, after the window's end.
type late struct {
	assigner.Assigner
	err patient
}

func (a late) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := a.Assigner.Assign(ctx, maxWorker)
	return lateClaim{c, a.err}, err
}

type lateClaim struct {
	assigner.Claim
	err patient
}

func (c lateClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	if c.err.generator.Load() == nil {
		return c.Claim.Extend(ctx, until)
	}
	time.Sleep(8 * time.Second)
	return time.Time{}, c.err
}

// patient is an authority's error that takes an id, however long that takes, where it is asked.
type patient struct {
	generator *atomic.Pointer[uid.Generator]
}

func (e patient) Error() string { e.take(); return "patient" }

func (e patient) Is(error) bool { e.take(); return false }

func (e patient) take() {
	if g := e.generator.Load(); g != nil {
		_, _ = (*g).Next(context.Background())
	}
}

// TestErrorsOfAuthority meets authorities whose errors wrap those of others: a generator's own
// errors, or the end of a ctx that is not the caller's. They are not mistaken for them, and what
// else the authority says can be found.
func TestErrorsOfAuthority(t *testing.T) {
	t.Parallel()
	foreign := []error{context.DeadlineExceeded, context.Canceled, uid.ErrLead, uid.ErrClosed,
		uid.ErrEmpty, uid.ErrExhausted, uid.ErrClockBack}
	for _, cause := range foreign {
		for kind := range kinds {
			a := newPlace(10 * time.Minute)
			a.Fail(fmt.Errorf("%w: %w", cause, errDown), claimtest.OpExtend)
			bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				time.Sleep(11 * time.Minute)
				_, err := g.Next(within(t, time.Minute))
				if !errors.Is(err, uid.ErrClaimExpired) || !errors.Is(err, errDown) || errors.Is(err, cause) ||
					!uid.Temporary(err) || !strings.Contains(err.Error(), cause.Error()) {
					t.Errorf("%s: Next() = %v, want ErrClaimExpired, which says why, and not as %v", kind, err,
						cause)
				}
				s := g.Stats()
				if s.RejectsClaim != 1 || s.RejectsLead+s.RejectsEmpty+s.RejectsExhausted != 0 ||
					s.Health().Status != uid.Down || errors.Is(s.Err, cause) || errors.Is(s.ExtendErr, cause) {
					t.Errorf("%s, %v: %+v", kind, cause, s)
				}
			})
		}
	}
}

// unreachable is an authority's error with data.
type unreachable struct{ host string }

func (e *unreachable) Error() string { return e.host + " is unreachable" }

// TestErrorAs finds an authority's error with data in what calls get, and the end of the caller's
// ctx where that is why the call failed.
func TestErrorAs(t *testing.T) {
	t.Parallel()
	a := newPlace(10 * time.Minute)
	a.Fail(&unreachable{"db-1"}, claimtest.OpExtend)
	bubble(t, "cached", a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		time.Sleep(11 * time.Minute)
		_, err := g.Next(t.Context())
		var u *unreachable
		if !errors.As(err, &u) || u.host != "db-1" {
			t.Errorf("Next() = %v, want an error that wraps the authority's", err)
		}
		if errors.As(err, new(curious)) {
			t.Errorf("Next() = %v wraps an error that the authority did not return", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(10 * time.Second)
		a.Fail(assigner.ErrSuperseded, claimtest.OpExtend)
		ended := errors.New("enough")
		c := uid.Open(t, uid.NewCachedAt, a, uid.Both{TakeFunc: func(ctx context.Context, err error) error {
			if !errors.Is(err, assigner.ErrSuperseded) {
				return err
			}
			return ended
		}}, uid.NewTestClock())
		time.Sleep(time.Minute)
		if _, err := c.Next(t.Context()); !errors.Is(err, ended) {
			t.Errorf("Next() = %v, want the error of TakeFunc", err)
		}
	})
}
