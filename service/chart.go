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
	Lead, Lag     string // paths around what each reading saw, with a gap where ids were missing
	Zero          int    // where the zero line is
	Top, Bottom   string // what the upper and the lower edge stand for
	Begin         string // when the left edge was
}

// chart draws the readings. The right edge is now, the left one the oldest reading that can be
// kept.
func chart(all []reading) picture {
	var lead, lag time.Duration
	for _, s := range all {
		lead, lag = max(lead, s.lead.most), max(lag, s.lag.most)
	}
	lead, lag = ceiling(lead), ceiling(lag)
	c := picture{Width: chartWidth, Height: chartHeight,
		Top: "+" + lead.String(), Bottom: "-" + lag.String(),
		Begin: "5 minutes ago"}
	y := func(d time.Duration) float64 {
		return chartHeight * float64(lead-d) / float64(lead+lag)
	}
	c.Zero = int(y(0))
	c.Lead = bands(all, func(r reading) (float64, float64) {
		return y(r.lead.most), y(r.lead.least)
	})
	c.Lag = bands(all, func(r reading) (float64, float64) {
		return y(-r.lag.least), y(-r.lag.most)
	})
	return c
}

// bands returns a path around each run of readings in which there were ids: along its upper limits
// and back along the lower ones.
func bands(all []reading, limits func(reading) (upper, lower float64)) string {
	var path strings.Builder
	x := func(i int) float64 {
		return float64(chartWidth) * float64(readings-len(all)+i) / (readings - 1)
	}
	for begin := 0; begin < len(all); begin++ {
		if all[begin].down {
			continue
		}
		end := begin
		mark := "M"
		for ; end < len(all) && !all[end].down; end++ {
			upper, _ := limits(all[end])
			fmt.Fprintf(&path, "%s%.1f,%.1f ", mark, x(end), upper)
			mark = "L"
		}
		for i := end - 1; i >= begin; i-- {
			_, lower := limits(all[i])
			fmt.Fprintf(&path, "L%.1f,%.1f ", x(i), lower)
		}
		path.WriteString("Z ")
		begin = end
	}
	return path.String()
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
