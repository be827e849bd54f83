package workernode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// database is where the tables are. It is immutable, so any number of goroutines may use it.
type database struct {
	pool    gorm.ConnPool
	dialect dialect
	place   string       // for messages: which database, without the password
	logger  *slog.Logger // told when an operation begins to wait; nil: nobody
}

// open takes the pool out of db, or says why db cannot be used.
func open(db *gorm.DB) (*database, error) {
	if db == nil || db.Config == nil || db.Dialector == nil {
		return nil, errors.New("workernode: db is nil or was not opened")
	}
	name := db.Dialector.Name()
	d, ok := dialects[name]
	if !ok {
		return nil, fmt.Errorf("workernode: dialect is %q, want mysql, postgres or sqlite", name)
	}
	pool := db.ConnPool
	if db.Statement != nil && db.Statement.ConnPool != nil {
		pool = db.Statement.ConnPool
	}
	if pool == nil {
		return nil, errors.New("workernode: db has no connection pool")
	}
	// A transaction that is rolled back later would take back a row that a process lives by.
	if _, ok := pool.(gorm.TxCommitter); ok {
		return nil, errors.New("workernode: db is a transaction, want one outside of any")
	}
	return &database{pool: pool, dialect: d, place: place(db.Dialector)}, nil
}

// place names the database in messages. MySQL's driver does not always do that; the others' do.
func place(d gorm.Dialector) string {
	if m, ok := d.(*mysql.Dialector); ok && m.Config != nil && m.DSNConfig != nil {
		return fmt.Sprintf("mysql database %q at %s", m.DSNConfig.DBName, m.DSNConfig.Addr)
	}
	return d.Name() + " database"
}

// exec runs a statement and returns how many rows it changed.
func (d *database) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := d.pool.ExecContext(ctx, d.dialect.expand(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs an INSERT into a table whose key, column ID, the database generates, and returns the key.
func (d *database) insert(ctx context.Context, query string, args ...any) (id int64, err error) {
	query = d.dialect.expand(query)
	if d.dialect.returning {
		err = d.pool.QueryRowContext(ctx, query+" RETURNING ID", args...).Scan(&id)
		return id, err
	}
	result, err := d.pool.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// row reads one row into dest; none is sql.ErrNoRows.
func (d *database) row(ctx context.Context, query string, args, dest []any) error {
	return d.pool.QueryRowContext(ctx, d.dialect.expand(query), args...).Scan(dest...)
}

// each calls scan for every row.
func (d *database) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := d.pool.QueryContext(ctx, d.dialect.expand(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// now returns the database's time.
func (d *database) now(ctx context.Context) (time.Time, error) {
	var ms int64
	err := d.retry(ctx, "asking for the time", func(ctx context.Context) error {
		return d.row(ctx, "SELECT {nowMillis}", nil, []any{&ms})
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(ms).UTC(), nil
}
