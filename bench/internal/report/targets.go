package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// Target is a bound that the results meet or miss.
type Target struct {
	What, Against, Load string
	Want, Measured      string
	Called              string // the ratio to a called add; empty where that says nothing
	Known, Met          bool
	Why                 string // the reason, if it is missed
}

// verdict returns the target's result in a word.
func (t Target) verdict() string {
	switch {
	case !t.Known:
		return "not measured"
	case t.Met:
		return "met"
	}
	return "**missed**"
}

// bound is a target that says how many times as much as a floor a contender may cost.
type bound struct {
	what, own      string
	against, floor string // without a floor: the same contender alone
	goroutines     int
	most           float64
	why            string
}

// bounds returns the targets of throughput, on as many processors as there are.
func (r *Report) bounds() []bound {
	const (
		next, many  = "`Next`, one lane", "`Next`, many lanes"
		loop, store = "an add in the loop", "the store loop"
		whyFill     = "A call claims its ids by a compare-and-swap; the store loop has none."
		whyWUID     = "Both are a call with one locked add. `Next` loads its lane and the end of " +
			"its run as well, where wuid compares with constants and its ids carry no time."
	)
	called, n := r.whyCalled(), r.Procs()
	list := []bound{
		{next, contender.OneLane, loop, contender.Add, 1, 1.2, called},
		{next, contender.OneLane, "edwingeng/wuid", contender.WUID, 1, 1, whyWUID},
		{many, contender.ManyLanes, loop, contender.Add, 1, 1.4, called},
		{"`Fill` of 1,024", contender.Fill1024, store, contender.Store1024, 1, 1.4, whyFill},
		{"`Fill` of 256", contender.Fill256, store, contender.Store256, 1, 1.8, whyFill},
		{"`uid.Default` on 31-4-28", contender.DefaultWide, "`time.Now`",
			contender.TimeNow, 1, 1, ""},
	}
	if n == 1 {
		return list
	}
	return append(list,
		bound{next, contender.OneLane, "a shared called add", contender.AddCalled, n, 1.1, ""},
		bound{"a call of " + many, contender.ManyLanes, "the same alone", "", n, 1.05, fmt.Sprintf(
			"An add to a word of the goroutine's own costs %s times what it costs alone.",
			r.crowded(contender.AddOwn))})
}

// Targets works all targets out. A ratio meets its target by the median of its rounds.
func (r *Report) Targets() []Target {
	var out []Target
	for _, procs := range slices.Compact([]int{1, r.Procs()}) {
		for _, b := range r.bounds() {
			// One goroutine's Next is bounded on one processor and on all, the rest on all.
			next := strings.HasPrefix(b.what, "`Next`")
			if procs < r.Procs() && (!next || b.goroutines > 1) {
				continue
			}
			q := r.crowded(b.own)
			if b.floor != "" {
				q = r.times(b.own, b.floor, procs, b.goroutines)
			}
			t := Target{What: b.what, Against: b.against, Load: loadText(procs, b.goroutines),
				Want: three(b.most) + " ×", Measured: q.String(), Known: !math.IsNaN(q.median),
				Met: q.median <= b.most}
			if b.floor == contender.Add {
				t.Called = r.times(b.own, contender.AddCalled, procs, b.goroutines).String()
			}
			if !t.Met {
				t.Why = b.why
			}
			out = append(out, t)
		}
	}
	return append(out, r.tailTarget(), r.duplicateTarget(), r.lagTarget())
}

// Crowded is the median of crowded.
func (r *Report) Crowded(name string) float64 { return r.crowded(name).median }

// crowded returns what a call costs on all processors, in units of a call alone.
func (r *Report) crowded(name string) ratio {
	n := r.Procs()
	perCall := slices.Clone(r.at(name, n, n).NsPerID)
	for i := range perCall {
		perCall[i] *= float64(n)
	}
	return ratioOf(perCall, r.at(name, n, 1).NsPerID)
}

