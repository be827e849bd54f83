package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/internal/human"
)

// UniqueIDs returns how many ids of all contenders were compared.
func (r *Report) UniqueIDs() string {
	n := 0
	for _, row := range r.unique.Rows {
		n += row.IDs
	}
	return millions(n)
}

// Repeated names the contenders with duplicates, or says that there are none.
func (r *Report) Repeated() string {
	var out []string
	for _, row := range r.unique.Rows {
		if row.Duplicates == 0 {
			continue
		}
		text := fmt.Sprintf("`%s` (%d of %s)", row.Contender, row.Duplicates, millions(row.IDs))
		if x, ok := contender.ByName(row.Contender); ok && x.Rate.Beyond == contender.Repeats {
			text += ", whose counter wraps around within a second"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "No contender repeated an id."
	}
	return "Ids were repeated by " + strings.Join(out, "; ") + "."
}

// SkipTable is the table of ids that callers of one lane skip.
func (r *Report) SkipTable() string {
	g := grid{head: []string{"one lane, default RunLength", "ids", "skipped", "per million"}}
	for _, row := range r.unique.Rows {
		switch {
		case row.Skipped == nil:
		case row.Err != "":
			g.add(goroutineText(row.Goroutines), row.Err)
		default:
			g.add(goroutineText(row.Goroutines), millions(row.IDs),
				human.Count(int64(*row.Skipped)),
				three(1e6*float64(*row.Skipped)/float64(row.IDs)))
		}
	}
	return g.String()
}
