package workernode

import (
	"database/sql"
	"fmt"
	"strings"
)

// UnreadableError says which rows hold what their columns cannot, such as text in a column of numbers, which SQLite stores. It comes
// beside the rows that can be read.
type UnreadableError struct {
	Rows []UnreadableRow // at least one
}

// UnreadableRow is a row of WORKER_NODE or WORKER_LEASE that cannot be read.
type UnreadableRow struct {
	Table     string
	Namespace string // empty for WORKER_NODE
	Worker    string // the worker id as it is stored
	Err       error  // names the column and the value
}

// String names the row and the reason.
func (r UnreadableRow) String() string {
	in := ""
	if r.Table == leaseTable {
		in = fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return fmt.Sprintf("%s: the row of worker %q%s cannot be read: %v", r.Table, r.Worker, in, r.Err)
}

// Error names all rows.
func (e *UnreadableError) Error() string {
	texts := make([]string, len(e.Rows))
	for i, r := range e.Rows {
		texts[i] = r.String()
	}
	return "workernode: " + strings.Join(texts, "; ")
}

// Unwrap returns the reasons.
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

// unreadable reports whether err is about a value that does not fit what it was to be read into. It is database/sql's own text: there is
// no type for it.
func unreadable(err error) bool {
	return strings.Contains(err.Error(), "sql: Scan error on column index")
}

// sieve collects the rows of a table that cannot be read.
type sieve struct {
	table, namespace string // of the rows, as far as all have the same
	rows             []UnreadableRow
}

// keep judges the scan of r's present row by its error: ok is whether the row can be used. A row that cannot be read is taken note of
// and is no error.
func (s *sieve) keep(r *sql.Rows, err error) (ok bool, _ error) {
	if err == nil || !unreadable(err) {
		return err == nil, err
	}
	columns, err2 := r.Columns()
	if err2 != nil {
		return false, err2
	}
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

// err returns the rows as an error, nil if there are none.
func (s *sieve) err() error {
	if len(s.rows) == 0 {
		return nil
	}
	return &UnreadableError{Rows: s.rows}
}

// text returns a raw value as it is stored.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
