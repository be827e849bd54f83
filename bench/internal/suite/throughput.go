package suite

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/uid"
)

// load is a number of goroutines on a number of processors, and the column that it is.
type load struct {
	column            string
	goroutines, procs int
}

func on(goroutines, procs int) load { return load{On(goroutines, procs), goroutines, procs} }

// throughput measures all contenders under all loads in every round, so that the ratio of two rows
// can be taken round by round.
func throughput(ctx context.Context, c *Config, f *result.File) error {
	loads := slices.Compact([]load{on(1, 1), on(1, procs()), on(procs(), procs())})
	return paces(ctx, f, "pace", contender.All(), loads, pick(c, 5, 120))
}

// tuning measures run lengths.
func tuning(ctx context.Context, c *Config, f *result.File) error {
	var list []contender.Contender
	for _, x := range []struct {
		name            string
		lanes, standard int
	}{{"one lane", 1, 2048}, {"many lanes", uid.AutoLanes, 512}} {
		for _, length := range []int{1, 64, 256, 512, 2048} {
			name := fmt.Sprintf("%s, RunLength %d", x.name, length)
			if length == x.standard {
				name += ", the default"
			}
			list = append(list, contender.Contender{Name: name,
				New: contender.Cached(&uid.Options{Lanes: x.lanes, RunLength: length})})
		}
	}
	loads := []load{{"one goroutine", 1, procs()}, {"all processors", procs(), procs()}}
	return paces(ctx, f, "run length", list, loads, pick(c, 2, 20))
}

// paces measures contenders under loads, in rounds.
func paces(ctx context.Context, f *result.File, table string, list []contender.Contender,
	loads []load, n int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	return rounds(ctx, n, func(round int) error {
		for _, l := range loads {
			runtime.GOMAXPROCS(l.procs)
			for _, x := range list {
				d, times := x.Slice(n)
				if x.New == nil || round >= times || f.Get(table, x.Name, l.column).Err != "" {
					continue
				}
				ns, err := once(x.New, l.goroutines, d)
				f.Add(table, x.Name, l.column, "ns", ns, err)
			}
		}
		return nil
	})
}
