package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/workertable"
)

type workersCmd struct {
	Action    string `arg:"" optional:"" enum:"list,reap,restored,take-back,move" default:"list" help:"list (the default) shows the rows; reap takes leased worker ids whose windows have passed from their owners; restored keeps what was used before a backup was restored from being used again; take-back takes eras back that --layout does not list and that have not begun; move moves the worker ids of --from to --to while the processes run."`
	dsnFlags  `embed:""`
	moveFlags `embed:""`
	Namespace string `placeholder:"NAME" help:"Only the leases of this namespace. Default: all; for take-back and move default."`
	Limit     int    `default:"20" placeholder:"N" help:"At most so many rows of WORKER_NODE, newest first."`
	Zone      string `default:"local" placeholder:"ZONE" help:"Time zone of the times shown."`
	JSON      bool   `help:"Print one JSON object."`

	Highest     int64          `placeholder:"N" help:"For restored: the highest worker id that was ever used, or a wide guess."`
	Reach       *time.Duration `placeholder:"DURATION" help:"For restored: the longest window of any service plus the longest lead, or more, see docs/operations.md."`
	layoutFlags `embed:""`
	LayoutOf    []string `sep:"none" placeholder:"NAMESPACE=LIST" help:"For restored, on a database: the list of layouts of one namespace, where it is not that of --layout. May be given several times."`
	DryRun      bool     `help:"For restored and move: print what would be done and change nothing."`
	Empty       bool     `help:"For restored, on etcd, ZooKeeper or Kubernetes: also where there is no entry, because all were lost."`
}

// Run lists both tables, reaps or restores. Rows that cannot be read do not hide the others, and
// fail the command at its end.
func (c *workersCmd) Run(ctx context.Context, p *program) error {
	if c.Limit < 1 {
		return usagef("--limit is %d, want 1 or more", c.Limit)
	}
	zone, err := loadZone(c.Zone)
	if err != nil {
		return err
	}
	if c.Action == "restored" {
		if err := c.checkRestored(); err != nil {
			return err
		}
	}
	if c.Action == "move" {
		return c.move(ctx, p)
	}
	if c.From != "" || c.To != "" || c.ToNamespace != "" {
		return usagef("--from, --to and --to-namespace are for move")
	}
	if c.Action == "take-back" && c.Layout == "" {
		return usagef("--layout is missing, want the list of eras that stays")
	}
	if c.fromAuthority(p) {
		return c.ofAuthority(ctx, p, zone)
	}
	if c.Action == "take-back" {
		return c.takeBack(ctx, p)
	}
	if c.Empty {
		return usagef("--empty is for etcd, ZooKeeper and Kubernetes")
	}
	if c.Action == "restored" {
		return c.restored(ctx, p)
	}
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, _ dsn.Source) error {
		var bad unreadable
		leases, err := workerlist.Leases(ctx, db)
		if err := bad.keep(err); err != nil {
			return err
		}
		if c.Namespace != "" {
			leases = slices.DeleteFunc(leases,
				func(l workerlist.Lease) bool { return l.Namespace != c.Namespace })
			bad = slices.DeleteFunc(bad,
				func(r workertable.Unreadable) bool { return r.Namespace != c.Namespace })
		}
		if c.Action == "reap" {
			err = c.reap(ctx, p, db, leases, &bad)
		} else {
			err = c.list(ctx, p, db, leases, &bad, zone)
		}
		for _, r := range bad {
			p.complain(errors.New(r.String()))
		}
		if err == nil && bad != nil {
			err = errReported
		}
		return err
	})
}

// checkRestored checks the flags of restored.
func (c *workersCmd) checkRestored() error {
	switch {
	case c.Highest < 1:
		return usagef("--highest is %d, want the highest worker id that was ever used", c.Highest)
	case c.Reach == nil || *c.Reach < 0:
		return usagef("--reach is missing or negative, want the longest window of any service " +
			"plus the longest lead")
	}
	return nil
}

// layouts returns the lists of layouts by namespace; that of "" is for all others.
func (c *workersCmd) layouts() (map[string]string, error) {
	lists := map[string]string{}
	if c.Layout != "" {
		n, err := c.resolveToMake()
		if err != nil {
			return nil, err
		}
		lists[""] = n.eras.String()
	}
	for _, l := range c.LayoutOf {
		at := strings.LastIndex(l, "=") // a list has none
		if at < 1 {
			return nil, usagef("--layout-of is %q, want NAMESPACE=LIST", l)
		}
		f := layoutFlags{Layout: l[at+1:]}
		n, err := f.resolveToMake()
		if err != nil {
			return nil, err
		}
		lists[l[:at]] = n.eras.String()
	}
	return lists, nil
}

