package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// showFile prints the tables of a file.
func showFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	r.print(os.Stdout)
	r.printSimulation(os.Stdout)
	return nil
}

// print writes a table with a row for each measurement. Of its repetitions the row shows the one
// whose median start is the median of all.
func (r *result) print(w io.Writer) {
	fmt.Fprintln(w, "| assigner | start | processes | median | slowest | statements | rows read "+
		"| lock waits | worker ids |")
	fmt.Fprintln(w, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	type key struct {
		kind, scenario string
		processes      int
	}
	var order []key
	runs := map[key][]run{}
	for _, m := range r.Runs {
		k := key{m.Kind, m.Scenario, m.Processes}
		if runs[k] == nil {
			order = append(order, k)
		}
		runs[k] = append(runs[k], m)
	}
	for _, k := range order {
		all := runs[k]
		slices.SortFunc(all, func(a, b run) int { return int(a.median() - b.median()) })
		m := all[len(all)/2]
		fmt.Fprintf(w, "| %s | %s | %d | %s | %s | %.1f | %.1f | %.2f | %d |\n",
			k.kind, k.scenario, k.processes, text(m.median()), text(m.Took[len(m.Took)-1]),
			m.asked(), m.PerStart["Rows_read"], m.PerStart["Innodb_row_lock_waits"], m.Workers)
	}
	fmt.Fprintf(w, "\n%s, commit %s, at most %d connections, begun %s.\n",
		r.Machine, r.Commit, r.Connections, r.Begun.Format("2006-01-02 15:04 MST"))
}

// median returns the median time of a start.
func (m run) median() time.Duration { return m.Took[len(m.Took)/2] }

// asked returns how many statements or requests a start took.
func (m run) asked() float64 { return m.PerStart["Questions"] + m.PerStart["requests"] }

// text returns a duration in milliseconds or seconds.
func text(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
