package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// grouped writes n with a comma at every third digit.
func grouped(n int64) string {
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

// short writes x with three digits and a unit of a thousand: 12.3M.
func short(x float64) string {
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for x >= 999.5 && i < len(units)-1 {
		x /= 1000
		i++
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + units[i]
}

// size writes a number of bytes with a binary unit: 1.5 MiB.
func size(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for bytes >= 1024 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	return strconv.FormatFloat(math.Round(bytes*10)/10, 'f', -1, 64) + " " + units[i]
}

// span writes the length of d with the two largest units that it has, up to years of 365.25 days.
func span(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', -1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 2*year:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	default:
		return years(d.Hours() / year.Hours())
	}
}

// year is the mean length of a year of the Julian calendar, close enough for a lifetime.
const year = 8766 * time.Hour

// years writes a number of years that may be far above what a Duration holds.
func years(n float64) string {
	if n >= 1000 {
		return short(n) + " years"
	}
	return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " years"
}

// between returns the span from a to b, which may lie further apart than the 292 years that a Duration holds.
func between(a, b time.Time) string {
	sec := float64(b.Unix() - a.Unix())
	if math.Abs(sec) < 200*year.Seconds() {
		return span(b.Sub(a))
	}
	return years(math.Abs(sec) / year.Seconds())
}

// plural writes n and the noun for it.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
