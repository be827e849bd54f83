package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/uid"
)

// TestHistory: five minutes are kept, and ten changes, of which a reason whose figures change is
// none.
func TestHistory(t *testing.T) {
	t.Parallel()
	var h history
	at := func(i int) time.Time { return time.Unix(int64(2*i), 0) }
	for i := range 400 {
		h.add(at(i), uid.Stats{Issued: int64(i) * 20})
	}
	if len(h.readings) != readings || !h.readings[0].at.Equal(at(400-readings)) ||
		!h.readings[readings-1].at.Equal(at(399)) || len(h.events) != 0 {
		t.Fatalf("%d readings from %v to %v, %d events", len(h.readings), h.readings[0].at,
			h.readings[len(h.readings)-1].at, len(h.events))
	}
	if got := h.rate(); got != 10 {
		t.Errorf("%v ids a second, want 10", got)
	}
	for i := range 20 {
		h.add(at(400+i), uid.Stats{ClockHeld: time.Hour + time.Duration(i)})
	}
	if len(h.events) != 1 || !strings.HasPrefix(h.events[0].Text, "degraded: the clock jumped ahead by 1h0m0s") {
		t.Errorf("events %v, want the jump once", h.events)
	}
	clock := history{}
	for i := range 20 {
		by := time.Hour - time.Duration(i)*time.Second
		clock.add(at(i), uid.Stats{Err: fmt.Errorf("%w by %v", uid.ErrClockBack, by)})
	}
	if len(clock.events) != 1 {
		t.Errorf("events %v, want once that the clock went back", clock.events)
	}
	for i := range 20 {
		h.add(at(420+i), uid.Stats{Err: fmt.Errorf("error %d", i)})
	}
	h.add(at(440), uid.Stats{})
	if len(h.events) != events || h.events[0].Text != "up" ||
		h.events[1].Text != "down: error 19" || !h.events[1].At.Equal(at(439)) {
		t.Errorf("events %v, want the newest 10", h.events)
	}
	var late history
	late.add(at(0), uid.Stats{Err: errors.New("from the start")})
	if len(late.events) != 1 || late.rate() != 0 {
		t.Errorf("events %v, rate %v", late.events, late.rate())
	}
}

// TestChart: lead is above the zero line, lag below, and now is at the right edge.
func TestChart(t *testing.T) {
	t.Parallel()
	one := func(lead, lag time.Duration) reading {
		return reading{lead: limits{lead, lead}, lag: limits{lag, lag}}
	}
	c := chart([]reading{one(3*time.Second, 0), one(0, 2*time.Second), one(0, 0)})
	if c.Top != "+5s" || c.Bottom != "-2s" || c.Zero != 85 {
		t.Errorf("from %s to %s, zero at %d", c.Top, c.Bottom, c.Zero)
	}
	if c.Lead != "M591.9,34.3 L596.0,85.7 L600.0,85.7 L600.0,85.7 L596.0,85.7 L591.9,34.3 Z " ||
		!strings.Contains(c.Lag, "L596.0,120.0 ") {
		t.Errorf("lead %s, lag %s", c.Lead, c.Lag)
	}
	if c := chart(nil); c.Lead != "" || c.Top != "+1s" {
		t.Errorf("of nothing: %+v", c)
	}
	for d, want := range map[time.Duration]string{
		0: "1s", time.Second: "1s", 1001 * time.Millisecond: "2s", 31 * time.Second: "1m0s",
		3 * time.Hour: "5h0m0s", 1<<63 - 1: "2562047h47m16.854775807s",
	} {
		if got := ceiling(d).String(); got != want {
			t.Errorf("ceiling(%v) = %s, want %s", d, got, want)
		}
	}
}

// TestReadings: a reading has the least and the most of what its looks saw, so that no short peak is lost,
// an outage is a gap in the chart, and a claim that was lost is a change.
func TestReadings(t *testing.T) {
	t.Parallel()
	var h history
	begin, n := time.Unix(1000, 0), 0
	look := func(s uid.Stats) {
		h.add(begin.Add(time.Duration(n)*every/looks), s)
		n++
	}
	for i := range 5 * looks {
		s := uid.Stats{Lead: time.Second, Worker: 7, ClaimsLost: 1}
		switch {
		case i == 3: // between two readings
			s.Lead, s.Lag = 30*time.Second, 4*time.Second
		case i/looks == 2:
			s = uid.Stats{Err: uid.ErrClaimExpired, ClaimsLost: 1}
		case i/looks > 2:
			s.Worker, s.ClaimsLost = 8, 2
		}
		look(s)
	}
	first := h.readings[0]
	if len(h.readings) != 5 || first.lead != (limits{time.Second, 30 * time.Second}) ||
		first.lag != (limits{0, 4 * time.Second}) || !h.readings[2].down || h.readings[3].down {
		t.Errorf("readings %+v", h.readings)
	}
	if c := chart(h.readings); strings.Count(c.Lead, "M") != 2 || strings.Count(c.Lag, "Z") != 2 || c.Top != "+30s" {
		t.Errorf("the chart is %+v, want two parts", c)
	}
	var texts []string
	for _, e := range h.events {
		texts = append(texts, e.Text)
	}
	all := strings.Join(texts, "|")
	if !strings.Contains(all, "claim lost; the worker id is 8 now") || strings.Count(all, "claim lost") != 1 {
		t.Errorf("changes %q", texts)
	}
}
