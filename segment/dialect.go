package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"
)

// dialect is how a database advances a counter.
type dialect uint8

const (
	dialectLock     dialect = iota // SELECT ... FOR UPDATE and UPDATE in one transaction: any other database
	dialectMySQL                   // UPDATE ... LAST_INSERT_ID(expr), MySQL and MariaDB
	dialectPostgres                // UPDATE ... RETURNING
	dialectSQLite                  // UPDATE ... RETURNING
)

// store runs statements on a GORM database. It goes below GORM's callbacks, straight to the connection pool: that is where
// the driver's result with its insert id is, a resolver of replicas does not take a SELECT elsewhere, and a poll of the
// database leaves no line in the application's SQL log.
type store struct {
	db      *gorm.DB
	dialect dialect
}

func newStore(db *gorm.DB) store {
	s := store{db: db}
	switch db.Name() {
	case "mysql":
		s.dialect = dialectMySQL
		// The driver prepares a statement with arguments anew for every call unless it is kept. pgx keeps its own and
		// SQLite has no round trip.
		s.db = db.Session(&gorm.Session{PrepareStmt: true})
	case "postgres":
		s.dialect = dialectPostgres
	case "sqlite":
		s.dialect = dialectSQLite
	}
	return s
}

// checkOpen reports that there is no database behind db; what is the caller's name for it.
func checkOpen(what string, db *gorm.DB) error {
	switch {
	case db == nil:
		return fmt.Errorf("%w: %s is nil", ErrOptions, what)
	case db.Config == nil || db.Dialector == nil || db.Statement == nil || db.Statement.ConnPool == nil:
		return fmt.Errorf("%w: %s is not open", ErrOptions, what)
	}
	return nil
}

// checkDB reports why a source cannot stand on db. A transaction is refused because its end would decide, long after a range
// was handed out, whether the counter moved at all.
func checkDB(what string, db *gorm.DB) error {
	if err := checkOpen(what, db); err != nil {
		return err
	}
	switch {
	case db.Error != nil:
		return fmt.Errorf("%w: %s carries an error: %w", ErrOptions, what, db.Error)
	case db.DryRun:
		return fmt.Errorf("%w: %s is a dry run, want one that executes", ErrOptions, what)
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return fmt.Errorf("%w: %s is a transaction, want a pool: a rollback would hand its ranges out again", ErrOptions, what)
	}
	return nil
}

// errTwoRows says that a key which has to be unique is not.
var errTwoRows = errors.New("segment: more than one row has the key, want a unique key on it")

// exec runs a statement whose arguments are marked by ? and returns the result of its own connection.
func (s store) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return execOn(ctx, s.db.Statement.ConnPool, s.dialect, query, args...)
}

// row runs a query and scans its only row into dest. No row is sql.ErrNoRows.
func (s store) row(ctx context.Context, query string, args []any, dest ...any) error {
	return rowOn(ctx, s.db.Statement.ConnPool, s.dialect, query, args, dest...)
}

// inTx runs f in a transaction of its own.
func (s store) inTx(ctx context.Context, f func(tx store) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return f(store{db: tx, dialect: s.dialect}) })
}

// forUpdate returns what makes a SELECT lock its row until the transaction ends. SQLite has no such clause: there the
// transaction has to begin with a write.
func (s store) forUpdate() string {
	if s.dialect == dialectSQLite {
		return ""
	}
	return " FOR UPDATE"
}

// ident quotes a table or column name, schema.table included.
func (s store) ident(name string) string { return s.db.Statement.Quote(name) }

// setTime returns the assignment that keeps leaf_alloc's update_time up to date. MySQL's column does it by itself.
func (s store) setTime() string {
	if s.dialect == dialectMySQL {
		return ""
	}
	return ", update_time = CURRENT_TIMESTAMP"
}

func execOn(ctx context.Context, c gorm.ConnPool, d dialect, query string, args ...any) (sql.Result, error) {
	return c.ExecContext(ctx, bind(d, query), args...)
}

// rowOn reads through QueryContext: QueryRowContext of GORM's statement cache returns a row that panics when the statement
// cannot be prepared.
func rowOn(ctx context.Context, c gorm.ConnPool, d dialect, query string, args []any, dest ...any) error {
	rows, err := c.QueryContext(ctx, bind(d, query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	if rows.Next() {
		return errTwoRows
	}
	return rows.Err()
}

// bind rewrites ? to PostgreSQL's $1, $2 and so on. No statement of this package has a ? elsewhere.
func bind(d dialect, query string) string {
	if d != dialectPostgres {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// moved returns an error unless a statement that names the row as it was read changed just that row.
func moved(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := affected(res); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("segment: the row changed although it was locked: %d rows were as they had been read, want 1", n))
	}
	return nil
}

// affected returns how many rows a statement changed.
func affected(res sql.Result) (int64, error) {
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("segment: rows affected: %w", err)
	}
	return n, nil
}
