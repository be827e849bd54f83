package service

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/uid"
)

// generatorView is what the page shows of a generator.
type generatorView struct {
	uid.Stats

	Name, State string
	Reason      string // why the state is not up
	Rate        float64
	Chart       *picture // nil: no history is kept
	Events      []event
	Window      float64 // how much of the window is left, in percent
	Rejects     []reject
}

// reject is how many calls failed, by reason.
type reject struct {
	Reason string
	Count  int64
}

// newGeneratorView returns the view of a snapshot; text formats its errors.
func newGeneratorView(
	name string, s uid.Stats, now time.Time, text func(error) string,
) generatorView {
	health := s.Health()
	g := generatorView{Stats: s, Name: name, State: string(health.Status), Reason: health.Reason}
	switch {
	case s.Err != nil:
		g.Reason = text(s.Err)
	case s.ExtendErr != nil:
		g.Reason = fmt.Sprintf("ids until %s: %s", s.IDsUntil.UTC().Format(time.RFC3339),
			text(s.ExtendErr))
	}
	if length := s.WindowUntil.Sub(s.LastExtended); !s.WindowUntil.IsZero() && length > 0 {
		g.Window = min(100, max(0, 100*float64(s.WindowUntil.Sub(now))/float64(length)))
	}
	for _, r := range []reject{
		{"no id ready", s.RejectsEmpty}, {"too far ahead", s.RejectsLead},
		{"no claim", s.RejectsClaim},
		{"time bits used up", s.RejectsExhausted}, {"clock went back", s.RejectsRollback},
		{"ring full", s.RejectsPut},
	} {
		if r.Count > 0 {
			g.Rejects = append(g.Rejects, r)
		}
	}
	return g
}
