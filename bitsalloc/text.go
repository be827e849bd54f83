package bitsalloc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxText bounds the text that ParseLayout looks at: twice the longest that String writes.
const maxText = 128

// String returns the canonical text of the layout with its defaults filled in: the four widths, the tick and the epoch,
// such as "28-22-13-0/1s@2026-01-01T00:00:00Z". Two valid layouts give every id the same meaning if and only if their
// texts are equal; the texts are what to compare, since == on two epochs compares their zones as well. ParseLayout
// reads it.
func (l Layout) String() string {
	l = l.withDefaults()
	return fmt.Sprintf("%d-%d-%d-%d/%s@%s", l.TimeBits, l.WorkerBits, l.SeqBits, l.GeneBits, l.Tick, l.Epoch.Format(time.RFC3339Nano))
}

// ParseLayout reads the text of a layout: "TIME-WORKER-SEQ", then optionally "-GENE", "/TICK" as time.ParseDuration
// reads it and "@EPOCH" in RFC 3339. What is left out has its default, so "41-10-12/1ms" is a snowflake layout with
// DefaultEpoch. The result has its defaults filled in.
//
// The epoch has to be an instant: a date without a time or a time without a zone is refused, because it would mean
// another instant on another machine, and so is a day that the calendar does not have. Errors wrap ErrLayout.
func ParseLayout(text string) (Layout, error) {
	if len(text) > maxText {
		return Layout{}, fmt.Errorf("%w: text has %d bytes, want at most %d", ErrLayout, len(text), maxText)
	}
	rest, epoch, hasEpoch := strings.Cut(text, "@")
	rest, tick, hasTick := strings.Cut(rest, "/")

	var l Layout
	fields := []*int{&l.TimeBits, &l.WorkerBits, &l.SeqBits, &l.GeneBits}
	names := [...]string{"TimeBits", "WorkerBits", "SeqBits", "GeneBits"}
	widths := strings.Split(rest, "-")
	if len(widths) < 3 || len(widths) > 4 {
		return Layout{}, fmt.Errorf("%w: text %q has %d widths, want TIME-WORKER-SEQ or TIME-WORKER-SEQ-GENE", ErrLayout, text, len(widths))
	}
	for i, w := range widths {
		v, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return Layout{}, fmt.Errorf("%w: %s is %q in %q, want a number", ErrLayout, names[i], w, text)
		}
		*fields[i] = int(v)
	}
	if l.TimeBits == 0 { // three zeros would mean the default widths
		return Layout{}, fmt.Errorf("%w: TimeBits is 0 in %q, want 1..%d", ErrLayout, text, idBits-1)
	}
	if hasTick {
		d, err := time.ParseDuration(tick)
		if err != nil || d <= 0 {
			return Layout{}, fmt.Errorf("%w: Tick is %q in %q, want a duration above 0", ErrLayout, tick, text)
		}
		l.Tick = d
	}
	if hasEpoch {
		t, err := time.Parse(time.RFC3339, epoch) // reads fractions of a second as well
		if err != nil || t.IsZero() {
			return Layout{}, fmt.Errorf("%w: Epoch is %q in %q, want an RFC 3339 instant, with time and zone", ErrLayout, epoch, text)
		}
		l.Epoch = t
	}
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return Layout{}, err
	}
	return l, nil
}
