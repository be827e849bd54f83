package number

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"github.com/uidring/uidring/segment"
)

// Tx is a transaction of the caller's: a *sql.Tx, or in GORM the tx.Statement.ConnPool of the
// function that db.Transaction calls.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Gapless makes numbers without gaps, where the law asks for them, as for invoices. A number is
// part of the caller's transaction: if that does not commit, the next one gets it.
//
// It costs what it has to: the row of a key's counter is locked until the caller commits, so the
// transactions of one key run one after the other. Take the number last in a transaction, and keys
// in one order if it takes several. Nothing else of this module is without gaps: not ids, not
// segments, not the numbers of Number, and not an AUTO_INCREMENT column.
//
// It is safe for concurrent use and needs no Close.
type Gapless struct {
	n       *Number
	dialect string
}

// gaplessTable has the counters.
const gaplessTable = "number_gapless"

// NewGapless returns the numbers of a name. The format's counter has the word gapless, as in
// {n 6 year gapless}. dialect is "mysql", also for MariaDB, "postgres" or "sqlite". db is the
// database, such as a *sql.DB, with the tables number_name and number_gapless, which `uid schema`
// prints and `uid segment init` makes. The name is registered there, outside any transaction: from
// its first use it keeps its format and zone, and that it is gapless, and refuses others with
// segment.ErrFormat. A db that is a transaction is refused: what it registers may be undone.
func NewGapless(
	ctx context.Context, db Tx, dialect, name, format string, opts *Options,
) (*Gapless, error) {
	n, err := newNumber(name, format, opts)
	switch {
	case err != nil:
		return nil, err
	case !n.f.gapless:
		return nil, invalid("the counter of %q is not gapless, want the word gapless, as "+
			"in {n 6 year gapless}, or New", name)
	}
	if t := reflect.TypeOf(db); t == nil || hasMethod(t, "Commit") && !hasMethod(t, "BeginTx") {
		return nil, invalid("db is a %v, want a database, such as a *sql.DB: a name that "+
			"is rolled back is kept nowhere", t)
	}
	g := &Gapless{n, dialect}
	insert, ok := map[string]string{
		"mysql": "INSERT IGNORE INTO number_name (name, format, counters) VALUES (?, ?, ?)",
		"postgres": "INSERT INTO number_name (name, format, counters) VALUES ($1, $2, $3)" +
			" ON CONFLICT (name) DO NOTHING",
		"sqlite": "INSERT INTO number_name (name, format, counters) VALUES (?, ?, ?)" +
			" ON CONFLICT (name) DO NOTHING",
	}[dialect]
	if !ok {
		return nil, invalid("dialect is %q, want mysql, postgres or sqlite", dialect)
	}
	if dialect == "mysql" {
		if err := keyed(ctx, db); err != nil {
			return nil, err
		}
	}
	if _, err := db.ExecContext(ctx, insert, name, n.kept(), gaplessTable); err != nil {
		return nil, fmt.Errorf("number: register %q: %w", name, err)
	}
	var kept, counters string
	err = db.QueryRowContext(ctx, "SELECT format, counters FROM number_name WHERE name = "+
		g.argument(), name).Scan(&kept, &counters)
	switch {
	case err != nil:
		return nil, fmt.Errorf("number: read %q: %w", name, err)
	case counters != gaplessTable:
		return nil, fmt.Errorf("number: %w: %q has gaps: its counters are in %q",
			segment.ErrFormat, name, counters)
	case kept != n.kept():
		return nil, fmt.Errorf("number: %w: %q was first used with %q, not with %q",
			segment.ErrFormat, name, kept, n.kept())
	}
	return g, nil
}

// argument is a statement's only argument.
func (g *Gapless) argument() string {
	if g.dialect == "postgres" {
		return "$1"
	}
	return "?"
}

