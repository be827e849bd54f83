package uid

import (
	"fmt"
	"time"
)

// Status says whether a generator hands out ids.
type Status string

// The statuses.
const (
	Up       Status = "up"       // ids are handed out
	Degraded Status = "degraded" // ids are handed out, and something needs attention
	Down     Status = "down"     // no id can be handed out
)

// Health is what a readiness probe needs to know of a generator. It is a value: it does not follow
// the generator.
type Health struct {
	Status Status

	// Reason is why the status is not Up, in words for a person. Empty: it is.
	Reason string

	// Until is the end of the stamps that are left while the status is Degraded, if nothing
	// changes: Stats.IDsUntil. Default has ids until then. The ring of a Cached may outlast it by
	// up to MaxLag, and a burst, which runs ahead of the clock, may use the stamps up earlier.
	// Zero: no end is known.
	Until time.Time
}

// Health returns whether ids are handed out, and whether they will be. It is a function of s: call
// it on a new snapshot. The status is Down exactly while a call that may wait fails for want of
// ids, or waits for longer than the next tick. Three exceptions pass: a call may wait for an
// extension that is under way; a burst on a Default whose claim began ahead of the clock may wait
// up to five seconds for the clock; and where a Cached has several lanes, a Fill that has used its
// lane up may fail or wait for the rest while another lane has ids: those of one call are from one
// lane. Health looks for reasons in this order:
//
//	Err          Down
//	ExtendErr    Degraded until IDsUntil: the claim's authority does not answer, for one
//	ClockHeld    Degraded: ids carry the time that the clock showed before it jumped
//
// A readiness probe that fails for a degraded generator takes a service away that works: fail it
// when the status is Down.
func (s Stats) Health() Health {
	switch {
	case s.Err != nil:
		return Health{Status: Down, Reason: s.Err.Error()}
	case s.ExtendErr != nil:
		return Health{Status: Degraded, Until: s.IDsUntil,
			Reason: fmt.Sprintf("ids until %s: %v", s.IDsUntil.UTC().Format(time.RFC3339),
				s.ExtendErr)}
	case s.ClockHeld > 0:
		return Health{Status: Degraded,
			Reason: fmt.Sprintf("the clock jumped ahead by %v and is held back", s.ClockHeld)}
	}
	return Health{Status: Up}
}
