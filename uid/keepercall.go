package uid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
)

// callGrace is how long after its ctx a call of the authority may take to return before it counts
// as one that does not.
const callGrace = 100 * time.Millisecond

// call is a call of the authority. It runs on a goroutine of its own, so that one that does not
// heed its ctx holds nothing but itself: not the keeper, and not Close.
type call struct {
	what  string // the method
	begun time.Time
	back  chan struct{} // closed when the goroutine ends: the fields below may be read then

	err      error
	returned bool // it did not end its goroutine, as runtime.Goexit does, and did not panic
	panicked any
}

// calls makes calls of one authority, one at a time. The zero value is ready to use. It is owned by
// one goroutine at a time: the keeper's, and the constructor and release when that does not run.
type calls struct {
	out *call // the call that has not returned, or whose end nobody has looked at; nil: none
}

// ask calls f, which calls the authority, and returns its error. It waits until f has returned, or
// until ctx has ended and f takes no notice. Then it returns an error, the call is out, and what f
// has set must not be looked at. While a call is out no other one is made, because a claim's
// methods are not for concurrent use: ask fails.
func (k *calls) ask(ctx context.Context, what string, f func() error) error {
	if err := k.isOut(); err != nil {
		return err
	}
	c := &call{what: what, begun: time.Now(), back: make(chan struct{})}
	k.out = c
	go c.run(f)
	select {
	case <-c.back:
	case <-ctx.Done():
		select {
		case <-c.back:
		case <-time.After(callGrace):
		}
	}
	if err := k.isOut(); err != nil {
		return err
	}
	return c.err
}

// isOut returns an error if a call is out. A panic of a call is one of the caller's goroutine, so
// that a constructor's caller may recover it.
func (k *calls) isOut() error {
	c := k.out
	if c == nil {
		return nil
	}
	select {
	case <-c.back:
	default:
		return fmt.Errorf("uid: the authority's %s, which was called at %s, has not returned",
			c.what, c.begun.UTC().Format(time.RFC3339))
	}
	k.out = nil
	switch {
	case c.panicked != nil:
		panic(c.panicked)
	case !c.returned:
		return fmt.Errorf("uid: the authority's %s ended its goroutine", c.what)
	}
	return nil
}

// run makes the call.
func (c *call) run(f func() error) {
	defer close(c.back)
	defer func() { c.panicked = recover() }()
	if err := f(); err != nil {
		c.err = judge(err)
	}
	c.returned = true
}

// said is an error of the authority that was asked what it is by the call that has returned it. Its
// methods are the authority's own code, which may take ids, and wait for the keeper. So the
// keeper never asks: Is answers what it wants to know. Is and As pass other questions on.
type said struct {
	cause                    error
	text                     string
	lost, superseded, beyond bool // the sentinels that the keeper looks for
}

func judge(err error) *said {
	return &said{err, err.Error(), errors.Is(err, assigner.ErrClaimLost),
		errors.Is(err, assigner.ErrSuperseded), errors.Is(err, assigner.ErrBeyondReach)}
}

func (e *said) Error() string { return e.text }

func (e *said) Is(target error) bool {
	switch target {
	case assigner.ErrClaimLost:
		return e.lost
	case assigner.ErrSuperseded:
		return e.superseded
	case assigner.ErrBeyondReach:
		return e.beyond
	case errNotGrown, errBehind:
		return false
	}
	return errors.Is(e.cause, target)
}

// As finds the authority's error.
func (e *said) As(target any) bool { return errors.As(e.cause, target) }
