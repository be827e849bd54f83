package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// table is a table of counters with a row per tag. It is the Source that LeafAlloc and Sequence
// return. It is safe for concurrent use: it keeps no rows, and its statements meet in the database.
//
// The two differ in the meaning of the counter. Leaf's max_id is the next free id:
//
//	          at           at+n
//	──────────├────────────┤──────────►  the range is [at, at+n)
//
// The original of t_sequence first advances current_val by the increment and then begins the block
// there, so the next range begins a step ahead of its counter (ahead is true):
//
//	          at           at+step      at+step+n
//	──────────┼────────────├────────────┤──────────►  the range is [at+step, at+step+n)
//
// A claim adds n to either counter. The methods next and counter convert between a counter and the
// first id of the next range.
//
// Names of tables and columns become part of statements, quoted or fixed; tags are always
// arguments.
type table struct {
	columns
	db   *sqldb.DB
	name string // for messages
	sql  string // quoted, for statements
	is   string // the condition for the row of a tag, an argument used twice: see exact
	err  error  // of the options, or of db

	// Read-only.
	blocks bool // a range is a whole number of steps; else any number of ids
	ahead  bool // the next range begins a step above the counter; else at it
	cycle  bool // a counter that is used up begins again

	examined atomic.Bool // see examine
	hidden   atomic.Bool // a trigger hides the value of LAST_INSERT_ID: see advance
}

// columns are the names of a table's columns, and what depends on them.
type columns struct {
	tag, at, step string
	maxTag        int    // the most characters of a tag
	first         int64  // the counter of a new tag
	touch         string // an assignment that is added to each update, with a leading comma
}

// row is a row of a table, without its tag.
type row struct {
	at   int64 // the counter
	step int64
}

// open completes t with db and returns it. An error is kept in t.err, so that a constructor needs
// no second result and every method reports it. It does no I/O.
func (t *table) open(kind string, db DB, lossy bool) *table {
	if t.db, t.err = openDB(kind, db, lossy); t.err != nil {
		return t
	}
	if t.db.Name == "mysql" {
		t.touch = "" // the column updates itself
	}
	t.sql = t.db.Quote(t.name)
	t.is = t.tag + " = ? AND " + fmt.Sprintf(exact[t.db.Name], t.tag)
	return t
}

// openDB returns the database of a source. kind names the source in errors. Unless lossy is true,
// using the database fails if its product is known to lose updates: two processes would get one
// range. It does not connect.
func openDB(kind string, db DB, lossy bool) (*sqldb.DB, error) {
	d, err := db.open("sqltable: " + kind)
	if err == nil && !lossy {
		d = d.Strict()
	}
	return d, err
}

// exact are the conditions that a column equals a text byte by byte, by dialect, whatever the
// column's collation treats as equal. Otherwise "order", "Order" and "ORDER" would be tags that use
// up the ranges of one row, and strangers could make up any number of them. The condition follows a
// plain comparison, which uses the index.
var exact = map[string]string{
	"mysql": "CAST(CONVERT(%s USING utf8mb4) AS BINARY)" +
		" = CAST(CONVERT(? USING utf8mb4) AS BINARY)",
	"postgres": `CAST(%s AS TEXT) COLLATE "C" = CAST(? AS TEXT)`,
	"sqlite":   "%s = ? COLLATE BINARY",
}

// do runs f on a connection. If it returns nil, every change that f made is committed. If it does
// not, what f has set in the caller's variables must not be used: the commit may have failed after
// f.
func (t *table) do(ctx context.Context, f func(c *sqldb.Conn) error) error {
	if t.err != nil {
		return t.err
	}
	err := t.examine(ctx)
	if err == nil {
		err = t.db.Do(ctx, f)
	}
	return t.failed(err)
}

// failed adds the table's name to an error of the database and wraps the matching error of package
// segment. After a failure that is not an answer about the tag, another server may be at the same
// address, so the server is examined again.
func (t *table) failed(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case sqldb.Unreadable(err): // such as an unsigned counter above 2^63
		err = fmt.Errorf("%w: %w", segment.ErrBadRange, err)
	case errors.Is(err, sqldb.ErrUnfit):
		err = fmt.Errorf("%w: %w", segment.ErrOptions, err)
	case isOverflow(err):
		err = fmt.Errorf("%w: %w", segment.ErrExhausted, err)
	case sqldb.NotInCharset(err):
		err = fmt.Errorf("%w: %w", segment.ErrUnknownTag, err)
	}
	if !isAnswer(err) {
		t.examined.Store(false)
	}
	return fmt.Errorf("sqltable: table %s: %w", t.name, err)
}

