package workernode

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner"
	"gorm.io/gorm"
)

// The defaults and bounds of LeasedOptions.
const (
	DefaultNamespace = "default"
	DefaultWindow    = 20 * time.Minute

	minWindow  = time.Second
	maxWindow  = 366 * 24 * time.Hour
	ownerWidth = 191
)

// LeasedOptions configures Leased. nil and zero fields mean the defaults.
type LeasedOptions struct {
	// Namespace groups the claims that share one bit layout, such as those of a service; 1 to 64 characters, case-sensitive. Worker
	// ids are different across the namespaces of a database, too. Default "default".
	Namespace string

	// Window is how far beyond the database's present a claim reaches when it is made, and at least how far when it is extended. A
	// generator works on for that long while the database is away, and a process that dies without Release keeps its worker id from
	// others for that long. 1 second to 366 days. Default 20 minutes: a generator that extends at half of it rides out an
	// outage of 10 minutes at any time, and a process that crashes every 10 seconds uses 120 worker ids.
	Window time.Duration

	// Owner describes the process in its rows, for the eyes of the operator; at most 191 characters. Default: host, process id and
	// start.
	Owner string

	// Logger is told about names that were cut and, once for each Assign, about a database that is waited for. Default: none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy with its zero fields filled in, or says which field is out of range.
func (c LeasedOptions) withDefaults() (LeasedOptions, error) {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if n := utf8.RuneCountInString(c.Namespace); n > columnWidth || cut(c.Namespace, columnWidth) != c.Namespace || strings.TrimSpace(c.Namespace) != c.Namespace {
		return c, fmt.Errorf("workernode: Namespace is %q, want 1 to %d characters, no control characters and no space at the ends", c.Namespace, columnWidth)
	}
	if c.Window < minWindow || c.Window > maxWindow {
		return c, fmt.Errorf("workernode: Window is %v, want %v to %v", c.Window, minWindow, maxWindow)
	}
	return c, nil
}

// Leased returns an Assigner that keeps worker ids in WORKER_LEASE and assigns them again. It also implements assigner.LayoutBinder:
// all claims of a namespace have one layout.
//
// A claim is the free worker id that is lowest in the namespace, or a new one from WORKER_NODE. Free is one that was given back or
// whose window has passed by the database's clock. If there is neither, Assign fails with assigner.ErrWorkersExhausted and says
// when the next one is free. Assign waits for a database that is down until ctx ends, with growing pauses; a refusal is an
// error at once. Many processes may claim at once.
//
// # Why windows are disjoint
//
// A row holds the end of the window that is reserved (UNTIL_MS) and a generation. Claiming, extending and giving back are one UPDATE
// each, which finds its row by the generation that was read before and sets the next one; so the changes to a row form a
// chain, and of two processes that read the same generation one succeeds. A claim's window begins at the UNTIL_MS that it
// found, or later, and only the owner moves that, so that no window begins before the last one ended. Clocks decide when a row is
// free and nothing else: were they all wrong, worker ids would be reused too late or too early, and ids would be unique still.
//
// An owner that is paused, cut off or forgotten may stamp to its window's end and no further: its Extend finds another generation
// and fails with assigner.ErrClaimLost.
//
// An answer that does not arrive leaves it open whether the row was changed. Every change also writes a random number, so that
// reading the row tells: the number is one that this claim wrote, or the row is as it was, or someone else has it.
//
// # What they rest on
//
// The database must not forget a change that it has answered, or a worker id goes to a second owner in the middle of the first
// one's window. So its log has to reach the disk with every commit (MySQL's innodb_flush_log_at_trx_commit = 1, PostgreSQL's
// synchronous_commit = on), and after a fail-over to a replica that may lack the last changes, or after a backup was restored,
// processes may claim again when the longest Window has passed, or in a Namespace and an epoch of their own. Sessions without
// autocommit, or that read uncommitted changes, are refused.
//
// An owner that finds the table in an older state than it knows fails with ErrTableWentBack, after it has put the end of its
// window back. What the same Assigner claims from then on begins a whole Window from that moment, when others' forgotten windows
// have passed, unless the row shows that an operator has repaired the table.
func Leased(db *gorm.DB, options *LeasedOptions) assigner.Assigner {
	var o LeasedOptions
	if options != nil {
		o = *options
	}
	return &leased{db: db, options: o, machine: thisMachine(), memory: &memory{}}
}

type leased struct {
	db      *gorm.DB
	options LeasedOptions
	layout  string
	machine machine
	memory  *memory // shared by all that BindLayout returns
}

// BindLayout returns an Assigner for claims of one layout. The first claim of a namespace settles which it is.
func (a *leased) BindLayout(layout string) assigner.Assigner {
	bound := *a
	bound.layout = layout
	return &bound
}

// Assign claims a worker id. See Leased.
func (a *leased) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	d, err := open(a.db)
	if err != nil {
		return nil, err
	}
	o, err := a.options.withDefaults()
	if err != nil {
		return nil, err
	}
	if maxWorker < 0 {
		return nil, noWorkers(maxWorker)
	}
	if n := utf8.RuneCountInString(a.layout); n > ownerWidth {
		return nil, fmt.Errorf("workernode: the layout's text has %d characters, want at most %d", n, ownerWidth)
	}
	d.logger = o.Logger
	n, err := a.machine.node("", "")
	if err != nil {
		return nil, err
	}
	n.warn(o.Logger)
	if full := o.Owner; full != "" {
		if o.Owner = cut(full, ownerWidth); o.Owner != full && o.Logger != nil {
			o.Logger.Warn("owner does not fit its column and was changed", "owner", o.Owner)
		}
	} else {
		o.Owner = fmt.Sprintf("%s pid %d since %s", n.host, os.Getpid(), a.machine.now().UTC().Format(time.RFC3339))
	}
	c := &claimer{
		table:     table{database: d, namespace: o.Namespace, layout: a.layout, memory: a.memory},
		node:      n,
		owner:     o.Owner,
		window:    o.Window.Milliseconds(),
		maxWorker: maxWorker,
		nonce:     newNonce(),
	}
	var claim *leasedClaim
	err = d.retry(ctx, fmt.Sprintf("claiming a worker id in namespace %q", o.Namespace), func(ctx context.Context) error {
		claim, err = c.claim(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}
