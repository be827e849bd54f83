package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// inReadme are the rows of the README's chart and table.
func inReadme() []string {
	return []string{
		contender.CachedManyFill, contender.CachedManyLanes, contender.CachedOneLane, contender.DefaultWide, contender.AtomicAdd,
		contender.WUID, "bwmarrin/snowflake", "sony/sonyflake", "sony/sonyflake 15-bit seq, 1 ms", "yitter/idgenerator-go",
		"rs/xid", "google/uuid v7", "google/uuid v4",
	}
}

// readme makes the chart and the table that the README shows. The part is meant to be pasted between two markers of its own.
func (r *Report) readme(rows []result.ThroughputRow) (string, error) {
	if len(rows) == 0 {
		return "", nil
	}
	t := throughputs(rows)
	p := last(t.procs())
	var list []chart.Bar
	g := grid{head: []string{"", "1 goroutine", loadText([2]int{p, p}), "ids/s", "ids"}}
	all := bars(t, p, func(contender.Contender) bool { return true })
	for _, name := range inReadme() {
		x, ok := contender.ByName(name)
		if !ok {
			continue
		}
		for _, b := range all {
			// Fill is a call for many ids at once: a bar of its length would leave the others no room.
			if b.Label == name && name != contender.CachedManyFill {
				list = append(list, b)
			}
		}
		one, ok1 := t.at(name, 1, 1)
		many, ok2 := t.at(name, p, p)
		if ok1 && ok2 {
			g.add(readmeName(x), readmeCell(x, one), readmeCell(x, many), perSecond(many.perSecond()), readmeKind(x))
		}
	}
	svg, err := chart.Bars(fmt.Sprintf("Million ids a second, %s", loadText([2]int{p, p})), "million ids a second", list)
	if _, err := r.addChart("readme", "Ids a second", svg, err); err != nil {
		return "", err
	}
	m := r.metas[result.Throughput]
	var b strings.Builder
	b.WriteString("<!-- bench: begin (made from bench/results by `make bench`) -->\n")
	b.WriteString("![Ids a second of uidring and of what could be used instead](docs/charts/readme.svg)\n\n")
	b.WriteString(g.String())
	fmt.Fprintf(&b, "\nWall time per id, median; %s, %d processors, %s. A row marked * sits at the ceiling of its layout. "+
		"Everything else, and how to measure it yourself: [docs/benchmarks.md](docs/benchmarks.md).\n", m.Processor, m.CPUs, m.GoVersion)
	b.WriteString("<!-- bench: end -->\n")
	return b.String(), nil
}

func readmeName(x contender.Contender) string {
	if x.Group == contender.Own {
		return "**" + x.Name + "**"
	}
	return strings.TrimPrefix(x.Name, "floor/")
}

func readmeCell(x contender.Contender, c cell) string {
	if x.Ceiling.Hard() && x.Ceiling.Binds(c.perSecond()) {
		return ns(c.sum.Median) + " *"
	}
	return ns(c.sum.Median)
}

// readmeKind says what the ids are.
func readmeKind(x contender.Contender) string {
	switch {
	case x.Group == contender.Floor:
		return "a bare counter"
	case !x.Time && x.Int64():
		return "64-bit, no time"
	case x.Int64():
		return "64-bit, by time"
	case x.Time:
		return fmt.Sprintf("%d-bit, by time", x.Bits)
	}
	return fmt.Sprintf("%d-bit, random", x.Bits)
}
