package service

import (
	"errors"
	"time"

	"github.com/uidring/uidring/uid"
)

const (
	every    = 2 * time.Second // between two readings
	readings = 150             // that are kept: five minutes
	events   = 10              // that are kept
)

// reading is what is remembered of a moment.
type reading struct {
	at     time.Time
	lead   time.Duration
	lag    time.Duration
	issued int64
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
	wrong    wrong     // at the last reading
}

// wrong is what tells one trouble from the next. The reason of a Health may hold a figure that
// changes.
type wrong struct {
	status         uid.Status // empty before the first reading
	err, extendErr string
	held           bool // a jump of the clock
}

// add adds a reading.
func (h *history) add(now time.Time, s uid.Stats) {
	if len(h.readings) == readings {
		h.readings = append(h.readings[:0], h.readings[1:]...)
	}
	h.readings = append(h.readings, reading{now, s.Lead, s.Lag, s.Issued})
	health := s.Health()
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
