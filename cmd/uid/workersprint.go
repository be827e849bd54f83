package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
)

// workersJSON is what --json prints.
type workersJSON struct {
	Nodes      []nodeJSON       `json:"nodes"`
	Leases     []leaseJSON      `json:"leases"`
	Unreadable []unreadableJSON `json:"unreadable,omitempty"`
}

type unreadableJSON struct {
	Table     string `json:"table"`
	Namespace string `json:"namespace,omitempty"`
	Worker    string `json:"worker"` // as it is stored
	Error     string `json:"error"`
}

type nodeJSON struct {
	Worker  int64     `json:"worker"`
	Host    string    `json:"host"`
	Port    string    `json:"port"`
	Type    string    `json:"type"`
	Created time.Time `json:"created"`
}

type leaseJSON struct {
	Worker      int64     `json:"worker"`
	Namespace   string    `json:"namespace"`
	Owner       string    `json:"owner"`
	Generation  int64     `json:"generation"`
	Until       time.Time `json:"until"`
	LeftSeconds float64   `json:"left_seconds"`
	Free        bool      `json:"free"`
	Layout      string    `json:"layout"`
}

func newWorkersJSON(nodes []workernode.Node, leases []workernode.Lease, bad unreadable) workersJSON {
	j := workersJSON{Nodes: []nodeJSON{}, Leases: []leaseJSON{}}
	for _, n := range nodes {
		j.Nodes = append(j.Nodes, nodeJSON{n.ID, n.Host, n.Port, n.Type.String(), n.Created})
	}
	for _, l := range leases {
		j.Leases = append(j.Leases, leaseJSON{l.Worker, l.Namespace, l.Owner, l.Generation, l.Until, l.Left.Seconds(), l.Free(), l.Layout})
	}
	for _, r := range bad {
		j.Unreadable = append(j.Unreadable, unreadableJSON{r.Table, r.Namespace, r.Worker, r.Err.Error()})
	}
	return j
}

func (p *program) printNodes(nodes []workernode.Node, limit int, zone *time.Location) error {
	switch len(nodes) {
	case 0:
		fmt.Fprintln(p.out, "WORKER_NODE: no rows")
		return nil
	case limit:
		fmt.Fprintf(p.out, "WORKER_NODE: the newest %d rows (--limit)\n", limit)
	default:
		fmt.Fprintf(p.out, "WORKER_NODE: %s, newest first\n", plural(len(nodes), "row"))
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tHOST\tPORT\tTYPE\tCREATED")
	for _, n := range nodes {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", n.ID, printable(n.Host), printable(n.Port), n.Type, n.Created.In(zone).Format(time.RFC3339))
	}
	return t.Flush()
}

func (p *program) printLeases(leases []workernode.Lease, zone *time.Location) error {
	if len(leases) == 0 {
		fmt.Fprintln(p.out, "WORKER_LEASE: no rows")
		return nil
	}
	fmt.Fprintf(p.out, "WORKER_LEASE: %s\n", plural(len(leases), "row"))
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tNAMESPACE\tSTATE\tUNTIL\tGENERATION\tOWNER\tLAYOUT")
	for _, l := range leases {
		until := "-"
		if !l.Until.IsZero() {
			until = l.Until.In(zone).Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Worker, printable(l.Namespace), leaseState(l), until, l.Generation, printable(l.Owner), printable(l.Layout))
	}
	return t.Flush()
}

// leaseState says whether a worker id can be had.
func leaseState(l workernode.Lease) string {
	switch {
	case !l.Free() && l.Owner == "":
		return "given back, free in " + span(l.Left)
	case !l.Free():
		return "held, " + span(l.Left) + " left"
	case l.Owner == "":
		return "free"
	default:
		return "free for " + span(l.Left)
	}
}

// printable returns a stored text without what could move the cursor or break the table.
func printable(s string) string {
	if s == "" {
		return "-"
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