// whyCalled says what a call itself costs on this processor.
func (r *Report) whyCalled() string {
	n := r.Procs()
	return fmt.Sprintf("`Next` is a call. A locked instruction waits for the stores before it, "+
		"and a call is a store. On this processor an add that is called costs %s times the same "+
		"add in the loop, and one plain store before the add makes it cost %s times as much. The "+
		"rest is the loads of the lane and of the end of its run. The table has the ratio to the "+
		"called add as well.",
		three(r.Times(contender.AddCalled, contender.Add, n, 1)),
		three(r.Times(contender.AddStore, contender.Add, n, 1)))
}

// tailTarget is about the p99.99 of Next at full load.
func (r *Report) tailTarget() Target {
	t := Target{What: "p99.99 of `Next`, one lane", Against: "the clock's own",
		Load: loadText(r.Procs(), 1), Want: "1 µs more"}
	var above []float64
	clock, own := r.latencyAt(suite.ClockAlone, 1, 0), r.latencyAt(contender.OneLane, 1, 0)
	for i := range min(len(clock.Rounds), len(own.Rounds)) {
		above = append(above, float64(own.Rounds[i].P9999-clock.Rounds[i].P9999))
	}
	if t.Known = len(above) > 0; !t.Known {
		return t
	}
	median := result.Median(above)
	t.Met = median <= 1000
	t.Measured = fmt.Sprintf("%.0f ns (%.0f ns)", median, result.Quantile(above, 0.1))
	if !t.Met {
		t.Why = "The first call of a run takes it from the ring, and now and then composes " +
			"the next ones."
	}
	return t
}

// duplicateTarget is the target that matters.
func (r *Report) duplicateTarget() Target {
	t := Target{What: "equal ids of the library", Load: "several goroutines", Want: "none"}
	ids, duplicates := 0, 0
	for _, row := range r.unique.Rows {
		if !strings.HasPrefix(row.Contender, "uid.") {
			continue
		}
		if row.Err != "" {
			return Target{What: t.What, Load: t.Load, Want: t.Want}
		}
		ids, duplicates, t.Known = ids+row.IDs, duplicates+row.Duplicates, true
	}
	t.Met, t.Measured = duplicates == 0, fmt.Sprintf("%d of %s", duplicates, millions(ids))
	return t
}

// lagTarget is the bound on stale stamps.
func (r *Report) lagTarget() Target {
	t := Target{What: "age of a stamp of `uid.Cached`", Load: "every rate"}
	worst := 0.0
	for _, row := range r.time.Rows {
		if row.Bound == 0 {
			continue
		}
		t.Want = fmt.Sprintf("MaxLag, %.3g s", row.Bound)
		if row.Err != "" {
			return Target{What: t.What, Load: t.Load, Want: t.Want}
		}
		worst, t.Known = max(worst, row.MaxLag), true
		t.Met = worst <= row.Bound
	}
	t.Measured = fmt.Sprintf("%.3f s", worst)
	return t
}

// TargetTable is the table of targets.
func (r *Report) TargetTable() string {
	g := grid{head: []string{"what", "against", "load", "at most", "median (p10)", "× called add",
		"result"}}
	for _, t := range r.Targets() {
		if !t.Known {
			t.Measured, t.Called = "", ""
		}
		g.add(t.What, t.Against, t.Load, t.Want, t.Measured, t.Called, t.verdict())
	}
	return g.String()
}

// Missed returns a sentence for each reason for which targets are missed.
func (r *Report) Missed() []string {
	var reasons []string
	what := map[string][]string{}
	for _, t := range r.Targets() {
		if t.Known && !t.Met {
			if what[t.Why] == nil {
				reasons = append(reasons, t.Why)
			}
			if name := t.What + ", against " + t.Against; !slices.Contains(what[t.Why], name) {
				what[t.Why] = append(what[t.Why], name)
			}
		}
	}
	for i, why := range reasons {
		reasons[i] = strings.TrimSpace(strings.Join(what[why], "; ") + ". " + why)
	}
	return reasons
}

// loadText names a load.
func loadText(procs, goroutines int) string {
	return fmt.Sprintf("%d on %d", goroutines, procs)
}

// millions returns n in millions, or as it is.
func millions(n int) string {
	if n < 1_000_000 {
		return fmt.Sprint(n)
	}
	return three(float64(n)/1e6) + " million"
}
