package idhttp

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/uidring/uidring/segment"
)

// group writes a number with a thin space between groups of three digits, which is how long ids can
// be read.
func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// ago writes how long before now t was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// maxSpan is the longest time that span writes.
const maxSpan = 100 * 365 * 24 * time.Hour

// span writes how long d is, in one unit.
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
	case d < maxSpan:
		return group(int64(d/(24*time.Hour))) + " days"
	default:
		return "for good"
	}
}

// pace writes how many ids a second x is.
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

// label writes a tag so that it reads as what it is: in quotes if a page would show it otherwise,
// because of spaces that it swallows or characters that nobody sees.
func label(tag string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if tag != strings.Join(strings.Fields(tag), " ") || tag == "" || strings.ContainsFunc(tag, odd) {
		return strconv.Quote(tag)
	}
	return tag
}

// last returns the last id of a range that is not empty.
func last(r segment.Range) int64 { return r.From + (r.Len()-1)*max(r.Stride, 1) }
