package service

import (
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/uid"
)

const (
	every    = 2 * time.Second // that a reading covers
	looks    = 10              // that a reading is made of
	readings = 150             // that are kept: five minutes
	events   = 10              // that are kept
)

// reading is what is remembered of the looks of two seconds.
type reading struct {
	at        time.Time // of the first check
	lead, lag limits
	down      bool // there were no ids at one of them
	issued    int64
}

// limits are the least and the most of what was seen.
type limits struct{ least, most time.Duration }

// or returns the limits of two readings together.
func (l limits) or(other limits) limits {
	return limits{min(l.least, other.least), max(l.most, other.most)}
}

// event is a change of what is wrong with a generator.
type event struct {
	At   time.Time
	Text string
}

// history is the last minutes of a generator.
type history struct {
	readings []reading // the oldest first
	events   []event   // the newest first
	wrong    wrong     // at the last check
	looked   bool      // there was a check
	lost     int64     // claims that were lost until the last check
}

// wrong is what tells one trouble from the next. The reason of a Health may hold a figure that
// changes.
type wrong struct {
	status         uid.Status // empty before the first reading
	err, extendErr string
	held           bool // a jump of the clock
}

// add adds what a check has found. It belongs to the last reading if that has begun within every.
func (h *history) add(now time.Time, s uid.Stats) {
	health := s.Health()
	r := reading{at: now, lead: limits{s.Lead, s.Lead}, lag: limits{s.Lag, s.Lag},
		down: health.Status == uid.Down, issued: s.Issued}
	switch n := len(h.readings); {
	case n > 0 && now.Sub(h.readings[n-1].at) < every:
		last := &h.readings[n-1]
		last.lead, last.lag = last.lead.or(r.lead), last.lag.or(r.lag)
		last.down = last.down || r.down
	case n == readings:
		h.readings = append(append(h.readings[:0], h.readings[1:]...), r)
	default:
		h.readings = append(h.readings, r)
	}
	if h.looked && s.ClaimsLost > h.lost {
		h.happened(now, fmt.Sprintf("claim lost; the worker id is %d now", s.Worker))
	}
	h.looked, h.lost = true, s.ClaimsLost
	wrong := wrong{health.Status, kind(s.Err), message(s.ExtendErr), s.ClockHeld > 0}
	before := h.wrong
	h.wrong = wrong
	if wrong == before || wrong.status == uid.Up && before.status == "" {
		return
	}
	text := string(health.Status)
	if health.Reason != "" {
		text += ": " + health.Reason
	}
	h.happened(now, text)
}

// happened adds an event.
func (h *history) happened(now time.Time, text string) {
	h.events = append([]event{{now, text}}, h.events[:min(len(h.events), events-1)]...)
}

// kind returns the text of err without the figures that change as the clock goes.
func kind(err error) string {
	for _, clock := range []error{uid.ErrClockBack, uid.ErrLead} {
		if errors.Is(err, clock) {
			return clock.Error()
		}
	}
	return message(err)
}

// message returns the text of err, empty for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// rate returns the ids a second over the last minute, or what there is of it.
func (h *history) rate() float64 {
	n := len(h.readings)
	if n < 2 {
		return 0
	}
	last, first := h.readings[n-1], h.readings[max(0, n-1-int(time.Minute/every))]
	return float64(last.issued-first.issued) / last.at.Sub(first.at).Seconds()
}
