package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// readFile reads a result.
func readFile(name string) (*result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &result{}
	return r, json.Unmarshal(text, r)
}

// addTo makes r the result in a file with the runs of r in the place of those of the same kinds.
// What r says of itself goes to its runs.
func (r *result) addTo(name string) error {
	file, err := readFile(name)
	if err != nil {
		return err
	}
	if file.Machine != r.Machine || file.Connections != r.Connections {
		return fmt.Errorf("%s is of %s with at most %d connections, this is %s with at most %d",
			name, file.Machine, file.Connections, r.Machine, r.Connections)
	}
	file.Runs = slices.DeleteFunc(file.Runs, func(old run) bool {
		return slices.ContainsFunc(r.Runs, func(m run) bool { return m.Kind == old.Kind })
	})
	for _, m := range r.Runs {
		m.Begun, m.Commit = r.Begun, r.Commit
		file.Runs = append(file.Runs, m)
	}
	*r = *file
	return nil
}

// showFile prints the tables of a file.
func showFile(name string) error {
	r, err := readFile(name)
	if err != nil {
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
	const layout = "2006-01-02 15:04 MST"
	fmt.Fprintf(w, "\n%s, commit %s, at most %d connections, begun %s.\n",
		r.Machine, r.Commit, r.Connections, r.Begun.Format(layout))
	said := map[string]bool{}
	for _, m := range r.Runs {
		if m.Commit != "" && !said[m.Kind] {
			said[m.Kind] = true
			fmt.Fprintf(w, "%s: commit %s, begun %s.\n", m.Kind, m.Commit, m.Begun.Format(layout))
		}
	}
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
