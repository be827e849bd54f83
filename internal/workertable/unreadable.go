package workertable

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/uidring/uidring/internal/sqldb"
)

// Unreadable is a row that holds what its columns cannot, such as text in a column of numbers,
// which SQLite stores.
type Unreadable struct {
	Table     string // WORKER_NODE or WORKER_LEASE
	Namespace string // the row's in WORKER_LEASE
	Worker    string // as it is stored
	Err       error  // names the column and the value
}

// String names the row and the reason, for a person.
func (r Unreadable) String() string {
	in := ""
	if r.Table == LeaseTable {
		in = fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return fmt.Sprintf("%s: the row of worker %q%s cannot be read: %v",
		r.Table, r.Worker, in, r.Err)
}

// Scan collects the rows of a query that cannot be read, so that one bad row does not keep a whole
// fleet from its worker ids. It belongs to one query: a repeated attempt begins with an empty one.
type Scan struct {
	Table, Namespace string // of all rows; Namespace is empty if the rows say it themselves
	Rows             []Unreadable
}

// Keep judges the scan of r's current row by its error: ok reports whether the row can be used. A
// row that cannot be read is kept in Rows and is no error; any other error ends the query. What the
// failed scan has stored in its variables has no meaning.
func (s *Scan) Keep(r *sql.Rows, err error) (ok bool, _ error) {
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
	bad := Unreadable{Table: s.Table, Namespace: s.Namespace, Err: err}
	for i, name := range columns {
		// PostgreSQL gives names in lower case, the others as the statement has them.
		switch strings.ToUpper(name) {
		case "NAMESPACE":
			bad.Namespace = text(raw[i])
		case "WORKER_ID", "ID":
			bad.Worker = text(raw[i])
		}
	}
	s.Rows = append(s.Rows, bad)
	return false, nil
}

// text returns a raw value as it is stored. Drivers return texts as bytes, and NULL as nil.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
