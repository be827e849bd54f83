package workerlist

import (
	"strings"

	"github.com/uidring/uidring/internal/workertable"
)

// UnreadableError says which rows hold what their columns cannot, such as text in a column of
// numbers, which SQLite stores. No claim uses such a row, so its worker id is out of use until an
// operator repairs it. Do not delete a row of WORKER_LEASE: its worker id is out of use for good
// then. The error is returned together with the rows that can be read. Find it with errors.As;
// errors.Is finds the reasons, through Unwrap.
type UnreadableError struct {
	Rows []workertable.Unreadable // at least one
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

// unread returns rows as an error, nil if there are none. It returns the interface and not a
// pointer, so that none is really nil.
func unread(rows []workertable.Unreadable) error {
	if len(rows) == 0 {
		return nil
	}
	return &UnreadableError{rows}
}
