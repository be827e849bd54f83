package workernode

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// refusal is the Store of an Assigner whose options or whose database are wrong, and the error of
// all its calls.
type refusal struct {
	error
	place string
}

var _ interface {
	lease.Store
	assigner.Clock
} = refusal{}

// Is makes the error a lease.ErrRefused: another try does not change it.
func (r refusal) Is(target error) bool { return target == lease.ErrRefused }

// Unwrap returns what is wrong.
func (r refusal) Unwrap() error { return r.error }

// String says where the rows would be.
func (r refusal) String() string { return r.place }

// List fails.
func (r refusal) List(context.Context) ([]lease.Entry, error) { return nil, r }

// Get fails.
func (r refusal) Get(context.Context, string) (lease.Entry, error) { return lease.Entry{}, r }

// Put fails.
func (r refusal) Put(context.Context, lease.Entry, []byte) (lease.Entry, error) {
	return lease.Entry{}, r
}

// Now fails.
func (r refusal) Now(context.Context) (time.Time, error) { return time.Time{}, r }
