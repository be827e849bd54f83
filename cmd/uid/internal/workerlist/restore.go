package workerlist

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// The bound of a Window, and the reach of a header that names none.
const (
	maxWindow = 366 * 24 * time.Hour
	dayReach  = 24 * time.Hour
)

// RestorePlan is what makes the tables fit for claims after they went back to an older state: a
// backup was restored, or a replica promoted that lacks the last changes. docs/operations.md says
// when.
//
// The statements may be run by hand as they stand, without arguments. Running them again lowers no
// end and no key, and ends the claims that were made since.
type RestorePlan struct {
	// Statements are what Restore runs, for the database's dialect, in this order.
	Statements []string

	HighestNode int64 // the highest worker id in WORKER_NODE as it is; 0: none
	Leases      int64 // rows of WORKER_LEASE, whose owners lose their claims

	// Namespaces are those that the table shows or that were named, sorted. One that the table has
	// forgotten altogether, and that was not named, gets its layouts from the first claim.
	Namespaces []string
}

// PlanRestore returns what Restore would do and changes nothing. highest is the highest worker id
// that was ever used, 1 or above, and not below those in WORKER_LEASE. reach is the longest Window
// of any service plus the longest lead, 0 to twice 366 days. Where a process has found in the last
// LeasedOptions.Reach that the table went back, or a row was deleted by hand, it is that Reach plus
// the longest Window: the next window of such a process begins that far ahead. layouts has the list
// of layouts (bitsalloc.Eras.String) that the processes of each namespace know, eras that were
// added after the backup included; the list of "" is for every namespace that is not named. A
// namespace whose claims have layouts needs one, which begins with the list that the tables show.
// PlanRestore waits for a database that is down until ctx ends. An argument that is out of range is
// an error that names it, its value and the bound.
func PlanRestore(ctx context.Context, db *gorm.DB, highest int64, reach time.Duration,
	layouts map[string]string) (p RestorePlan, err error) {
	// The next key is highest + 1, which has to be an int64 too.
	if highest < 1 || highest == math.MaxInt64 {
		return p, fmt.Errorf("workernode: the highest worker id is %d, want 1 to %d",
			highest, int64(math.MaxInt64-1))
	}
	// A window and a lead of the longest window each: more than any claim reaches ahead.
	if reach < 0 || reach > 2*maxWindow {
		return p, fmt.Errorf("workernode: the longest reach is %v, want 0 to %v",
			reach, 2*maxWindow)
	}
	// highest is what the operator knows, of which the tables may have forgotten a part. What they
	// still have must not be above it: then it was read from somewhere else.
	var worker sql.NullInt64
	var all map[string]shown // nil: there is no WORKER_LEASE, which Disposable alone does not need
	var d sqldb.Dialect
	err = do(ctx, db, "reading WORKER_NODE and WORKER_LEASE",
		func(ctx context.Context, q *sqldb.Conn) (err error) {
			d = q.Dialect
			if p.HighestNode, err = workertable.Highest(ctx, q); err != nil {
				return err
			}
			// Only the worker ids of the default namespace are keys of WORKER_NODE.
			err = q.Row(ctx, "SELECT COUNT(*), MAX(CASE WHEN NAMESPACE = ? THEN WORKER_ID END) "+
				"FROM WORKER_LEASE WHERE WORKER_ID >= 0", []any{workertable.DefaultNamespace},
				&p.Leases, &worker)
			if err != nil && d.Failure(err) == sqldb.Missing {
				return nil
			}
			if err == nil {
				all, err = showsLayouts(ctx, q)
			}
			return err
		})
	if err != nil {
		return p, err
	}
	// A mistake by the operator that would hand out keys which have leases.
	if worker.Int64 > highest {
		return p, fmt.Errorf("workernode: the highest worker id is %d, want at least %d, which "+
			"is in WORKER_LEASE", highest, worker.Int64)
	}
	// The row stays, because InnoDB before MySQL 8.0 and MariaDB 10.2.4 forgets a counter that was
	// set with ALTER TABLE and counts on from the highest row when it restarts.
	insert := fmt.Sprintf("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, "+
		"MODIFIED, CREATED)\n"+
		"  VALUES (%d, 'restored', '', 2, {today}, {now}, {now})", highest)
	// No end moves back: a second run, or a window that reaches further, keeps what is later.
	later, conflict := "GREATEST", "ON CONFLICT (NAMESPACE, WORKER_ID) DO UPDATE SET\n"+
		"  UNTIL_MS = %s(WORKER_LEASE.UNTIL_MS, EXCLUDED.UNTIL_MS)"
	switch d.Name {
	case "mysql":
		// A row with that key does as well. The key of an explicit ID moves AUTO_INCREMENT beyond
		// it.
		p.add(d, insert+" ON DUPLICATE KEY UPDATE ID = ID")
		conflict = "ON DUPLICATE KEY UPDATE UNTIL_MS = %s(UNTIL_MS, VALUES(UNTIL_MS))"
	case "postgres":
		p.add(d, insert+" ON CONFLICT DO NOTHING")
		// A row with a key of its own does not move the sequence.
		// NEXTVAL uses up a key and tells where the sequence is; SETVAL never sets it back.
		sequence := "PG_GET_SERIAL_SEQUENCE('WORKER_NODE', 'id')"
		p.add(d, fmt.Sprintf("SELECT SETVAL(%s,\n  GREATEST(%d, NEXTVAL(%s)))",
			sequence, highest, sequence))
	default:
		p.add(d, insert+" ON CONFLICT DO NOTHING")
		// SQLite's MAX of two arguments is the others' GREATEST.
		later = "MAX"
	}
	conflict = fmt.Sprintf(conflict, later)
	if all == nil {
		return p, nil
	}
	// Where a namespace counts for itself, the lowest unused worker id may be that of a forgotten
	// claim. The floor makes its window begin after the forgotten one has ended.
	floor := fmt.Sprintf("{nowMillis} + %d", reach.Milliseconds())
	p.add(d, headerRow(workertable.Everywhere, floor, "")+conflict)
	// The rows come after the floor, so that none that Restore has changed ends before it. The new
	// fencing token ends the claims of all owners, and the end of the window keeps every worker id
	// unused until the windows of all owners, forgotten ones included, have passed. The nonce
	// stays: an owner whose token does not match finds out at the token.
	p.add(d, fmt.Sprintf("UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1, OWNER = '',\n"+
		"  UNTIL_MS = %s(UNTIL_MS, %s)\n  WHERE WORKER_ID >= 0", later, floor))
	return p, p.addHeaders(d, all, layouts, reach.Milliseconds(), conflict)
}

