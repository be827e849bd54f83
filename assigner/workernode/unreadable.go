package workernode

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/uidring/uidring/internal/sqldb"
)

// UnreadableError says which rows hold what their columns cannot, such as text in a column of
// numbers, which SQLite stores. It is returned together with the rows that can be read. Find it
// with errors.As; errors.Is finds the reasons, through Unwrap.
type UnreadableError struct {
	Rows []UnreadableRow // at least one
}

// UnreadableRow is a row of WORKER_NODE or WORKER_LEASE that cannot be read. No claim uses it, so
// its worker id is out of use until an operator repairs the row. Do not delete a row of
// WORKER_LEASE: in a namespace that counts for itself a worker id without a row counts as new, and
// its next window begins at the beginning of time.
type UnreadableRow struct {
	// Table is WORKER_NODE or WORKER_LEASE.
	Table string

	// Namespace is the row's in WORKER_LEASE, empty for WORKER_NODE.
	Namespace string

	// Worker is the worker id as it is stored, which need not be a number.
	Worker string

	// Err names the column and the value.
	Err error
}

// String names the row and the reason, for a person.
func (r UnreadableRow) String() string {
	in := ""
	if r.Table == leaseTable {
		in = fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return fmt.Sprintf("%s: the row of worker %q%s cannot be read: %v",
		r.Table, r.Worker, in, r.Err)
}

// Error names all rows, however many there are.
func (e *UnreadableError) Error() string {
	texts := make([]string, len(e.Rows))
	for i, r := range e.Rows {
		texts[i] = r.String()
	}
	return "workernode: " + strings.Join(texts, "; ")
}

// Unwrap returns the reasons, one a row.
func (e *UnreadableError) Unwrap() []error {
	errs := make([]error, len(e.Rows))
	for i, r := range e.Rows {
		errs[i] = r.Err
	}
	return errs
}

// The tables' names, as messages show them.
const (
	nodeTable  = "WORKER_NODE"
	leaseTable = "WORKER_LEASE"
)

// scanErrors collects the rows of a table that cannot be read, so that one bad row does not keep a
// whole fleet from its worker ids. It belongs to one query: a repeated attempt begins with an empty
// one.
type scanErrors struct {
	table, namespace string // of all rows; namespace is empty if the rows say it themselves
	rows             []UnreadableRow
}

// keep judges the scan of r's current row by its error: ok reports whether the row can be used. A
// row that cannot be read is kept for err and is no error; any other error ends the query. What the
// failed scan has stored in its variables has no meaning.
func (s *scanErrors) keep(r *sql.Rows, err error) (ok bool, _ error) {
	if err == nil || !sqldb.Unreadable(err) {
		return err == nil, err
	}
	// The column's type did not fit; the key is wanted as text for the message.
	columns, err2 := r.Columns()
	if err2 != nil {
		return false, err2
	}
	// Scanning the row again, into any type, gives the key as the database has it.
	raw := make([]any, len(columns))
	dest := make([]any, len(columns))
	for i := range raw {
		dest[i] = &raw[i]
	}
	if err2 := r.Scan(dest...); err2 != nil {
		return false, err2
	}
	bad := UnreadableRow{Table: s.table, Namespace: s.namespace, Err: err}
	for i, name := range columns {
		// PostgreSQL gives names in lower case, the others as the statement has them.
		switch strings.ToUpper(name) {
		case "NAMESPACE":
			bad.Namespace = text(raw[i])
		case "WORKER_ID", "ID":
			bad.Worker = text(raw[i])
		}
	}
	s.rows = append(s.rows, bad)
	return false, nil
}

// err returns the rows as an error, nil if there are none. It returns the interface and not a
// pointer, so that none is really nil.
func (s *scanErrors) err() error {
	if len(s.rows) == 0 {
		return nil
	}
	return &UnreadableError{Rows: s.rows}
}

// text returns a raw value as it is stored. Drivers return texts as bytes, and NULL as nil.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
