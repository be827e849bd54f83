package suite

import (
	"context"
	"runtime"
	"slices"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
)

// load is a number of goroutines on a number of processors.
type load struct{ goroutines, procs int }

// throughput measures all contenders under all loads in every round, so that the ratio of two rows
// can be taken round by round.
func throughput(ctx context.Context, c *Config, f *result.File) error {
	n := runtime.NumCPU()
	loads := slices.Compact([]load{{1, 1}, {1, n}, {n, n}})
	return paces(ctx, f, "pace", contender.All(), loads, pick(c, 5, 120))
}

// paces measures contenders under loads, in rounds.
func paces(ctx context.Context, f *result.File, table string, list []contender.Contender,
	loads []load, n int) error {
	return rounds(ctx, n, func(round int) error {
		for _, l := range loads {
			err := measure.WithProcs(l.procs, func() error {
				for _, x := range list {
					column := On(l.goroutines, l.procs)
					d, times := x.Slice(n)
					if x.New == nil || round >= times || f.Get(table, x.Name, column).Err != "" {
						continue
					}
					ns, err := once(x.New, l.goroutines, d)
					f.Add(table, x.Name, column, "ns", ns, err)
				}
				return ctx.Err()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// tuning measures run lengths.
func tuning(ctx context.Context, c *Config, f *result.File) error {
	return rounds(ctx, pick(c, 2, 20), func(int) error {
		for _, s := range settings() {
			for column, goroutines := range map[string]int{"one goroutine": 1,
				"all processors": procs()} {
				ns, err := once(contender.Cached(&s.options), goroutines, contender.Short)
				f.Add("run length", s.name, column, "ns", ns, err)
			}
		}
		return ctx.Err()
	})
}
