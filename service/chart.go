package service

import (
	"fmt"
	"strings"
	"time"
)

// The chart's size in its own units, without the labels.
const (
	chartWidth  = 600
	chartHeight = 120
)

// picture is a chart of lead and lag: lead goes up from the zero line, lag down.
type picture struct {
	Width, Height int
	Lead, Lag     string // the points of a polyline
	Zero          int    // where the zero line is
	Top, Bottom   string // what the upper and the lower edge stand for
	Begin         string // when the left edge was
}

// chart draws the readings. The right edge is now, the left one the oldest reading that can be
// kept.
func chart(all []reading) picture {
	var lead, lag time.Duration
	for _, s := range all {
		lead, lag = max(lead, s.lead), max(lag, s.lag)
	}
	lead, lag = ceiling(lead), ceiling(lag)
	c := picture{Width: chartWidth, Height: chartHeight,
		Top: "+" + lead.String(), Bottom: "-" + lag.String(),
		Begin: "5 minutes ago"}
	span := float64(lead + lag)
	y := func(d time.Duration) float64 { return chartHeight * float64(lead-d) / span }
	c.Zero = int(y(0))
	var up, down strings.Builder
	for i, s := range all {
		x := float64(chartWidth) * float64(readings-len(all)+i) / (readings - 1)
		fmt.Fprintf(&up, "%.1f,%.1f ", x, y(s.lead))
		fmt.Fprintf(&down, "%.1f,%.1f ", x, y(-s.lag))
	}
	c.Lead, c.Lag = up.String(), down.String()
	return c
}

// ceiling returns the least of 1, 2, 5, 10 and 30 seconds, minutes or hours that d fits into.
func ceiling(d time.Duration) time.Duration {
	for unit := int64(time.Second); unit <= int64(time.Hour); unit *= 60 {
		for _, n := range []int64{1, 2, 5, 10, 30} {
			if d <= time.Duration(n*unit) {
				return time.Duration(n * unit)
			}
		}
	}
	return d
}
