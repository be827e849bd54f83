package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// Targets is the table of bounds that the results meet or miss, and why they miss some.
type Targets struct {
	grid
	Reasons []string // each once
}

// add adds the line of a target: v is at most so much.
func (t *Targets) add(v, most float64, why string, line ...string) {
	verdict := "**missed**"
	switch against := line[1]; {
	case math.IsNaN(v):
		verdict = "not measured"
	case v <= most:
		verdict = "met"
	case !slices.Contains(t.Reasons, "Against "+against+": "+why):
		t.Reasons = append(t.Reasons, "Against "+against+": "+why)
	}
	t.grid = append(t.grid, append(line, verdict))
}

// Targets works all targets out. A ratio meets its target by the median of its rounds. Those of one
// goroutine's Next are of one processor and of all.
func (r *Report) Targets() *Targets {
	const (
		next, many = "`Next`, one lane", "`Next`, many lanes"
		loop       = "an add in the loop"
		whyFill    = "A call claims its ids by a compare-and-swap; the store loop has none."
		whyWUID    = "Both are a call with one locked add. `Next` loads its lane and the end of " +
			"its run as well, where wuid compares with constants and its ids carry no time."
		whyShared = "Two processors want one line all the time. Which of them keeps it for how " +
			"long is chance, and rounds differ by more than what is missed."
		whyOwn = "A lane's line stays with its processor; what is left is that of the processors."
	)
	n := r.Procs()
	whyCalled := fmt.Sprintf("`Next` is a call. A locked instruction waits for the stores before "+
		"it, and a call is a store: an add that is called costs %s times the same add in the "+
		"loop here, and a plain store before the add makes it cost %s times as much. The rest is "+
		"the loads of the lane and of the end of its run.",
		three(r.Times(contender.AddCalled, contender.Add)),
		three(r.Times(contender.AddStore, contender.Add)))
	t := &Targets{grid: grid{{"what", "against", "load", "at most", "median (p10)", "× called add",
		"result"}}}
	for i, b := range []struct {
		what, own, against, floor string
		goroutines, procs         int
		most                      float64
		why                       string
	}{
		{next, contender.OneLane, loop, contender.Add, 1, 1, 1.2, whyCalled},
		{next, contender.OneLane, contender.WUID, contender.WUID, 1, 1, 1, whyWUID},
		{many, contender.ManyLanes, loop, contender.Add, 1, 1, 1.4, whyCalled},
		{next, contender.OneLane, loop, contender.Add, 1, n, 1.2, whyCalled},
		{next, contender.OneLane, contender.WUID, contender.WUID, 1, n, 1, whyWUID},
		{many, contender.ManyLanes, loop, contender.Add, 1, n, 1.4, whyCalled},
		{"`Fill` of 1,024", contender.Fill1024, "the store loop", contender.Store1024, 1, n, 1.4,
			whyFill},
		{"`Fill` of 256", contender.Fill256, "the store loop", contender.Store256, 1, n, 1.8,
			whyFill},
		{"`uid.Default` on 31-4-28", contender.DefaultWide, "`time.Now`", contender.TimeNow, 1, n, 1,
			"A call is a `time.Now` and a compare-and-swap."},
		{next, contender.OneLane, "a shared called add", contender.AddCalled, n, n, 1.1, whyShared},
		{"a call of " + many, contender.ManyLanes, "the same alone", "", n, n, 1.05, whyOwn},
	} {
		if n == 1 && i < 3 {
			continue // the next three are the same
		}
		load := suite.On(b.goroutines, b.procs)
		q := r.ratio(b.own, load, b.floor, load)
		if b.floor == "" { // what a call costs, not the wall time of an id
			q = r.ratio(b.own, load, b.own, suite.On(1, n))
			q = ratio{float64(n) * q.median, float64(n) * q.p10}
		}
		called := ""
		if b.floor == contender.Add {
			called = r.ratio(b.own, load, contender.AddCalled, load).String()
		}
		t.add(q.median, b.most, b.why, b.what, b.against, load, three(b.most)+" ×", q.String(),
			called)
	}
	f := r.files["latency"]
	clock := f.Get("closed", suite.ClockAlone, "p99.99").Values
	above := slices.Clone(f.Get("closed", contender.OneLane, "p99.99").Values)
	for i := range min(len(clock), len(above)) {
		above[i] -= clock[i]
	}
	median, p10 := result.Quantile(above, 0.5), result.Quantile(above, 0.1)
	t.add(median, 1000, "The first call of a run takes it from the ring, and now and then composes"+
		" the next ones.", "p99.99 of `Next`, one lane", "the clock's own", suite.On(1, n),
		"1 µs more", show(median, "ns")+" ("+show(p10, "ns")+")", "")
	return t
}
