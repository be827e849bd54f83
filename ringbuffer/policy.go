package ringbuffer

import "errors"

// Errors of Put and Take.
var (
	ErrFull  = errors.New("ringbuffer: full")
	ErrEmpty = errors.New("ringbuffer: empty")
)

// PutPolicy says what Put does when the ring is full.
type PutPolicy uint8

// The put policies.
const (
	Discard PutPolicy = iota // drop the uid and return nil
	Fail                     // return ErrFull
)

// TakePolicy says what Take does when the ring is empty.
type TakePolicy uint8

// The take policies.
const (
	Pad    TakePolicy = iota // call Options.Pad, then try again
	Wait                     // wait for a put or for the ctx
	Reject                   // return ErrEmpty
)
