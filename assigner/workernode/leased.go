package workernode

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqlgorm"
	"gorm.io/gorm"
)

// The defaults and bounds of LeasedOptions.
const (
	DefaultNamespace = "default"
	// See LeasedOptions.Window for what follows from it.
	DefaultWindow = 20 * time.Minute

	// One tick of the default layout.
	minWindow = time.Second
	// It bounds how long a process that died keeps its worker id from others.
	maxWindow = 366 * 24 * time.Hour
	// The bounds of Reach. A header without a reach stands for the first.
	minReach, maxReach = 24 * time.Hour, 2 * maxWindow
	// The width of OWNER and of LAYOUT, in characters.
	ownerWidth = 191
)

// LeasedOptions configures Leased. A nil pointer and zero fields mean the defaults.
type LeasedOptions struct {
	// Namespace is a universe of ids: claims in one namespace have different worker ids and one bit
	// layout, and IDS OF TWO NAMESPACES MAY BE EQUAL. 1 to 64 characters, case-sensitive. Default
	// "default", which takes new worker ids from WORKER_NODE and so shares one universe with
	// Disposable. Any other namespace counts from First, so that the narrowest layout has room on
	// any database: a new worker id is one of the lowest without a row in WORKER_LEASE. In a
	// namespace of hundreds of rows low gaps are filled once there is no room above the highest.
	Namespace string

	// First and Last bound the worker ids that claims are made on. Several databases, such as one
	// in each region, may have one Namespace if each has a range of its own.
	// First needs a Namespace other than the default. Default 0, and the highest of the layout.
	First, Last int64

	// Window is how far past the database's clock a new claim reaches. An extended claim reaches
	// at least that far. A process that dies without Release keeps its worker id from others for
	// that long. 1 second to 366 days. Default 20 minutes: a generator extends at half of it, so it
	// survives an outage of the database of 10 minutes at any time, and a process that crashes
	// every 10 seconds uses 120 worker ids.
	Window time.Duration

	// Reach is how far beyond the database's clock a window may end, whatever a generator asks for,
	// so that one whose clock is years ahead does not keep its worker id from all others for years.
	// Beyond it Extend fails with assigner.ErrBeyondReach. After the table went back, no window of
	// a worker id that was forgotten begins before that long has passed. The namespace keeps the
	// greatest of its processes. Default and least: a day or three Windows, whichever is longer. At
	// most twice 366 days.
	Reach time.Duration

	// Owner describes the process to the operator who reads its rows; cut to 191 characters.
	// Default: host, process id and the time of the Assign.
	Owner string

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// updates of a row. Two processes may then get one worker id. Default: Assign refuses them.
	AcceptLostUpdates bool

	// Logger gets names that were cut to fit their columns and, once for each Assign, the wait for
	// a database that is down. Default: none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy with its zero fields filled in, or says which field is out of range.
// A zero Last stays 0: only Assign knows the layout's highest worker id.
func (c LeasedOptions) withDefaults() (LeasedOptions, error) {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	// cut replaces control characters as well.
	if n := utf8.RuneCountInString(c.Namespace); n > columnWidth ||
		cut(c.Namespace, columnWidth) != c.Namespace ||
		strings.TrimSpace(c.Namespace) != c.Namespace {
		return c, fmt.Errorf("workernode: Namespace is %q, want 1 to %d characters, no control "+
			"characters and no space at the ends", c.Namespace, columnWidth)
	}
	if c.First < 0 || c.First > 0 && c.Namespace == DefaultNamespace {
		return c, fmt.Errorf("workernode: First is %d in namespace %q, want 0 or above, and a "+
			"Namespace of your own for it: new worker ids of %q are the keys of WORKER_NODE",
			c.First, c.Namespace, DefaultNamespace)
	}
	if c.Last < 0 || c.Last > 0 && c.Last < c.First {
		return c, fmt.Errorf("workernode: Last is %d, want %d, which is First, or above",
			c.Last, c.First)
	}
	if c.Window < minWindow || c.Window > maxWindow {
		return c, fmt.Errorf("workernode: Window is %v, want %v to %v",
			c.Window, minWindow, maxWindow)
	}
	least := min(max(minReach, 3*c.Window), maxReach)
	if c.Reach == 0 {
		c.Reach = least
	}
	if c.Reach < least || c.Reach > maxReach {
		return c, fmt.Errorf("workernode: Reach is %v, want %v, which is a day or three Windows, "+
			"to %v", c.Reach, least, maxReach)
	}
	return c, nil
}

// Leased returns an Assigner that keeps worker ids in WORKER_LEASE and reuses them. It also
// implements assigner.LayoutBinder, because all claims of a namespace have one layout, and
// assigner.OwnerBinder.
//
// Assign claims one of the worker ids of the namespace that have been free for longest, or a new
// one. A worker id is free when it was given back, or when its window has passed by the database's
// clock. If there is neither a free nor a new one, Assign fails with assigner.ErrWorkersExhausted
// and says when the next one is free; so it does if First or Last is beyond the layout. Where the
// database's clock is ahead, the window of a free worker id may end in the local future: if by more
// than a minute, Assign prefers a new worker id, because its owner would have no ids until then.
//
// Many processes may claim concurrently. Where another session has a row locked, Assign waits for
// it for a second and then tries another row. The row with the namespace's layouts, its header, has
// no alternative, and no claim keeps it locked. Assign waits for a database that is down until ctx
// ends, with growing pauses. Other errors, such as a missing table or a wrong password, are
// returned at once.
//
// # Why windows are disjoint
//
// A window is a stretch of time that ids carry: only its owner stamps ids of that time with the
// worker id. A row holds the end of the reserved window (UNTIL_MS) and a fencing token
// (GENERATION). Claiming, extending and releasing are one UPDATE each, which finds its row by the
// token that was read before and sets the next one:
//
//	UPDATE ... SET GENERATION = 8, UNTIL_MS = ... WHERE WORKER_ID = ... AND GENERATION = 7
//
// So the changes to a row form a chain, and of two processes that read the same token one succeeds.
// A claim's window begins at the UNTIL_MS that it read, or later. UNTIL_MS changes only together
// with the token, so the UPDATE fails if it has moved since. A release moves it back to the end of
// what was stamped, and no further. Clocks decide when a row is free and nothing else: if all of
// them were wrong, rows would be claimed late or early, and windows would still be disjoint.
//
//	UNTIL_MS   of token 7      of token 8      of token 9
//	          ───┼───────────────┼───────────────┼──────►  time
//	             │ A's window:   │ A extends,    │
//	             │ A set token 8 │ or B claims   │
//
// An owner that is paused, or cut off from the database, may stamp to its window's end and no
// further: its Extend finds another token and fails with assigner.ErrClaimLost.
//
// When an answer is lost, the row may have changed or not. Every change also writes a random number
// (NONCE), so reading the row decides: the number is one that this claim wrote, or the row is as it
// was, or it has another owner. Where it is as it was, the lost UPDATE may still arrive. It has the
// old token, so it or the next try succeeds, and not both.
//
// # What the database must ensure
//
// WORKER_LEASE needs its primary key, and in the namespace "default" WORKER_NODE too: a row is
// inserted once. The first Assign looks for them and fails with the statement that makes them where
// a restore or CREATE TABLE ... AS SELECT has left them out.
//
// The database must not lose a commit that it has acknowledged, or a worker id goes to a second
// owner in the middle of the first one's window. So its log has to reach the disk with every commit
// (MySQL's innodb_flush_log_at_trx_commit = 1, PostgreSQL's synchronous_commit = on). After a
// fail-over to a replica that may lack the last changes, or after a backup was restored, let no
// process claim until the longest Window has passed, or give them a new Namespace and another
// epoch: see docs/reliability.md. Autocommit and isolation level of the application's sessions do
// not matter: each change is committed before it counts, and read back after that.
//
// An owner that finds the table in an older state than it knows fails with assigner.ErrWentBack,
// after it has given the row an end that is beyond every window of the namespace: Reach from now.
// In "default" it does not insert a row again, because a key of WORKER_NODE is not given out again
// without it. Windows that the same Assigner claims from then on begin beyond Reach as well, unless
// Restore has run since. Other processes are not protected.
func Leased(db *gorm.DB, options *LeasedOptions) assigner.Assigner {
	var o LeasedOptions
	if options != nil {
		o = *options
	}
	tables := []string{leaseTable}
	if cmp.Or(o.Namespace, DefaultNamespace) == DefaultNamespace {
		tables = append(tables, nodeTable)
	}
	return &leased{db: db, options: o, machine: thisMachine(), now: time.Now,
		patience: patience, memory: &memory{}, keys: &keys{tables: tables}}
}

// leased is the Assigner that Leased returns. It is immutable and safe for concurrent use; memory
// locks itself. It opens no connection before an Assign, which also reports invalid options. What
// an Assign does is in claimer, what its claim does is in leasedClaim.
type leased struct {
	db      *gorm.DB
	options LeasedOptions // as given; Assign fills in the defaults
	layout  string        // bitsalloc.Eras.String of the generator; empty: none bound it
	machine machine
	now     func() time.Time // the local clock
	memory  *memory          // what is known of rows; shared by all that BindLayout returns
	keys    *keys            // of the tables; shared likewise

	patience time.Duration // the first wait for a locked row
}

// String names the table and the namespace, for Stats.Authority and messages.
func (a *leased) String() string {
	return fmt.Sprintf("WORKER_LEASE, namespace %q", cmp.Or(a.options.Namespace, DefaultNamespace))
}

// Now returns the database's time. It implements assigner.Clock.
func (a *leased) Now(ctx context.Context) (time.Time, error) { return Now(ctx, a.db) }

// BindLayout returns an Assigner for claims of one layout, or of one list of layouts. The first
// claim of a namespace settles which it is. The memory is shared, because the rows are the same
// whatever the layout is.
func (a *leased) BindLayout(layout string) assigner.Assigner {
	bound := *a
	bound.layout = layout
	return &bound
}

// BindOwner returns an Assigner with another Owner. It implements assigner.OwnerBinder.
func (a *leased) BindOwner(owner string) assigner.Assigner {
	bound := *a
	bound.options.Owner = owner
	return &bound
}

// Assign claims a worker id. See Leased.
//
// Everything that can be refused without the database is refused first. After that Retry calls
// claimer.claim until it succeeds, fails for good, or ctx ends, and bounds each attempt to ten
// seconds.
func (a *leased) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	d, err := sqlgorm.Open("workernode", a.db, a.options.Logger)
	if err != nil {
		return nil, err
	}
	o, err := a.options.withDefaults()
	if err != nil {
		return nil, err
	}
	if !o.AcceptLostUpdates {
		d = d.Strict() // refuses databases that lose updates
	}
	if maxWorker < 0 {
		return nil, noWorkers(maxWorker)
	}
	if n := utf8.RuneCountInString(a.layout); n > ownerWidth {
		return nil, fmt.Errorf("workernode: the layout's text has %d characters, want at most %d",
			n, ownerWidth)
	}
	if o.Last == 0 {
		o.Last = maxWorker
	}
	if o.Last > maxWorker || o.First > o.Last {
		return nil, fmt.Errorf("%w: workernode: First is %d and Last %d, the layout's highest "+
			"worker id is %d",
			assigner.ErrWorkersExhausted, o.First, o.Last, maxWorker)
	}
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
		o.Owner = fmt.Sprintf("%s pid %d since %s", n.host, os.Getpid(),
			a.machine.now().UTC().Format(time.RFC3339))
	}
	c := &claimer{
		table: table{DB: d, namespace: o.Namespace, layout: a.layout, first: o.First, last: o.Last,
			reach: o.Reach.Milliseconds(), memory: a.memory},
		node:     n,
		owner:    o.Owner,
		window:   o.Window.Milliseconds(),
		local:    a.now,
		nonce:    newNonce(),
		locked:   map[int64]bool{},
		patience: a.patience,
		fresh:    none,
		among:    1,
	}
	// A key of WORKER_NODE that an earlier Assign got and did not use, with the nonce and the node
	// that it was inserted with. Otherwise every Assign that breaks off would use up a worker id.
	if s, ok := a.memory.takeSpare(o.Last); ok && c.shared() {
		c.fresh, c.nonce, c.node = s.worker, s.nonce, s.node
	}
	var claim *leasedClaim
	what := fmt.Sprintf("claiming a worker id in namespace %q", o.Namespace)
	err = d.Retry(ctx, what, func(ctx context.Context) error {
		if err := a.keys.require(ctx, d); err != nil {
			return err
		}
		claim, err = c.claim(ctx)
		return err
	})
	// claim sets fresh to none with the row in WORKER_LEASE. So the key was not used: the Assign
	// ended before that, or another row became free.
	if c.fresh != none && c.shared() {
		c.memory.keepSpare(spare{c.fresh, c.nonce, c.node})
	}
	if err != nil {
		return nil, err
	}
	return claim, nil
}
