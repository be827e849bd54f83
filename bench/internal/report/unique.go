package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// unique writes the section up.
func (r *Report) unique(f result.File[result.UniqueRow]) (string, error) {
	var b strings.Builder
	b.WriteString("Each contender makes ids on several goroutines at once; every id is kept, and all are sorted and compared. " +
		"A slow layout is asked for fewer.\n\n")
	g := grid{head: []string{"contender", "goroutines", "ids", "duplicates"}}
	var bad []string
	for _, row := range f.Rows {
		dup := thousands(int64(row.Duplicates))
		switch {
		case row.Err != "":
			dup = row.Err
		case row.Duplicates > 0:
			dup = "**" + dup + "**"
			at := ""
			if x, ok := contender.ByName(row.Contender); ok && x.Ceiling.At == contender.Repeats {
				at = fmt.Sprintf(", whose layout has room for %s ids a second and wraps around beyond them", thousands(int64(x.Ceiling.PerSecond)))
			}
			bad = append(bad, row.Contender+at)
		}
		g.add(row.Contender, fmt.Sprint(row.Goroutines), thousands(int64(row.IDs)), dup)
	}
	b.WriteString(g.String())
	if len(bad) > 0 {
		b.WriteString("\nDuplicates were found in: " + strings.Join(bad, "; ") + ".\n")
	} else {
		b.WriteString("\nNo duplicates were found.\n")
	}
	b.WriteString("\nThe Go ports of Baidu's generator that are published are not importable modules (their go.mod names another " +
		"path) or are not on the module proxy, so none is among the peers. `" + contender.Original +
		"` is its ring, written for this comparison from its description.\n")
	return b.String(), nil
}