// examine makes sure, once, that no two rows have one tag, and that MySQL's counter is a BIGINT.
// With two rows two processes could advance one each. Without strict mode a server clips a value to
// the maximum of a narrower column, so every later fetch would return the same range. A strict
// server and the other databases refuse such an update.
func (t *table) examine(ctx context.Context) error {
	if t.examined.Load() {
		return nil
	}
	schema, name := schemaTable(t.name)
	var typ sql.NullString // NULL for a temporary table
	err := t.db.Do(ctx, func(c *sqldb.Conn) error {
		err := c.RequireKey(ctx, t.sql, t.tag)
		if err != nil || t.db.Name != "mysql" {
			return err
		}
		return c.Row(ctx, "SELECT MAX(data_type) FROM information_schema.columns"+
			" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND column_name = ?",
			[]any{schema, name, t.at}, &typ)
	})
	switch {
	case err != nil:
		return err
	case typ.Valid && typ.String != "bigint":
		return invalid("column %s is %s, want bigint", t.at, typ.String)
	}
	t.examined.Store(true)
	return nil
}

// Check reports whether the table can be read and written. It changes nothing and locks no row. It
// blocks until the database answers or ctx ends.
func (t *table) Check(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	t.examined.Store(false)
	err := t.examine(ctx)
	if err == nil {
		err = t.db.Do(ctx, func(c *sqldb.Conn) error {
			_, err := t.read(ctx, c, "", "")
			if err != nil && !errors.Is(err, segment.ErrUnknownTag) {
				return err
			}
			if t.db.Name == "sqlite" { // the update would wait for the lock of the file
				return nil
			}
			// The update changes no row, but a read-only replica refuses it.
			_, err = c.Exec(ctx, "UPDATE "+t.sql+" SET "+t.at+" = "+t.at+" WHERE 1 = 0")
			return err
		})
	}
	return t.failed(err)
}

// read returns the row of a tag. It locks the row if lock is ForUpdate, until it is committed. An
// unlocked read may be of an old snapshot; what follows from it is checked by a later statement.
func (t *table) read(ctx context.Context, c *sqldb.Conn, tag, lock string) (r row, err error) {
	err = c.Row(ctx, "SELECT "+t.at+", "+t.step+" FROM "+t.sql+" WHERE "+t.is+lock,
		[]any{tag, tag}, &r.at, &r.step)
	if errors.Is(err, sql.ErrNoRows) {
		err = segment.ErrUnknownTag
	}
	return r, err
}

// next returns the first id of the next range. It returns math.MaxInt64 if there is none, because
// an overflowed sum would look like a low id.
func (t *table) next(r row) int64 {
	if !t.ahead {
		return r.at
	}
	step := max(r.step, 0) // an invalid row may have a step below 0
	return r.at + min(step, math.MaxInt64-max(r.at, 0))
}

// counter is the inverse of the method next: the counter of a row whose next range begins at next.
// It may be below 0, which the columns hold.
func (t *table) counter(next, step int64) int64 {
	if t.ahead {
		return next - step
	}
	return next
}

// checkTag checks that a tag is a text that fits its column. PostgreSQL would answer any other text
// with an error that looks like an outage.
func checkTag(tag string, maxTag int) error {
	switch n := utf8.RuneCountInString(tag); {
	case n < 1 || n > maxTag:
		return fmt.Errorf("the tag has %d characters, want 1..%d", n, maxTag)
	case !utf8.ValidString(tag) || strings.ContainsRune(tag, 0):
		return fmt.Errorf("the tag is %q, want UTF-8 without NUL", tag)
	}
	return nil
}

// checkFetch checks the arguments of Fetch.
func checkFetch(tag string, step int64, maxTag int) error {
	if err := checkTag(tag, maxTag); err != nil {
		return fmt.Errorf("sqltable: %w: %w", segment.ErrUnknownTag, err)
	}
	if step < 0 || step > segbound.Span {
		return invalid("step is %d, want 0..%d", step, segbound.Span)
	}
	return nil
}

// schemaTable splits schema.table. Without a schema it returns nil, which COALESCE in SQL turns
// into the current one.
func schemaTable(table string) (schema any, name string) {
	if before, after, ok := strings.Cut(table, "."); ok {
		return before, after
	}
	return nil, table
}

// elsewhere reports whether the table's name has a schema. Then connections with different current
// schemas share its counters, but not number_name and segment_moved, which belong to them.
func (t *table) elsewhere() bool { return strings.Contains(t.name, ".") }

// isAnswer reports whether err is the database's answer about the tag, which another attempt would
// not change.
func isAnswer(err error) bool {
	return errors.Is(err, segment.ErrUnknownTag) || errors.Is(err, segment.ErrExhausted) ||
		errors.Is(err, segment.ErrBadRange) || errors.Is(err, segment.ErrRangeWentBack) ||
		errors.Is(err, segment.ErrFormat) || errors.Is(err, segment.ErrPastPeriod)
}

// isOverflow reports whether the database refused a number that its column cannot hold. No fetch
// can succeed then, so calls should fail at once. 1264 and 1690 are MySQL's codes for a value out
// of range of a column and of a type, 22003 is the SQLSTATE of PostgreSQL.
func isOverflow(err error) bool {
	if code := sqldb.MySQLCode(err); code == 1264 || code == 1690 {
		return true
	}
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "22003"
}
