package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// Target is a bound that the results meet or miss.
type Target struct {
	What, Against, Load, Want, Measured string

	Called     string // the ratio to a called add; empty where that says nothing
	Known, Met bool
	Why        string // the reason, if it is missed
}

// bound is a target that says how many times as much as a floor a contender may cost.
type bound struct {
	what, own, against, floor string
	goroutines                int
	most                      float64
	why                       string
}

// Targets works all targets out. A ratio meets its target by the median of its rounds. Those of one
// goroutine's Next are of one processor and of all.
func (r *Report) Targets() []Target {
	const (
		next, many = "`Next`, one lane", "`Next`, many lanes"
		loop       = "an add in the loop"
		whyFill    = "A call claims its ids by a compare-and-swap; the store loop has none."
		whyWUID    = "Both are a call with one locked add. `Next` loads its lane and the end of " +
			"its run as well, where wuid compares with constants and its ids carry no time."
		whyOwn = "A lane's line stays with its processor; what is left is that of the processors."
	)
	n := r.Procs()
	whyCalled := fmt.Sprintf("`Next` is a call. A locked instruction waits for the stores before "+
		"it, and a call is a store: an add that is called costs %s times the same add in the "+
		"loop here, and a plain store before the add makes it cost %s times as much. The rest is "+
		"the loads of the lane and of the end of its run.",
		three(r.Times(contender.AddCalled, contender.Add, 1, n)),
		three(r.Times(contender.AddStore, contender.Add, 1, n)))
	var out []Target
	for _, procs := range slices.Compact([]int{1, n}) {
		list := []bound{{next, contender.OneLane, loop, contender.Add, 1, 1.2, whyCalled},
			{next, contender.OneLane, contender.WUID, contender.WUID, 1, 1, whyWUID},
			{many, contender.ManyLanes, loop, contender.Add, 1, 1.4, whyCalled}}
		if procs == n {
			list = append(list,
				bound{"`Fill` of 1,024", contender.Fill1024, "the store loop", contender.Store1024,
					1, 1.4, whyFill},
				bound{"`Fill` of 256", contender.Fill256, "the store loop", contender.Store256, 1,
					1.8, whyFill},
				bound{"`uid.Default` on 31-4-28", contender.DefaultWide, "`time.Now`",
					contender.TimeNow, 1, 1, ""})
		}
		if procs == n && n > 1 {
			list = append(list, bound{next, contender.OneLane, "a shared called add",
				contender.AddCalled, n, 1.1, ""}, bound{"a call of " + many, contender.ManyLanes,
				"the same alone", "", n, 1.05, whyOwn})
		}
		for _, b := range list {
			q := r.crowded(b.own)
			if b.floor != "" {
				q = r.ratio(b.own, b.floor, b.goroutines, procs)
			}
			t := Target{What: b.what, Against: b.against, Load: suite.On(b.goroutines, procs),
				Want: three(b.most) + " ×", Measured: q.String(), Known: !math.IsNaN(q.median),
				Met: q.median <= b.most, Why: b.why}
			if b.floor == contender.Add {
				t.Called = r.ratio(b.own, contender.AddCalled, b.goroutines, procs).String()
			}
			out = append(out, t)
		}
	}
	return append(out, r.tail(), r.duplicates(), r.lag())
}

// crowded returns what a call costs on all processors, in units of a call alone.
func (r *Report) crowded(name string) ratio {
	n, f := r.Procs(), r.files["throughput"]
	v := result.Ratios(f.Get("pace", name, suite.On(n, n)).Values,
		f.Get("pace", name, suite.On(1, n)).Values)
	return ratio{float64(n) * result.Median(v), float64(n) * result.Quantile(v, 0.1)}
}

// tail is about the p99.99 of Next, one call after the other.
func (r *Report) tail() Target {
	clock := r.files["latency"].Get("closed", suite.ClockAlone, "p99.99").Values
	own := r.files["latency"].Get("closed", contender.OneLane, "p99.99").Values
	var above []float64
	for i := range min(len(clock), len(own)) {
		above = append(above, own[i]-clock[i])
	}
	median := result.Median(above)
	return Target{What: "p99.99 of `Next`, one lane", Against: "the clock's own",
		Load: suite.On(1, r.Procs()), Want: "1 µs more", Known: len(above) > 0,
		Met: median <= 1000, Measured: show(median, "ns") + " (" +
			show(result.Quantile(above, 0.1), "ns") + ")", Why: "The first call of a run takes " +
			"it from the ring, and now and then composes the next ones."}
}

// duplicates is the target that matters.
func (r *Report) duplicates() Target {
	t := Target{What: "equal ids of the library", Load: "several goroutines", Want: "none",
		Known: len(r.files["unique"].Rows) > 0, Met: true}
	sums := map[string]float64{}
	for _, row := range r.files["unique"].Rows {
		t.Known = t.Known && row.Err == ""
		for _, v := range row.Values {
			sums[row.Column] += v
		}
	}
	t.Met = sums["duplicates"] == 0
	t.Measured = fmt.Sprintf("%.0f of %s million", sums["duplicates"], three(sums["ids"]/1e6))
	return t
}

// lag is the bound on stale stamps.
func (r *Report) lag() Target {
	worst := r.Worst("time", "stamps", "worst lag")
	return Target{What: "age of a stamp of `uid.Cached`", Load: "every rate", Want: "MaxLag, 2 s",
		Known: len(r.files["time"].Rows) > 0, Met: worst <= 2, Measured: show(worst, "s")}
}

// TargetTable is the table of targets.
func (r *Report) TargetTable() string {
	g := grid{{"what", "against", "load", "at most", "median (p10)", "× called add", "result"}}
	for _, t := range r.Targets() {
		verdict := "not measured"
		switch {
		case t.Known && t.Met:
			verdict = "met"
		case t.Known:
			verdict = "**missed**"
		default:
			t.Measured, t.Called = "", ""
		}
		g = append(g, []string{t.What, t.Against, t.Load, t.Want, t.Measured, t.Called, verdict})
	}
	return g.String()
}

// Missed returns a sentence for each target that is missed for a reason of its own.
func (r *Report) Missed() []string {
	var out []string
	for _, t := range r.Targets() {
		line := t.What + ", against " + t.Against + ". " + t.Why
		if t.Known && !t.Met && t.Why != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}
