package workernode

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"

	"github.com/uidring/uidring/assigner"
)

// header is the WORKER_ID of the row that stands for a namespace itself and keeps its layout. Its primary key is what
// makes the first claim's layout everybody's, however many are first.
const header = -1

// table is the part of WORKER_LEASE that is one namespace's.
type table struct {
	*database
	namespace string
	layout    string
	memory    *memory // nil where nothing is claimed
}

// row is one worker id's. Whoever changes it finds it by generation and nonce and writes generation + 1, a nonce of its own and the
// rest in the same statement; there is no other change.
//
//	generation:  g ──► g+1 ──► g+2 ──► ...       by claim, extension, release
//	until:       ───── only the owner of generation g moves it, and a new owner begins there
type row struct {
	worker, generation, nonce, until int64
	owner                            string
}

// is reports whether r is what o was when it was written. The owner's text counts only in being empty or not: a connection with a
// narrow character set may give it back as another text.
func (r row) is(o row) bool {
	return (r.owner == "") == (o.owner == "") && r.worker == o.worker && r.generation == o.generation && r.nonce == o.nonce && r.until == o.until
}

// newNonce returns a random number that tells its author from everybody else, a copy of this process in another virtual
// machine included.
func newNonce() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

// checkLayout compares the namespace's layout with the table's, after making it that if the namespace is new.
func (t table) checkLayout(ctx context.Context) error {
	var layout string
	read := func() error {
		return t.row(ctx, "SELECT LAYOUT FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?", []any{t.namespace, header}, []any{&layout})
	}
	err := read()
	if errors.Is(err, sql.ErrNoRows) {
		err = t.add(ctx, row{worker: header, nonce: newNonce()})
		if err != nil && t.dialect.classify(err) != duplicate {
			return err
		}
		err = read()
	}
	if err != nil {
		return err
	}
	if layout != t.layout {
		return final("%w: namespace %q has claims with layout %q, this one has layout %q; use the same layout and epoch, or another Namespace",
			assigner.ErrLayoutMismatch, t.namespace, layout, t.layout)
	}
	return nil
}

// present returns the database's time in unix milliseconds.
func (t table) present(ctx context.Context) (now int64, err error) {
	err = t.row(ctx, "SELECT {nowMillis}", nil, []any{&now})
	return now, err
}

// free returns the rows whose window has passed, lowest worker id first, at most limit, and the database's time. Rows that cannot be
// read are nobody's to claim.
func (t table) free(ctx context.Context, maxWorker int64, limit int) (rows []row, now int64, err error) {
	if now, err = t.present(ctx); err != nil {
		return nil, 0, err
	}
	bad := sieve{table: leaseTable, namespace: t.namespace}
	err = t.each(ctx, func(r *sql.Rows) error {
		var f row
		ok, err := bad.keep(r, r.Scan(&f.worker, &f.generation, &f.nonce, &f.until, &f.owner))
		if ok {
			rows = append(rows, f)
		}
		return err
	}, `SELECT WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER FROM WORKER_LEASE
		WHERE NAMESPACE = ? AND WORKER_ID BETWEEN 0 AND ? AND UNTIL_MS <= ? AND LAYOUT = ?
		ORDER BY WORKER_ID LIMIT ?`, t.namespace, maxWorker, now, t.layout, limit)
	if err := bad.err(); err != nil && t.logger != nil {
		t.logger.Warn("rows cannot be read and are not claimed", "error", err)
	}
	return rows, now, err
}

// find reads one worker id's row and the database's time. A row that does not exist is sql.ErrNoRows.
func (t table) find(ctx context.Context, worker int64) (r row, now int64, err error) {
	r.worker = worker
	err = t.row(ctx, "SELECT GENERATION, NONCE, UNTIL_MS, OWNER, {nowMillis} FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?",
		[]any{t.namespace, worker}, []any{&r.generation, &r.nonce, &r.until, &r.owner, &now})
	return r, now, err
}

// elsewhere reports whether another namespace has a row of a worker id.
func (t table) elsewhere(ctx context.Context, worker int64) (bool, error) {
	var n int64
	err := t.row(ctx, "SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID = ? AND NAMESPACE <> ?", []any{worker, t.namespace}, []any{&n})
	return n > 0, err
}

// add inserts a row.
func (t table) add(ctx context.Context, r row) error {
	_, err := t.exec(ctx, `INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT, CREATED, MODIFIED)
		VALUES (?, ?, ?, ?, ?, ?, ?, {now}, {now})`, t.namespace, r.worker, r.generation, r.nonce, r.owner, r.until, t.layout)
	return err
}

// swap is the compare-and-set: it changes old to new and reports whether old was there.
func (t table) swap(ctx context.Context, old, new row) (bool, error) {
	n, err := t.exec(ctx, `UPDATE WORKER_LEASE SET GENERATION = ?, NONCE = ?, OWNER = ?, UNTIL_MS = ?, MODIFIED = {now}
		WHERE NAMESPACE = ? AND WORKER_ID = ? AND GENERATION = ? AND NONCE = ? AND UNTIL_MS = ?`,
		new.generation, new.nonce, new.owner, new.until, t.namespace, old.worker, old.generation, old.nonce, old.until)
	return n == 1, err
}
