package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/result"
)

// table writes the section up.
func (r *Report) table(f result.File[result.TableRow]) (string, error) {
	var rows []result.TableRow
	var failed []string
	for _, row := range f.Rows {
		if row.Err != "" {
			failed = append(failed, strings.TrimSpace(row.Key+" "+row.Err))
		} else {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return "Not measured: " + strings.Join(failed, "; ") + ".\n", nil
	}
	g := grid{head: []string{"primary key", "type", "inserts/s", "clustered index", "secondary index", "page splits", "size against the first"}}
	var rate, size []chart.Bar
	for i, row := range rows {
		total, first := row.DataBytes+row.IndexBytes, rows[0].DataBytes+rows[0].IndexBytes
		perSec := float64(row.Rows) / row.Seconds
		g.add(row.Key, row.Type, thousands(int64(perSec)), bytesText(row.DataBytes), bytesText(row.IndexBytes), thousands(row.Splits),
			three(float64(total)/float64(first)))
		color := chart.Palette(6)
		if i == 0 {
			color = chart.Palette(0)
		}
		label := row.Key + " " + strings.TrimSuffix(row.Type, " AUTO_INCREMENT")
		rate = append(rate, chart.Bar{Label: label, Value: perSec / 1e3, Text: three(perSec / 1e3), Color: color})
		size = append(size, chart.Bar{Label: label, Value: float64(total) / (1 << 20), Text: three(float64(total) / (1 << 20)), Color: color})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s rows of about a hundred bytes and one secondary index, %d rows an INSERT, on one connection, into InnoDB of MariaDB %s with a buffer pool "+
		"of %s. A secondary index repeats the primary key in every entry, so a wide key costs twice. Page splits are the server's own count "+
		"(`index_page_splits`) for both indexes.\n\n", thousands(int64(rows[0].Rows)), 500, rows[0].Server, bytesText(rows[0].BufferPool))
	b.WriteString(g.String() + "\n")
	if len(failed) > 0 {
		b.WriteString("Failed: " + strings.Join(failed, "; ") + ".\n\n")
	}
	svg, err := chart.Bars("Rows inserted by kind of primary key", "thousand rows a second", rate)
	img, err := r.addChart("table-rate", "Insert rate", svg, err)
	if err != nil {
		return "", err
	}
	b.WriteString(img + "\n")
	svg, err = chart.Bars("Size of the table and its index by kind of primary key", "MiB", size)
	img, err = r.addChart("table-size", "Table size", svg, err)
	b.WriteString(img)
	return b.String(), err
}
