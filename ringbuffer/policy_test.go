package ringbuffer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

var errUser = errors.New("the user's error")

func TestPutPolicies(t *testing.T) {
	t.Parallel()
	var refused []int64
	for _, c := range []struct {
		name string
		opts *ringbuffer.Options
		want error
		left [2]int64 // the uids after a put of 3 into a ring full of 1 and 2
	}{
		{"nil options discard", nil, nil, [2]int64{1, 2}},
		{"discard", &ringbuffer.Options{PutPolicy: ringbuffer.PutDiscard}, nil, [2]int64{1, 2}},
		{"fail", &ringbuffer.Options{PutPolicy: ringbuffer.PutFail}, ringbuffer.ErrFull, [2]int64{1, 2}},
		{"function", &ringbuffer.Options{PutFunc: func(_ *ringbuffer.Ring, uid int64) error {
			refused = append(refused, uid)
			return errUser
		}}, errUser, [2]int64{1, 2}},
		{"function before policy", &ringbuffer.Options{PutPolicy: ringbuffer.PutFail,
			PutFunc: func(*ringbuffer.Ring, int64) error {
				return nil
			}}, nil, [2]int64{1, 2}},
		{"function that makes room", &ringbuffer.Options{PutFunc: func(r *ringbuffer.Ring, uid int64) error {
			r.TryTake()
			return r.Put(uid)
		}}, nil, [2]int64{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, 2, c.opts)
			for uid := int64(1); uid <= 2; uid++ {
				if err := r.Put(uid); err != nil {
					t.Fatalf("Put(%d) = %v, want nil while there is room", uid, err)
				}
			}
			if err := r.Put(3); !errors.Is(err, c.want) {
				t.Errorf("Put on a full ring = %v, want %v", err, c.want)
			}
			if r.Len() != 2 {
				t.Errorf("Len() = %d, want 2", r.Len())
			}
			wantTake(t, r, c.left[0])
			wantTake(t, r, c.left[1])
			wantEmpty(t, r)
		})
	}
	if len(refused) != 1 || refused[0] != 3 {
		t.Errorf("PutFunc was called for %v, want [3]", refused)
	}
}

func TestTakePolicies(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	put := func(_ context.Context, r *ringbuffer.Ring) error { r.TryPut(7); return nil }
	for _, c := range []struct {
		name string
		opts *ringbuffer.Options
		ctx  context.Context
		uid  int64
		want error
	}{
		{"nil options reject", nil, t.Context(), 0, ringbuffer.ErrEmpty},
		{"function that pads", &ringbuffer.Options{TakeFunc: put}, t.Context(), 7, nil},
		{"function whose uids others take",
			&ringbuffer.Options{TakeFunc: func(_ context.Context, r *ringbuffer.Ring) error {
				calls++
				r.TryPut(7)
				if calls < 3 {
					r.TryTake()
				}
				return nil
			}}, t.Context(), 7, nil},
		{"reject", &ringbuffer.Options{TakePolicy: ringbuffer.TakeReject}, t.Context(), 0, ringbuffer.ErrEmpty},
		{"function", &ringbuffer.Options{TakeFunc: func(context.Context, *ringbuffer.Ring) error {
			return errUser
		}}, t.Context(), 0, errUser},
		{"function before policy", &ringbuffer.Options{TakePolicy: ringbuffer.TakeWait,
			TakeFunc: put}, t.Context(), 7, nil},
		{"function and an ended ctx", &ringbuffer.Options{TakeFunc: put}, cancelled, 0, context.Canceled},
		{"wait and an ended ctx", &ringbuffer.Options{TakePolicy: ringbuffer.TakeWait}, cancelled, 0, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, 2, c.opts)
			uid, err := r.Take(c.ctx)
			if uid != c.uid || !errors.Is(err, c.want) {
				t.Errorf("Take on an empty ring = %d, %v, want %d, %v", uid, err, c.uid, c.want)
			}
			r.TryPut(9)
			if uid, err := r.Take(cancelled); uid != 9 || err != nil {
				t.Errorf("Take of a uid that is there, with an ended ctx = %d, %v, want 9, nil", uid, err)
			}
		})
	}
	if calls != 3 {
		t.Errorf("TakeFunc whose uids others take was called %d times, want 3", calls)
	}
}

// TestTakeFuncRetries: a take function that returns nil is asked again until there is a uid. A
// design in which it cannot return at all makes every policy but "fail" useless.
func TestTakeFuncRetries(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRing(t, 4, &ringbuffer.Options{TakeFunc: func(_ context.Context, r *ringbuffer.Ring) error {
		if calls++; calls == 5 {
			r.TryPut(42)
		}
		return nil
	}})
	if uid, err := r.Take(t.Context()); uid != 42 || err != nil {
		t.Errorf("Take() = %d, %v, want 42, nil", uid, err)
	}
	if calls != 5 {
		t.Errorf("TakeFunc was called %d times, want 5", calls)
	}
}

// TestTakeFuncEndsWithCtx: a take function that returns nil for ever does not hold Take beyond its
// ctx.
func TestTakeFuncEndsWithCtx(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	r := newRing(t, 4, &ringbuffer.Options{TakeFunc: func(context.Context, *ringbuffer.Ring) error {
		if calls++; calls == 3 {
			cancel()
		}
		return nil
	}})
	if uid, err := r.Take(ctx); uid != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Take() = %d, %v, want 0, %v", uid, err, context.Canceled)
	}
}

// panics calls f and reports whether it panics with errUser.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() == errUser }()
	f()
	return false
}

// TestPanics makes each function of the Options panic wherever it is called, and then uses the ring
// for many laps.
func TestPanics(t *testing.T) {
	t.Parallel()
	fill := func(r *ringbuffer.Ring) {
		for r.TryPut(1) {
		}
	}
	take := func(context.Context, *ringbuffer.Ring) error { panic(errUser) }
	for _, c := range []struct {
		name string
		opts ringbuffer.Options
		do   func(t *testing.T, r *ringbuffer.Ring)
	}{
		{"PutFunc", ringbuffer.Options{PutFunc: func(*ringbuffer.Ring, int64) error { panic(errUser) }},
			func(_ *testing.T, r *ringbuffer.Ring) { fill(r); _ = r.Put(2) }},
		{"TakeFunc", ringbuffer.Options{TakeFunc: take},
			func(t *testing.T, r *ringbuffer.Ring) { _, _ = r.Take(t.Context()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, 4, &c.opts)
			if !panics(func() { c.do(t, r) }) {
				t.Fatal("the function's panic did not reach the caller")
			}
			for r.Len() > 0 {
				wantTake(t, r, 1)
			}
			for i := range int64(20) {
				for k := range int64(4) {
					wantPut(t, r, i*4+k)
				}
				for k := range int64(4) {
					wantTake(t, r, i*4+k)
				}
				wantEmpty(t, r)
			}
		})
	}
}
