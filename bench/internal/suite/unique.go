package suite

import (
	"context"
	"errors"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/progress"
	"github.com/uidring/uidring/uid"
)

// runUnique makes ids with every contender on several goroutines and compares all of them, and
// counts the ids that callers of one lane skip.
func runUnique(ctx context.Context, c *Config) error {
	list := c.contenders()
	return collect(ctx, c, result.Unique, len(list)+3,
		func(bar *progress.Bar) ([]result.UniqueRow, error) {
			var rows []result.UniqueRow
			err := rounds(ctx, bar, len(list), func(i int) error {
				if x := list[i]; x.Bits > 0 {
					rows = append(rows, uniqueOnce(x, 4*procs(), uniqueIDs(x.Rate, c.Quick)))
				}
				return nil
			})
			for _, goroutines := range []int{1, procs(), 4 * procs()} {
				bar.Step("skipped ids")
				row := result.UniqueRow{Contender: contender.OneLane, Goroutines: goroutines,
					Skipped: new(int)}
				for range pick(c, 1, 10) {
					if row.Err == "" && ctx.Err() == nil {
						row.Err = text(skipOnce(ctx, pick(c, 1<<20, 1<<24), &row))
					}
				}
				rows = append(rows, row)
			}
			return rows, errors.Join(err, ctx.Err())
		})
}

// uniqueIDs returns how many ids to ask for: no more than a waiting layout has in ten seconds, and
// more than a second's where a layout repeats ids, so that it shows.
func uniqueIDs(r contender.Rate, quick bool) int {
	n, longest := 2_000_000, 10.0
	if quick {
		n, longest = 200_000, 2
	}
	switch {
	case r.Waits():
		return min(n, int(longest*r.PerSecond))
	case r.Beyond == contender.Repeats && !quick:
		return int(1.5 * r.PerSecond)
	}
	return n
}

func uniqueOnce(x contender.Contender, goroutines, n int) result.UniqueRow {
	row := result.UniqueRow{Contender: x.Name, IDs: n, Goroutines: goroutines}
	in, err := x.New()
	if err != nil {
		row.Err = err.Error()
		return row
	}
	defer in.Close()
	k, ok := in.(contender.Keyer)
	if !ok {
		row.Err = "shows no ids"
		return row
	}
	row.Duplicates, err = measure.Duplicates(k, goroutines, n)
	row.Err = text(err)
	return row
}

// errJumped says that ids are missing for another reason than a skip.
var errJumped = errors.New("the generator jumped")

// skipOnce adds n ids of one lane to row.
func skipOnce(ctx context.Context, n int, row *result.UniqueRow) error {
	g, err := uid.NewCached(ctx, assignertest.Static(1), nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	seqBits := g.Stats().Layout.SeqBits
	skipped, duplicates, err := measure.Skipped(g, row.Goroutines, n, func(id uid.ID) int64 {
		p := g.Parse(id)
		return p.Tick<<seqBits | p.Seq
	})
	if err == nil && g.Stats().RunsStale > 0 {
		err = errJumped
	}
	row.IDs, row.Duplicates, *row.Skipped = row.IDs+n, row.Duplicates+duplicates,
		*row.Skipped+skipped
	return err
}
