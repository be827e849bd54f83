// Package human writes numbers and lengths of time in a readable form.
package human

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count writes n with a comma at every third digit: 1,234,567.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if s[0] == '-' {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Short writes x with three digits and a unit of a thousand: 12.3M.
func Short(x float64) string {
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for x >= 999.5 && i < len(units)-1 {
		x /= 1000
		i++
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + units[i]
}

// Bytes writes n bytes with a binary unit: 1.5 MiB.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x /= 1024
		i++
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) + " " + units[i]
}

// Year is the mean length of a year of the Julian calendar.
const Year = 8766 * time.Hour

// Span writes the length of d with its two largest units: 1h05m.
func Span(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		tenths := float64(d / (100 * time.Millisecond))
		return strconv.FormatFloat(tenths/10, 'f', -1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 2*Year:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return Seconds(d.Seconds())
}

// Seconds is Span for a length that a Duration may not hold.
func Seconds(s float64) string {
	s = math.Abs(s)
	years := s / Year.Seconds()
	switch {
	case years < 2:
		return Span(time.Duration(math.Round(s * float64(time.Second))))
	case years < 1000:
		return strconv.FormatFloat(math.Round(years*10)/10, 'f', -1, 64) + " years"
	}
	return Short(years) + " years"
}

// Between is Span for the time from a to b, which may be more than a Duration holds.
func Between(a, b time.Time) string {
	nanos := float64(b.Nanosecond()-a.Nanosecond()) / float64(time.Second)
	return Seconds(float64(b.Unix()-a.Unix()) + nanos)
}

// Plural writes n and its noun: 1 row, 2 rows.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Printable returns s without what could move the cursor or break a table, and "-" for nothing.
func Printable(s string) string {
	if s == "" {
		return "-"
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