// Restore makes the tables fit for claims after they went back to an older state, before any
// process connects. A row of WORKER_NODE keeps its new worker ids above highest, over restarts of
// the server as well, every row of WORKER_LEASE stays unused until reach has passed, and new worker
// ids of namespaces that count for themselves have windows that begin then. Each namespace gets its
// list of layouts, and a header that is missing is made anew. Owners that still run
// work to the ends of their windows and then take other worker ids. The account needs SELECT,
// INSERT and UPDATE, on PostgreSQL for the sequence of WORKER_NODE too. Running it twice does no
// harm.
//
// Each statement commits itself, and Restore that broke off is run again as a whole. It waits for a
// database that is down until ctx ends. A highest or a reach that is too low is the one mistake
// that makes duplicates: worker ids that the tables have forgotten are then given out inside
// the windows of their owners.
func Restore(ctx context.Context, db *gorm.DB, highest int64, reach time.Duration,
	layouts map[string]string) (RestorePlan, error) {
	plan, err := PlanRestore(ctx, db, highest, reach, layouts)
	if err != nil {
		return plan, err
	}
	return plan, do(ctx, db, "repairing after a restore",
		func(ctx context.Context, q *sqldb.Conn) error {
			for _, s := range plan.Statements {
				if _, err := q.Exec(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
}

// add appends a statement in the database's dialect: as it is sent, with nothing left to replace.
func (p *RestorePlan) add(d sqldb.Dialect, statement string) {
	p.Statements = append(p.Statements, d.Expand(statement))
}

// headerRow returns the INSERT of the row that stands for a namespace itself. until is an SQL
// expression.
func headerRow(namespace, until, layout string) string {
	return fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, "+
		"OWNER,\n  UNTIL_MS, LAYOUT, CREATED, MODIFIED) VALUES ('%s', %d, 0, 0, '',\n"+
		"  %s, '%s', {now}, {now})\n  ", namespace, workertable.Header, until, layout)
}
