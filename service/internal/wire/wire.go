// Package wire defines the JSON bodies that handler and client exchange. Ids are decimal strings,
// because JavaScript cannot read a number above 2^53 exactly. Instants are in RFC 3339. Every field
// is sent, and Decode refuses a body that lacks one.
package wire

import (
	"time"

	"github.com/uidring/uidring/segment"
)

// The routes that a Client calls. A key follows RangePath.
const (
	RangePath   = "/api/segment/range/"
	AssignPath  = "/api/worker/assign"
	ExtendPath  = "/api/worker/extend"
	ReleasePath = "/api/worker/release"
	NowPath     = "/api/worker/now"
)

// Range is a range of ids: From, From+Stride and so on, all below To.
type Range struct {
	From   int64 `json:"from,string"`
	To     int64 `json:"to,string"`
	Stride int64 `json:"stride"`
	Step   int64 `json:"step"`   // the tag's own step; 0: unknown
	Origin int   `json:"origin"` // which of several counters it comes from
	Cyclic bool  `json:"cyclic"` // the counter starts over when it is used up
}

// FromRange returns r as it is sent, with a Stride of 1 or more.
func FromRange(r segment.Range) Range {
	return Range{
		From: r.From, To: r.To, Stride: max(r.Stride, 1),
		Step: r.Step, Origin: r.Origin, Cyclic: r.Cyclic,
	}
}

// Range returns r as a segment.Range. It does not validate it.
func (r Range) Range() segment.Range {
	return segment.Range{
		From: r.From, To: r.To, Stride: r.Stride,
		Step: r.Step, Origin: r.Origin, Cyclic: r.Cyclic,
	}
}

// Assign asks for a worker id in [0, MaxWorker], for ids of Layout. Without Layout it is refused.
type Assign struct {
	MaxWorker int64  `json:"max_worker"`
	Layout    string `json:"layout"`

	// Owner describes the client to the operator who reads the claims. Absent: its address.
	Owner string `json:"owner,omitempty"`
}

// Extend asks for a window that ends at Until or later. Here and below, Worker is the worker id of
// the claim: a server checks that it belongs to Key.
type Extend struct {
	Key    string    `json:"claim"`
	Worker int64     `json:"worker"`
	Until  time.Time `json:"until"`
}

// Release gives the window back from Used on. If Used is null, no id was stamped.
type Release struct {
	Key    string  `json:"claim"`
	Worker int64   `json:"worker"`
	Used   Instant `json:"used"`
}

// Now asks for the authority's time.
type Now struct {
	Key    string `json:"claim"`
	Worker int64  `json:"worker"`
}

// Claim is the state of a claim after a request.
type Claim struct {
	Key       string  `json:"claim,omitempty"` // the name of a new claim; absent in later answers
	Worker    int64   `json:"worker"`
	From      Instant `json:"from"`       // null: the beginning of time
	Until     Instant `json:"until"`      // null: the window has no end
	TellsTime bool    `json:"tells_time"` // NowPath answers with the authority's time

	// SpanMS is how long a new window is, in milliseconds. Absent: not known.
	SpanMS int64 `json:"span_ms,omitempty"`

	Universe string `json:"universe,omitempty"` // its name; absent: not known
}

// Time is the authority's time.
type Time struct {
	Now time.Time `json:"now"`
}

// Failure says why a request was refused. Code is for programs, Text for people.
type Failure struct {
	Code Code   `json:"code"`
	Text string `json:"error"`
}

// Code is the kind of a Failure.
type Code string

// The kinds. Those without a comment stand for an error of package segment or assigner.
const (
	BadRequest       Code = "bad_request" // the request is malformed
	NotServed        Code = "not_served"  // this server has no generator for it
	Unavailable      Code = "unavailable" // temporary
	UnknownTag       Code = "unknown_tag"
	TagExhausted     Code = "exhausted"
	BadRange         Code = "bad_range"
	UnknownClaim     Code = "unknown_claim" // this server did not make the claim, or forgot it
	ClaimLost        Code = "claim_lost"
	WorkersExhausted Code = "workers_exhausted"
	LayoutMismatch   Code = "layout_mismatch"
	Superseded       Code = "superseded"
	BeyondReach      Code = "beyond_reach"
)