// takeBack takes eras of a namespace back.
func (c *workersCmd) takeBack(ctx context.Context, p *program) error {
	n, err := c.resolveToMake()
	if err != nil {
		return err
	}
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) error {
		a, err := rowsOf(db, s, c.Namespace)
		if err != nil {
			return err
		}
		return p.takeBack(ctx, a, n.eras.String())
	})
}

// takeBack makes layout the list of an authority, and says so.
func (p *program) takeBack(ctx context.Context, a *lease.Assigner, layout string) error {
	if err := a.TakeBack(ctx, layout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "done: the layouts are %s\n", layout)
	return err
}

// restored makes the tables safe for claims after a backup was restored, or shows how.
func (c *workersCmd) restored(ctx context.Context, p *program) error {
	layouts, err := c.layouts()
	if err != nil {
		return err
	}
	run := workerlist.Restore
	if c.DryRun {
		run = workerlist.PlanRestore
	}
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, _ dsn.Source) error {
		plan, err := run(ctx, db, c.Highest, *c.Reach, layouts)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(p.out).Encode(restoredJSON{
				c.DryRun, plan.HighestNode, plan.Leases, plan.Statements, plan.Namespaces,
			})
		}
		head := "done"
		if c.DryRun {
			head = "a dry run: nothing is changed"
		}
		fmt.Fprintf(p.out, "-- %s\n"+
			"-- WORKER_NODE: new worker ids begin above %d, the highest was %d\n"+
			"-- WORKER_LEASE: %s without an owner, unused for %v or longer\n"+
			"-- %s; if another one is in use, the table has forgotten it: run this "+
			"again with its --layout-of\n-- %s\n",
			head, max(plan.HighestNode, c.Highest), plan.HighestNode,
			human.Plural(int(plan.Leases), "row"), *c.Reach, namespacesOf(plan), movedSince)
		for _, s := range plan.Statements {
			fmt.Fprintf(p.out, "%s;\n", s)
		}
		return nil
	})
}

// namespacesOf names the namespaces of a plan.
func namespacesOf(plan workerlist.RestorePlan) string {
	names := make([]string, len(plan.Namespaces))
	for i, n := range plan.Namespaces {
		names[i] = human.Printable(n)
	}
	if len(names) == 0 {
		return "no namespaces"
	}
	return "namespaces " + strings.Join(names, ", ")
}

// movedSince is what restored asks for, because no store that went back can tell.
const movedSince = "if the worker ids were moved from here since the backup: run the same \"uid " +
	"workers move\" again, now"

// restoredJSON is what restored --json prints.
type restoredJSON struct {
	DryRun      bool     `json:"dry_run"`
	HighestNode int64    `json:"highest_node"` // as it was
	Leases      int64    `json:"leases"`
	Statements  []string `json:"statements"`
	Namespaces  []string `json:"namespaces"`
}

// unreadable are the rows that cannot be read.
type unreadable []workertable.Unreadable

// keep adds the unreadable rows that err reports to u. It returns any other error.
func (u *unreadable) keep(err error) error {
	e, ok := errors.AsType[*workerlist.UnreadableError](err)
	if !ok {
		return err
	}
	for _, r := range e.Rows {
		same := func(o workertable.Unreadable) bool { return o.String() == r.String() }
		if !slices.ContainsFunc(*u, same) {
			*u = append(*u, r)
		}
	}
	return nil
}

// reap reaps the namespaces of leases one by one. Worker ids whose windows have passed are free
// anyway. Reaping makes sure that an owner that comes back late cannot go on.
func (c *workersCmd) reap(
	ctx context.Context, p *program, db *gorm.DB, leases []workerlist.Lease, bad *unreadable,
) error {
	reaped := map[string]int{}
	for _, l := range leases {
		if _, ok := reaped[l.Namespace]; ok {
			continue
		}
		n, err := workerlist.Reap(ctx, db, l.Namespace)
		if err := bad.keep(err); err != nil {
			return err
		}
		reaped[l.Namespace] = n
		if !c.JSON {
			fmt.Fprintf(p.out, "%s: %d reaped\n", human.Printable(l.Namespace), n)
		}
	}
	switch {
	case c.JSON:
		return json.NewEncoder(p.out).Encode(map[string]any{"reaped": reaped})
	case len(reaped) == 0:
		fmt.Fprintln(p.out, "no leases")
	}
	return nil
}

