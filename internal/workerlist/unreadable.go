package workerlist

import (
	"strings"

	"github.com/uidring/uidring/internal/workertable"
)

// UnreadableError says which rows hold what their columns cannot, such as text in a column of
// numbers, which SQLite stores. It is returned together with the rows that can be read. Find it
// with errors.As; errors.Is finds the reasons, through Unwrap.
type UnreadableError struct {
	Rows []UnreadableRow // at least one
}

// UnreadableRow is a row of WORKER_NODE or WORKER_LEASE that cannot be read. No claim uses it, so
// its worker id is out of use until an operator repairs the row. Do not delete a row of
// WORKER_LEASE: its worker id is out of use for good then.
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
func (r UnreadableRow) String() string { return workertable.Unreadable(r).String() }

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

// unread returns rows as an error, nil if there are none. It returns the interface and not a
// pointer, so that none is really nil.
func unread(rows []workertable.Unreadable) error {
	if len(rows) == 0 {
		return nil
	}
	e := &UnreadableError{}
	for _, r := range rows {
		e.Rows = append(e.Rows, UnreadableRow(r))
	}
	return e
}
