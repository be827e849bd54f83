package suite

import (
	"context"
	"math"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
)

// runUnique makes ids with every contender on several goroutines and counts each id once.
func runUnique(ctx context.Context, c *Config) error {
	var list []contender.Contender
	for _, x := range c.contenders() {
		if x.Bits > 0 {
			list = append(list, x)
		}
	}
	ids := pick(c, 200_000, 4_000_000)
	longest := pick(c, 2*time.Second, 10*time.Second)
	return collect(ctx, c, result.Unique, len(list), func(bar *progress.Bar) ([]result.UniqueRow, error) {
		var rows []result.UniqueRow
		for _, x := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			bar.Step(x.Name)
			rows = append(rows, uniqueOnce(x, uniqueIDs(x.Ceiling, ids, longest)))
		}
		return rows, nil
	})
}

// uniqueIDs returns how many ids to ask for: most of what the ceiling lets through in the longest time, so that a slow
// layout does not hold the suite up; and more than a second's worth where a ceiling repeats ids, so that it shows.
func uniqueIDs(ceiling contender.Ceiling, ids int, longest time.Duration) int {
	switch {
	case ceiling.PerSecond == 0 || ceiling.At == contender.Borrows:
		return ids
	case ceiling.At == contender.Repeats && longest > 5*time.Second:
		return int(1.5 * ceiling.PerSecond)
	}
	return int(math.Min(float64(ids), ceiling.PerSecond*longest.Seconds()))
}

func uniqueOnce(x contender.Contender, ids int) result.UniqueRow {
	row := result.UniqueRow{Contender: x.Name, IDs: ids, Goroutines: 4 * allProcs()}
	in, err := x.New()
	if err != nil {
		row.Err = err.Error()
		return row
	}
	defer in.Close()
	start := time.Now()
	row.Duplicates, err = measure.Unique(in, row.Goroutines, ids)
	row.Seconds, row.Err = time.Since(start).Seconds(), text(err)
	return row
}