// workersJSON is what --json prints.
type workersJSON struct {
	Nodes      []nodeJSON       `json:"nodes"`
	Leases     []leaseJSON      `json:"leases"`
	Unreadable []unreadableJSON `json:"unreadable,omitempty"`
}

type nodeJSON struct {
	Worker  int64     `json:"worker"`
	Host    string    `json:"host"`
	Port    string    `json:"port"`
	Type    string    `json:"type"`
	Created time.Time `json:"created"`
}

type leaseJSON struct {
	Worker       int64     `json:"worker"`
	Namespace    string    `json:"namespace"`
	Owner        string    `json:"owner"`
	FencingToken int64     `json:"generation"`
	Until        time.Time `json:"until"`
	LeftSeconds  float64   `json:"left_seconds"`
	Free         bool      `json:"free"`
	Layout       string    `json:"layout"`
}

type unreadableJSON struct {
	Table     string `json:"table"`
	Namespace string `json:"namespace,omitempty"`
	Worker    string `json:"worker"` // as it is stored
	Error     string `json:"error"`
}

// list prints both tables.
func (c *workersCmd) list(
	ctx context.Context, p *program, db *gorm.DB, leases []workerlist.Lease, bad *unreadable,
	zone *time.Location,
) error {
	nodes, err := workerlist.Nodes(ctx, db, c.Limit)
	if err := bad.keep(err); err != nil {
		return err
	}
	if !c.JSON {
		if err := c.printNodes(p, nodes, zone); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
		return p.printLeases("WORKER_LEASE", leases, zone)
	}
	j := workersJSON{Nodes: []nodeJSON{}, Leases: leasesJSON(leases)}
	for _, n := range nodes {
		j.Nodes = append(j.Nodes, nodeJSON{n.ID, n.Host, n.Port, n.Type.String(), n.Created})
	}
	for _, r := range *bad {
		row := unreadableJSON{r.Table, r.Namespace, r.Worker, r.Err.Error()}
		j.Unreadable = append(j.Unreadable, row)
	}
	return json.NewEncoder(p.out).Encode(j)
}

func leasesJSON(leases []workerlist.Lease) []leaseJSON {
	list := []leaseJSON{}
	for _, l := range leases {
		list = append(list, leaseJSON{l.Worker, l.Namespace, l.Owner, l.FencingToken, l.Until,
			l.Left.Seconds(), l.Free(), l.Layout})
	}
	return list
}

func (c *workersCmd) printNodes(p *program, nodes []workerlist.Node, zone *time.Location) error {
	switch len(nodes) {
	case 0:
		fmt.Fprintln(p.out, "WORKER_NODE: no rows")
		return nil
	case c.Limit:
		fmt.Fprintf(p.out, "WORKER_NODE: the newest %d rows (--limit)\n", c.Limit)
	default:
		fmt.Fprintf(p.out, "WORKER_NODE: %s, newest first\n", human.Plural(len(nodes), "row"))
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tHOST\tPORT\tTYPE\tCREATED")
	for _, n := range nodes {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", n.ID, human.Printable(n.Host),
			human.Printable(n.Port), n.Type, n.Created.In(zone).Format(time.RFC3339))
	}
	return t.Flush()
}

func (p *program) printLeases(table string, leases []workerlist.Lease, zone *time.Location) error {
	if len(leases) == 0 {
		fmt.Fprintf(p.out, "%s: no rows\n", table)
		return nil
	}
	fmt.Fprintf(p.out, "%s: %s\n", table, human.Plural(len(leases), "row"))
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tNAMESPACE\tSTATE\tUNTIL\tGENERATION\tOWNER\tLAYOUT")
	for _, l := range leases {
		until := "-"
		if !l.Until.IsZero() {
			until = l.Until.In(zone).Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Worker, human.Printable(l.Namespace),
			leaseState(l), until, l.FencingToken, human.Printable(l.Owner),
			human.Printable(l.Layout))
	}
	return t.Flush()
}

// leaseState says whether a worker id can be claimed.
func leaseState(l workerlist.Lease) string {
	switch {
	case !l.Free() && l.Owner == "":
		return "given back, free in " + human.Span(l.Left)
	case !l.Free():
		return "held, " + human.Span(l.Left) + " left"
	case l.Owner == "":
		return "free"
	default:
		return "free for " + human.Span(l.Left)
	}
}
