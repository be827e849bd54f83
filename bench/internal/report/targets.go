package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/stats"
)

// Target is one thing that the library promises of itself, and what came of it.
type Target struct {
	What     string
	Want     string
	Measured string
	Met      bool
	Known    bool // whether there was anything to measure it by
}

// linear is the share of perfect scaling from one processor to all that counts as linear.
const linear = 0.9

// Targets holds the results against the targets.
func Targets(through []result.ThroughputRow, unique []result.UniqueRow, honest []result.TimeRow) []Target {
	var out []Target
	if len(through) > 0 {
		t := throughputs(through)
		p := last(t.procs())
		if p > 1 {
			out = append(out, againstPeers(t, contender.CachedManyLanes, p, true), againstPeers(t, contender.CachedManyLanes, p, false))
		}
		out = append(out, againstPeers(t, contender.CachedOneLane, 1, true))
		out = append(out, atLeast(t, "uid.Cached, many lanes, against uid.Default", contender.CachedManyLanes, contender.DefaultWide, p, 8))
		out = append(out, atMost(t, "one lane against an uncontended atomic.Add", contender.CachedOneLane, contender.AtomicAdd, 1, 1.5))
		out = append(out, atMost(t, "one lane against edwingeng/wuid", contender.CachedOneLane, contender.WUID, 1, 1))
		if p > 1 {
			out = append(out, atMost(t, "one lane against a shared atomic.Add", contender.CachedOneLane, contender.AtomicAdd, p, 1))
			out = append(out, scaling(t, p))
		}
	}
	if len(unique) > 0 {
		out = append(out, uniqueTarget(unique))
	}
	if len(honest) > 0 {
		out = append(out, lagTarget(honest))
	}
	return out
}

// againstPeers is the target of ten times any peer that hands out integers; withTime leaves out those whose ids carry no time.
func againstPeers(t throughputs, own string, p int, withTime bool) Target {
	what := fmt.Sprintf("%s against the fastest 64-bit peer, %s", own, loadText([2]int{p, p}))
	if withTime {
		what = fmt.Sprintf("%s against the fastest 64-bit peer whose ids carry time, %s", own, loadText([2]int{p, p}))
	}
	out := Target{What: what, Want: "at least 10 times"}
	c, ok := t.at(own, p, p)
	var best cell
	for _, x := range contender.All() {
		peer, found := t.at(x.Name, p, p)
		if x.Group != contender.Peer || !x.Int64() || !found || withTime && !x.Time {
			continue
		}
		if best.sum.N == 0 || peer.sum.Median < best.sum.Median {
			best = peer
		}
	}
	if !ok || best.sum.N == 0 {
		return out
	}
	ratio := best.sum.Median / c.sum.Median
	out.Known, out.Met = true, ratio >= 10
	out.Measured = fmt.Sprintf("%s times %s", three(ratio), best.row.Contender)
	return out
}

// atLeast is the target of being so many times as fast.
func atLeast(t throughputs, what, own, other string, p int, times float64) Target {
	out := Target{What: fmt.Sprintf("%s, %s", what, loadText([2]int{p, p})), Want: fmt.Sprintf("at least %.3g times", times)}
	a, ok1 := t.at(own, p, p)
	b, ok2 := t.at(other, p, p)
	if !ok1 || !ok2 {
		return out
	}
	ratio := b.sum.Median / a.sum.Median
	out.Known, out.Met = true, ratio >= times
	out.Measured = fmt.Sprintf("%s times (%s against %s)", three(ratio), ns(a.sum.Median), ns(b.sum.Median))
	return out
}

// atMost is the target of costing no more than so many times as much. A difference within chance does not miss a target of once.
func atMost(t throughputs, what, own, other string, p int, times float64) Target {
	out := Target{What: fmt.Sprintf("%s, %s", what, loadText([2]int{p, p})), Want: fmt.Sprintf("at most %.3g times its cost", times)}
	a, ok1 := t.at(own, p, p)
	b, ok2 := t.at(other, p, p)
	if !ok1 || !ok2 {
		return out
	}
	ratio := a.sum.Median / b.sum.Median
	out.Known = true
	out.Met = ratio <= times || times == 1 && a.sum.N >= 5 && !stats.Differ(a.row.NsPerID, b.row.NsPerID)
	out.Measured = fmt.Sprintf("%s times (%s against %s)", three(ratio), ns(a.sum.Median), ns(b.sum.Median))
	return out
}

// scaling is the target of growing with the processors.
func scaling(t throughputs, p int) Target {
	out := Target{What: fmt.Sprintf("many lanes, from 1 processor to %d", p), Want: fmt.Sprintf("linear: at least %.3g times", linear*float64(p))}
	one, ok1 := t.at(contender.CachedManyLanes, 1, 1)
	all, ok2 := t.at(contender.CachedManyLanes, p, p)
	if !ok1 || !ok2 {
		return out
	}
	ratio := one.sum.Median / all.sum.Median
	out.Known, out.Met = true, ratio >= linear*float64(p)
	out.Measured = three(ratio) + " times"
	return out
}

// uniqueTarget is the target that matters.
func uniqueTarget(rows []result.UniqueRow) Target {
	out := Target{What: "the library's own ids", Want: "no duplicate"}
	var ids, dup int64
	for _, r := range rows {
		if x, ok := contender.ByName(r.Contender); ok && x.Group == contender.Own && r.Err == "" {
			ids, dup, out.Known = ids+int64(r.IDs), dup+int64(r.Duplicates), true
		}
	}
	out.Met = out.Known && dup == 0
	out.Measured = fmt.Sprintf("%s among %s", thousands(dup), thousands(ids))
	return out
}

// lagTarget is the bound on stale stamps.
func lagTarget(rows []result.TimeRow) Target {
	out := Target{What: "age of uid.Cached's stamps at every rate"}
	var worst float64
	for _, r := range rows {
		if r.Bound > 0 && r.Err == "" {
			worst, out.Known = max(worst, r.MaxLag), true
			out.Want = fmt.Sprintf("at most MaxLag, %s", seconds(r.Bound))
			out.Met = worst <= r.Bound
		}
	}
	out.Measured = fmt.Sprintf("%.3f s", worst)
	return out
}

// targetTable returns the Markdown.
func targetTable(list []Target) string {
	g := grid{head: []string{"target", "wanted", "measured", "result"}}
	for _, t := range list {
		switch {
		case !t.Known:
			g.add(t.What, t.Want, "-", "not measured")
		case t.Met:
			g.add(t.What, t.Want, t.Measured, "met")
		default:
			g.add(t.What, t.Want, t.Measured, "**missed**")
		}
	}
	return g.String()
}

// targetNote says where the missed ones are explained.
func targetNote(list []Target) string {
	missed := slices.DeleteFunc(slices.Clone(list), func(t Target) bool { return t.Met || !t.Known })
	if len(missed) == 0 {
		return "No target that was measured is missed.\n"
	}
	var names []string
	for _, t := range missed {
		names = append(names, t.What)
	}
	return fmt.Sprintf("Missed: %s. What an id's instructions are and what they wait for is in [concurrency.md](concurrency.md).\n", strings.Join(names, "; "))
}
