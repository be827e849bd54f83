package leafhttp

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/uidring/uidring/segment"
)

// group writes a number with a thin space between groups of three digits, which is how long ids can be read.
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
	switch d := now.Sub(t); {
	case d < 2*time.Second:
		return "a moment ago"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	default:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
}

// label writes a tag so that it reads as what it is: in quotes if a page would show it otherwise, because of spaces that it
// swallows or characters that nobody sees.
func label(tag string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if tag != strings.Join(strings.Fields(tag), " ") || tag == "" || strings.ContainsFunc(tag, odd) {
		return strconv.Quote(tag)
	}
	return tag
}

// last returns the last id of a range that is not empty.
func last(r segment.Range) int64 { return r.From + (r.Len()-1)*max(r.Stride, 1) }