// Next returns the next number of the keys and of the clock's period. It is the caller's once tx
// has committed. After an error roll tx back: of a deadlock or a conflict (SQLSTATE 40001), which
// the caller tries again as a whole, or segment.ErrExhausted. A tx that can begin transactions
// itself, such as a *sql.DB, is none and is refused: the number would be used whatever comes later.
func (g *Gapless) Next(ctx context.Context, tx Tx, key ...string) (string, error) {
	if err := g.n.f.fits(key); err != nil {
		return "", err
	}
	if t := reflect.TypeOf(tx); t == nil || hasMethod(t, "BeginTx") {
		return "", invalid("%v is no transaction, want a *sql.Tx", t)
	}
	p, err := g.n.newPage(g.n.opts.Clock().In(g.n.opts.Zone))
	if err != nil {
		return "", err
	}
	tag := g.n.tag(p.period, key)
	count, err := g.count(ctx, tx, tag)
	switch {
	case err != nil:
		return "", fmt.Errorf("number: %s: %w", tag, err)
	case count > g.n.f.capacity:
		return "", g.n.f.usedUp(tag)
	}
	return string(g.n.append(make([]byte, 0, maxText), p, &entry{}, key, count)), nil
}

// Keys returns the names of the keys that Next wants, in their order.
func (g *Gapless) Keys() []string { return g.n.Keys() }

// Parse takes a number apart, as Number.Parse does.
func (g *Gapless) Parse(text string) (Parts, error) { return g.n.Parse(text) }

// count adds one to a counter and returns it. One statement locks the row, or makes it: the second
// transaction waits at the key for the first one's commit, and then adds to what that left. A read
// before it would take a lock that two first users share, and each would wait for the other.
//
// On MySQL the value comes back in the statement's answer, by LAST_INSERT_ID(expr), and the row is
// read only if a trigger hides it. PostgreSQL's ON CONFLICT does not fail, and so does not abort
// the caller's transaction.
func (g *Gapless) count(ctx context.Context, tx Tx, tag string) (count int64, err error) {
	if g.dialect != "mysql" {
		err = tx.QueryRowContext(ctx, "INSERT INTO number_gapless (tag, counted) VALUES ("+
			g.argument()+", 1) ON CONFLICT (tag) DO UPDATE"+
			" SET counted = number_gapless.counted + 1 RETURNING counted", tag).Scan(&count)
		return count, err
	}
	r, err := tx.ExecContext(ctx, "INSERT INTO number_gapless (tag, counted)"+
		" VALUES (?, LAST_INSERT_ID(1)) ON DUPLICATE KEY UPDATE"+
		" counted = LAST_INSERT_ID(counted + 1)", tag)
	if err != nil {
		return 0, err
	}
	if count, err = r.LastInsertId(); err != nil || count > 0 {
		return count, err
	}
	err = tx.QueryRowContext(ctx, "SELECT counted FROM number_gapless WHERE tag = ?", tag).
		Scan(&count)
	return count, err
}

// hasMethod reports whether a type has an exported method.
func hasMethod(t reflect.Type, name string) bool {
	_, ok := t.MethodByName(name)
	return ok
}

// keyed refuses tables of MySQL that lack their keys, which a copy by CREATE TABLE ... AS SELECT
// does: ON DUPLICATE KEY UPDATE would add a row in place of counting, and each number would be 1.
// PostgreSQL and SQLite refuse such statements themselves.
func keyed(ctx context.Context, db Tx) error {
	for table, column := range map[string]string{"number_name": "name", gaplessTable: "tag"} {
		var keys int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM (
			SELECT index_name FROM information_schema.statistics
			WHERE table_schema = DATABASE() AND table_name = ? AND non_unique = 0
			GROUP BY index_name HAVING COUNT(*) = 1 AND MAX(column_name) = ?) AS k`,
			table, column).Scan(&keys)
		switch {
		case err != nil:
			return fmt.Errorf("number: look for the key of %s: %w", table, err)
		case keys == 0:
			return fmt.Errorf("number: the table %s has no key of %s alone, or is not there; "+
				"make it as `uid schema` prints it", table, column)
		}
	}
	return transactional(ctx, db)
}

// transactional refuses counters in an engine of MySQL that has no transactions, such as MyISAM: a
// number would stay used after a roll-back.
func transactional(ctx context.Context, db Tx) error {
	var without int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables AS t
		JOIN information_schema.engines AS e ON e.engine = t.engine
		WHERE t.table_schema = DATABASE() AND t.table_name = ? AND e.transactions = 'NO'`,
		gaplessTable).Scan(&without)
	switch {
	case err != nil:
		return fmt.Errorf("number: look for the engine of %s: %w", gaplessTable, err)
	case without > 0:
		return fmt.Errorf("number: the engine of the table %s has no transactions, so numbers "+
			"would have gaps; want ENGINE = InnoDB", gaplessTable)
	}
	return nil
}
