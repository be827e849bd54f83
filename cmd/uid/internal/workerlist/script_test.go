package workerlist_test

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// script is a server that answers a query with one row, none, or an error in its place, by a text
// in the query. It has no tables: other queries and every INSERT fail, and what else changes rows
// changes none.
type script map[string][]driver.Value

var errNoTable = &mysqldriver.MySQLError{Number: 1146, Message: "Table doesn't exist"}

func (s script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s script) Driver() driver.Driver                        { return nil }
func (s script) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (s script) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s script) Close() error                                 { return nil }

func (s script) ExecContext(_ context.Context, query string,
	_ []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "INSERT") {
		return nil, errNoTable
	}
	if values := s["UPDATE"]; values != nil && strings.HasPrefix(query, "UPDATE") {
		return nil, values[0].(error)
	}
	return driver.RowsAffected(0), nil
}

func (s script) QueryContext(_ context.Context, query string,
	_ []driver.NamedValue) (driver.Rows, error) {
	text := "" // the longest one
	for t := range s {
		if len(t) > len(text) && strings.Contains(query, t) {
			text = t
		}
	}
	values, ok := s[text]
	if !ok {
		return nil, errNoTable
	}
	if len(values) == 1 {
		if err, ok := values[0].(error); ok {
			return nil, err
		}
	}
	return &scripted{values, len(values) == 0}, nil
}

// scripted is a result of one row.
type scripted struct {
	values []driver.Value
	read   bool
}

func (r *scripted) Columns() []string { return make([]string, len(r.values)) }
func (r *scripted) Close() error      { return nil }

func (r *scripted) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(dest, r.values)
	return nil
}
