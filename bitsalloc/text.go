package bitsalloc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxText bounds the text that ParseLayout looks at: twice the longest that String writes.
const maxText = 128

// String returns the canonical text of the layout with its defaults filled in: the four widths, the
// tick, the first tick if it is not 0, and the epoch, such as "28-22-13-0/1s@2026-01-01T00:00:00Z"
// or "28-22-13-0/1s+4711@2026-01-01T00:00:00Z". Two valid layouts give every id the same meaning if
// their texts are equal; the texts are what to compare, since == on two epochs compares their zones
// as well. ParseLayout reads it.
func (l Layout) String() string {
	l = l.withDefaults()
	first := ""
	if l.FirstTick != 0 {
		first = fmt.Sprintf("+%d", l.FirstTick)
	}
	return fmt.Sprintf("%d-%d-%d-%d/%s%s@%s", l.TimeBits, l.WorkerBits, l.SeqBits,
		l.GeneBits, l.Tick,
		first, l.Epoch.Format(time.RFC3339Nano))
}

// ParseLayout reads the text of a layout: "TIME-WORKER-SEQ", then optionally "-GENE", "/TICK" as
// time.ParseDuration reads it, "+FIRSTTICK" and "@EPOCH" in RFC 3339. What is left out has its
// default, so "41-10-12/1ms" is a snowflake layout with the default epoch. The result has its
// defaults filled in.
//
// The epoch has to be an instant: a date without a time or a time without a zone is refused,
// because it would mean another instant on another machine, and so is a day that the calendar does
// not have. Errors wrap ErrLayout.
func ParseLayout(text string) (Layout, error) {
	if len(text) > maxText {
		return Layout{}, fmt.Errorf("%w: text has %d bytes, want at most %d",
			ErrLayout, len(text), maxText)
	}
	rest, epoch, hasEpoch := strings.Cut(text, "@")
	rest, first, hasFirst := strings.Cut(rest, "+")
	rest, tick, hasTick := strings.Cut(rest, "/")

	var l Layout
	fields := []*int{&l.TimeBits, &l.WorkerBits, &l.SeqBits, &l.GeneBits}
	names := [...]string{"TimeBits", "WorkerBits", "SeqBits", "GeneBits"}
	widths := strings.Split(rest, "-")
	if len(widths) < 3 || len(widths) > 4 {
		return Layout{}, fmt.Errorf("%w: text %q has %d widths, want TIME-WORKER-SEQ or "+
			"TIME-WORKER-SEQ-GENE", ErrLayout, text, len(widths))
	}
	for i, w := range widths {
		v, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return Layout{}, fmt.Errorf("%w: %s is %q in %q, want a number",
				ErrLayout, names[i], w, text)
		}
		*fields[i] = int(v)
	}
	if l.TimeBits == 0 { // three zeros would mean the default widths
		return Layout{}, fmt.Errorf("%w: TimeBits is 0 in %q, want 1..%d",
			ErrLayout, text, idBits-1)
	}
	if hasTick {
		d, err := time.ParseDuration(tick)
		if err != nil || d <= 0 {
			return Layout{}, fmt.Errorf("%w: Tick is %q in %q, want a duration above 0",
				ErrLayout, tick, text)
		}
		l.Tick = d
	}
	if hasFirst {
		v, err := strconv.ParseUint(first, 10, 63)
		if err != nil {
			return Layout{}, fmt.Errorf("%w: FirstTick is %q in %q, want a number",
				ErrLayout, first, text)
		}
		l.FirstTick = int64(v)
	}
	if hasEpoch {
		t, err := time.Parse(time.RFC3339, epoch) // reads fractions of a second as well
		if err != nil || t.IsZero() {
			return Layout{}, fmt.Errorf("%w: Epoch is %q in %q, want an RFC 3339 instant "+
				"with a zone",
				ErrLayout, epoch, text)
		}
		l.Epoch = t
	}
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return Layout{}, err
	}
	return l, nil
}

// MarshalText returns the text that String returns, or an error for a layout that New refuses. It
// makes String the form of a layout in JSON and in other formats that know encoding.TextMarshaler.
func (l Layout) MarshalText() ([]byte, error) {
	if err := l.withDefaults().validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads what ParseLayout reads, and an empty text as the default layout. It lets a
// layout be a flag (flag.TextVar), an environment variable, or a field of a configuration file.
func (l *Layout) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Layout{}.withDefaults()
		return nil
	}
	read, err := ParseLayout(string(text))
	if err != nil {
		return err
	}
	*l = read
	return nil
}
