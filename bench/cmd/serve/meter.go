package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/uidring/uidring/bench/internal/result"
)

// meter asks contenders in rounds, in which they take turns.
type meter struct {
	rounds   int
	duration time.Duration
	conns    int
	open     bool          // loop, in place of the closed one
	within   time.Duration // of the start every rate begins
	out      io.Writer
}

// quantiles are the latencies that are shown, in percent.
var quantiles = [...]float64{50, 99, 99.9, 99.99}

// ask asks every contender in every round, at so many requests a second or, for 0, as fast as they
// answer. It returns rates, microseconds of the server a request, and latencies in microseconds.
func (m *meter) ask(ctx context.Context, list []contender, rate int) (*result.File, error) {
	f := &result.File{}
	for round := range m.rounds {
		for _, c := range list {
			before := c.cpuTime()
			h, took, err := c.load(ctx, rate, m.duration, m.conns)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			n := float64(h.TotalCount())
			f.Add("", c.name, "rate", "", n/took.Seconds(), nil)
			f.Add("", c.name, "cpu", "", float64((c.cpuTime()-before).Microseconds())/n, nil)
			for _, q := range quantiles {
				f.Add("", c.name, fmt.Sprint("p", q), "", float64(h.ValueAtQuantile(q))/1e3, nil)
			}
			last := func(column string) float64 { return f.Get("", c.name, column).Values[round] }
			fmt.Fprintf(m.out, "round %d  %8.0f/s  %5.1f µs of the server%s  %s\n", round+1,
				last("rate"), last("cpu"), latencies(last), c.name)
		}
	}
	return f, ctx.Err()
}

// latencies shows the quantiles.
func latencies(value func(column string) float64) (text string) {
	for _, q := range quantiles {
		text += fmt.Sprintf("  p%v %7.0f µs", q, value(fmt.Sprint("p", q)))
	}
	return text
}

// step is from one rate of the open loop to the next, in requests a second.
const step = 10_000

// measure asks the contenders once as fast as they answer, or in the open loop at step requests a
// second, twice that and so on, up to the highest rate that the first contender holds. One that
// does not hold a rate is not asked for the next.
func (m *meter) measure(ctx context.Context, list []contender) error {
	name, rate, first, begin := "closed", 0, list[0], time.Now()
	if m.open {
		name, rate = "open", step
	}
	fmt.Fprintf(m.out, "%s loop, %d connections, %v a rate, %d rounds; %s\n", name, m.conns,
		m.duration, m.rounds, result.Conditions(ctx))
	for ; len(list) > 0 && list[0] == first && time.Since(begin) < m.within; rate += step {
		f, err := m.ask(ctx, list, rate)
		if err != nil {
			return fmt.Errorf("%d/s: %w", rate, err)
		}
		fmt.Fprintf(m.out, "load after: %s\n\nmedians:\n", result.LoadAverage())
		list = slices.DeleteFunc(list, func(c contender) bool { return !m.median(f, c, rate) })
		if !m.open {
			break
		}
	}
	return nil
}

// median shows what a contender did, next to the first one, and reports whether it held the rate.
func (m *meter) median(f *result.File, c contender, rate int) (held bool) {
	values := func(column string) []float64 { return f.Get("", c.name, column).Values }
	median := func(column string) float64 { return result.Median(values(column)) }
	first := f.Rows[:2] // its rate and its processor time
	shown, end := float64(rate), ""
	switch {
	case rate == 0:
		shown = median("rate")
	case 1.05*median("rate") < float64(rate):
		end = ": not held"
	}
	ratio := func(a, b []float64) float64 { return result.Median(result.Pairs(a, b, result.Ratio)) }
	fmt.Fprintf(m.out, "%8.0f/s  %.2f of the first; %5.1f µs of the server, %.2f of the first;"+
		"%s  %s%s\n", shown, ratio(values("rate"), first[0].Values), median("cpu"),
		ratio(first[1].Values, values("cpu")), latencies(median), c.name, end)
	return end == ""
}
