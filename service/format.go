package service

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/segment"
)

// group formats n with a narrow space between groups of three digits, so that long ids are easy to
// read.
func group(n int64) string { return strings.ReplaceAll(human.Count(n), ",", "\u202f") }

// ago formats how long before now t was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// maxSpan is the shortest time that span calls "for good".
const (
	year    = 365 * 24 * time.Hour
	maxSpan = 100 * year
)

// span formats d in one unit. Below a second it returns "".
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return ""
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < 2*year:
		return group(int64(d/(24*time.Hour))) + " days"
	case d < maxSpan:
		return group(int64(d/year)) + " years"
	default:
		return "for good"
	}
}

// pace formats x ids a second.
func pace(x float64) string {
	switch {
	case x <= 0:
		return "0"
	case x < 0.1:
		return "< 0.1"
	case x < 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return group(int64(x))
	}
}

// label formats a tag for a page. It quotes a tag that a page would not show as it is: one with
// spaces that HTML collapses, or with characters that do not print.
func label(tag string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if tag != strings.Join(strings.Fields(tag), " ") || tag == "" ||
		strings.ContainsFunc(tag, odd) {
		return strconv.Quote(tag)
	}
	return tag
}

// last returns the last id of r, which must not be empty.
func last(r segment.Range) int64 { return r.From + (r.Len()-1)*max(r.Stride, 1) }
