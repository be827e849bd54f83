package workernode

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
)

// Node is a row of WORKER_NODE.
type Node struct {
	ID       int64 // the worker id
	Host     string
	Port     string
	Type     NodeType
	Created  time.Time // UTC, to the second
	Modified time.Time // UTC, to the second
}

// Nodes returns the rows of WORKER_NODE, newest first, at most limit. Beside an *UnreadableError it returns the rows that can be
// read. It waits for a database that is down until ctx ends.
func Nodes(ctx context.Context, db *gorm.DB, limit int) ([]Node, error) {
	d, err := open(db)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	bad := sieve{table: nodeTable}
	err = d.retry(ctx, "listing WORKER_NODE", func(ctx context.Context) error {
		nodes, bad.rows = nil, nil
		return d.each(ctx, func(r *sql.Rows) error {
			var n Node
			var created, modified sql.NullInt64
			ok, err := bad.keep(r, r.Scan(&n.ID, &n.Host, &n.Port, &n.Type, &created, &modified))
			if ok {
				n.Created, n.Modified = seconds(created), seconds(modified)
				nodes = append(nodes, n)
			}
			return err
		}, `SELECT ID, HOST_NAME, PORT, TYPE, {seconds CREATED}, {seconds MODIFIED} FROM WORKER_NODE ORDER BY ID DESC LIMIT ?`, limit)
	})
	if err == nil {
		err = bad.err()
	}
	return nodes, err
}

// Usage says how WORKER_NODE's worker ids are being used up.
type Usage struct {
	Highest int64     // the highest worker id assigned; 0: none
	Rows    int64     // less than Highest where keys were skipped or rows deleted
	Recent  int64     // worker ids assigned since Since
	Since   time.Time // UTC; a time that the caller chose
	Now     time.Time // UTC, by the database's clock
}

// Used returns how WORKER_NODE's worker ids are being used up, Recent over the last days by the database's clock. It waits for a
// database that is down until ctx ends.
func Used(ctx context.Context, db *gorm.DB, recent time.Duration) (Usage, error) {
	d, err := open(db)
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	err = d.retry(ctx, "reading WORKER_NODE", func(ctx context.Context) error {
		var now int64
		if err := d.row(ctx, "SELECT {nowMillis}", nil, []any{&now}); err != nil {
			return err
		}
		u.Now = time.UnixMilli(now).UTC()
		u.Since = u.Now.Add(-recent)
		var highest, before sql.NullInt64
		if err := d.row(ctx, "SELECT MAX(ID), COUNT(*) FROM WORKER_NODE", nil, []any{&highest, &u.Rows}); err != nil {
			return err
		}
		// Keys grow with time, so what is below the newest row that is older is older too; skipped keys are used up as well.
		err := d.row(ctx, "SELECT MAX(ID) FROM WORKER_NODE WHERE {seconds CREATED} < ?", []any{u.Since.Unix()}, []any{&before})
		u.Highest, u.Recent = highest.Int64, highest.Int64-before.Int64
		return err
	})
	return u, err
}

// Lease is a row of WORKER_LEASE.
type Lease struct {
	Namespace  string
	Worker     int64
	Generation int64         // one more with every claim, extension and release
	Owner      string        // empty: given back, or reaped
	Until      time.Time     // end of the reserved window, UTC; the zero time: nothing was ever stamped
	Left       time.Duration // from the database's present to Until; 0 or less: free
	Layout     string
	Created    time.Time // UTC, to the second
	Modified   time.Time // UTC, to the second
}

// Free reports whether the worker id can be claimed, at the time the row was read.
func (l Lease) Free() bool { return l.Left <= 0 }

// Leases returns the rows of WORKER_LEASE, by namespace and worker id. Beside an *UnreadableError it returns the rows that can be
// read. It waits for a database that is down until ctx ends.
func Leases(ctx context.Context, db *gorm.DB) ([]Lease, error) {
	d, err := open(db)
	if err != nil {
		return nil, err
	}
	var leases []Lease
	bad := sieve{table: leaseTable}
	err = d.retry(ctx, "listing WORKER_LEASE", func(ctx context.Context) error {
		leases, bad.rows = nil, nil
		return d.each(ctx, func(r *sql.Rows) error {
			var l Lease
			var until, now int64
			var created, modified sql.NullInt64
			ok, err := bad.keep(r, r.Scan(&l.Namespace, &l.Worker, &l.Generation, &l.Owner, &until, &l.Layout, &created, &modified, &now))
			if ok {
				l.Until = millis(until)
				l.Left = time.UnixMilli(until).Sub(time.UnixMilli(now)) // saturates
				l.Created, l.Modified = seconds(created), seconds(modified)
				leases = append(leases, l)
			}
			return err
		}, `SELECT NAMESPACE, WORKER_ID, GENERATION, OWNER, UNTIL_MS, LAYOUT, {seconds CREATED}, {seconds MODIFIED}, {nowMillis}
			FROM WORKER_LEASE WHERE WORKER_ID >= 0 ORDER BY NAMESPACE, WORKER_ID`)
	})
	if err == nil {
		err = bad.err()
	}
	return leases, err
}

// Reap takes the worker ids of a namespace whose windows have passed by the database's clock from their owners, and returns how many.
// Such worker ids are free with or without it; what Reap adds is that an owner which comes back late cannot go on with its claim
// and gets assigner.ErrClaimLost. It keeps the rows and their ends of windows, which are what uniqueness rests on, so a clock that
// is wrong can make it inconvenient and never harmful. Rows that cannot be read are left alone and named by an *UnreadableError
// beside the count.
func Reap(ctx context.Context, db *gorm.DB, namespace string) (reaped int, err error) {
	d, err := open(db)
	if err != nil {
		return 0, err
	}
	t := table{database: d, namespace: namespace}
	bad := sieve{table: leaseTable, namespace: namespace}
	err = t.retry(ctx, "reaping WORKER_LEASE", func(ctx context.Context) error {
		var passed []row
		bad.rows = nil
		now, err := t.present(ctx)
		if err != nil {
			return err
		}
		err = t.each(ctx, func(r *sql.Rows) error {
			var p row
			ok, err := bad.keep(r, r.Scan(&p.worker, &p.generation, &p.nonce, &p.until, &p.owner))
			if ok {
				passed = append(passed, p)
			}
			return err
		}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER FROM WORKER_LEASE
			WHERE NAMESPACE = ? AND WORKER_ID >= 0 AND UNTIL_MS <= ? AND OWNER <> ''`, namespace, now)
		if err != nil {
			return err
		}
		for _, p := range passed {
			ok, err := t.swap(ctx, p, row{worker: p.worker, generation: p.generation + 1, nonce: newNonce(), until: p.until})
			if err != nil {
				return err
			}
			if ok {
				reaped++
			}
		}
		return nil
	})
	if err == nil {
		err = bad.err()
	}
	return reaped, err
}

// Now returns the time by the database's clock, UTC. It waits for a database that is down until ctx ends.
func Now(ctx context.Context, db *gorm.DB) (time.Time, error) {
	d, err := open(db)
	if err != nil {
		return time.Time{}, err
	}
	return d.now(ctx)
}

// seconds returns the instant of a unix second, and the zero time for none.
func seconds(s sql.NullInt64) time.Time {
	if !s.Valid {
		return time.Time{}
	}
	return time.Unix(s.Int64, 0).UTC()
}
