package human

import (
	"math"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1499 * time.Millisecond: "1.4s",
		59999 * time.Millisecond: "59.9s", time.Minute: "1m00s", 3599 * time.Second: "59m59s",
		time.Hour: "1h00m", 47*time.Hour + 59*time.Minute: "47h59m", 48 * time.Hour: "2 days",
		2*Year - 1: "730 days", 2 * Year: "2 years", -90 * time.Second: "1m30s",
		math.MaxInt64: "292.3 years", math.MinInt64: "292.3 years",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	a := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for b, want := range map[time.Time]string{
		a:                               "0ms",
		a.Add(-time.Second):             "1s",
		a.Add(698 * time.Millisecond):   "698ms",
		a.Add(-1500 * time.Millisecond): "1.5s",
		a.AddDate(400, 0, 0):            "400 years",
		a.AddDate(5000, 0, 0):           "5k years",
		a.Add(3 * time.Minute):          "3m00s",
	} {
		if got := Between(a, b); got != want {
			t.Errorf("Between(%v, %v) = %s, want %s", a, b, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{
		0: "0", 1: "1", 999.4: "999", 999.6: "1k", 8192: "8.19k", 34.36e9: "34.4G", 1e30: "1e+12E",
	} {
		if got := Short(x); got != want {
			t.Errorf("Short(%v) = %s, want %s", x, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 72 << 20: "72 MiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%v) = %s, want %s", n, got, want)
		}
	}
}
