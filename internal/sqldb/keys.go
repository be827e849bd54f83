package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// KeyError says that a table lacks the key that uniqueness rests on. It wraps ErrUnfit.
type KeyError struct {
	Table   string // without quotes and schema
	Columns []string
	Repair  string // the statement that makes the key
}

// Lacks says which key the table lacks.
func (e *KeyError) Lacks() string {
	return fmt.Sprintf("table %s has no primary or unique key on (%s), and a view has none",
		e.Table, strings.Join(e.Columns, ", "))
}

// Error names the table, the key and the statement.
func (e *KeyError) Error() string {
	return fmt.Sprintf("%s: %v; stop what uses it, then: %s", e.Lacks(), ErrUnfit, e.Repair)
}

// Unwrap returns ErrUnfit.
func (e *KeyError) Unwrap() error { return ErrUnfit }

// RequireKey is Conn.RequireKey on a connection of its own. Retry does not repeat it for a
// *KeyError.
func (d *DB) RequireKey(ctx context.Context, table string, columns ...string) error {
	err := d.Do(ctx, func(c *Conn) error { return c.RequireKey(ctx, table, columns...) })
	var e *KeyError
	if errors.As(err, &e) {
		return Final(fmt.Errorf("%s: %s: %w", d.name, d.place, e))
	}
	return err
}

// InfersKey reports whether PostgreSQL names no fault in a statement that needs a key on just these
// columns, and the key covers all rows of the table: see postgresKeys. If not, RequireKey says what
// is wrong, if anything is. The statement inserts nothing. It needs no catalogue but what every
// statement on the table reads, and in a session that has just begun the catalogues of postgresKeys
// cost as much as a few statements on the table do.
func (d *DB) InfersKey(ctx context.Context, table string, columns ...string) (whole bool) {
	if d.Name != "postgres" {
		return false
	}
	key := strings.Join(columns, ", ")
	err := d.Do(ctx, func(c *Conn) error {
		return c.Row(ctx, "WITH nothing AS (INSERT INTO "+table+" ("+key+") SELECT "+key+" FROM "+
			table+" WHERE FALSE ON CONFLICT ("+key+") DO NOTHING) SELECT relkind = 'p' OR "+
			"relkind = 'r' AND NOT relhassubclass FROM pg_class WHERE oid = CAST(? AS regclass)",
			[]any{table}, &whole)
	})
	return err == nil && whole
}

// RequireKey returns a *KeyError unless the database keeps two rows of the table from being equal
// in columns: by a primary or unique key on them, or on some of them. table is as in statements,
// quoted or not. A copy of a table (CREATE TABLE ... AS SELECT) and a restore without keys have
// none, and two processes then insert rows for one worker id.
//
// A table that is missing is no error here, because the statements that follow report it. Nor is a
// catalogue that this account may not read, which every server lets it read for its own tables.
func (c *Conn) RequireKey(ctx context.Context, table string, columns ...string) error {
	keys, err := c.keys(ctx, table)
	if err != nil {
		if f := c.Failure(err); f == Missing || f == Denied {
			return nil
		}
		return err
	}
	for _, key := range keys {
		if !slices.ContainsFunc(key, func(column string) bool {
			return !slices.ContainsFunc(columns, func(c string) bool {
				return strings.EqualFold(c, column)
			})
		}) {
			return nil
		}
	}
	_, name := split(table)
	return &KeyError{name, columns, fmt.Sprintf("CREATE UNIQUE INDEX %s_key ON %s (%s)", name,
		table, strings.Join(columns, ", "))}
}

// keys returns the columns of each primary and unique key that covers all rows. A column is empty
// if the key has an expression in its place. If the table is missing, keys returns an error of the
// class Missing.
func (c *Conn) keys(ctx context.Context, table string) ([][]string, error) {
	switch c.Name {
	case "postgres":
		return c.postgresKeys(ctx, table)
	case "sqlite":
		return c.sqliteKeys(ctx, table)
	}
	// It shows temporary tables too, and any table that the account has a right on. The columns of
	// the answer differ between servers.
	unique := map[string][]string{}
	err := c.Each(ctx, func(r *sql.Rows) error {
		names, err := r.Columns()
		if err != nil {
			return err
		}
		values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := r.Scan(dest...); err != nil {
			return err
		}
		row := map[string]string{}
		for i, name := range names {
			row[strings.ToLower(name)] = values[i].String
		}
		if row["non_unique"] == "0" {
			unique[row["key_name"]] = append(unique[row["key_name"]], row["column_name"])
		}
		return nil
	}, "SHOW KEYS FROM "+table)
	return slices.Collect(maps.Values(unique)), err
}

// postgresKeys leaves out keys on some of the rows, those that a CREATE INDEX CONCURRENTLY has not
// finished, and those of a table that others inherit from, whose rows no key of it covers. A
// partitioned table is none of these. Columns that a key only includes are not among those that it
// has operator classes for.
func (c *Conn) postgresKeys(ctx context.Context, table string) ([][]string, error) {
	unique := map[string][]string{}
	err := c.Each(ctx, collect(unique), `SELECT CAST(i.indexrelid AS TEXT), COALESCE(a.attname, '')
		FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid
		CROSS JOIN LATERAL GENERATE_SERIES(0, ARRAY_UPPER(i.indclass, 1)) AS n
		LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n]
		WHERE i.indrelid = CAST(? AS regclass) AND i.indisunique AND i.indisvalid
		AND i.indpred IS NULL AND (t.relkind = 'p' OR NOT EXISTS (
			SELECT 1 FROM pg_inherits WHERE inhparent = t.oid))`, table)
	return slices.Collect(maps.Values(unique)), err
}

// sqliteKeys returns the table's PRIMARY KEY as well, which has no index if it is the rowid.
func (c *Conn) sqliteKeys(ctx context.Context, table string) ([][]string, error) {
	schema, name := split(table)
	unique := map[string][]string{}
	columns := 0
	err := c.Each(ctx, func(r *sql.Rows) error {
		var column string
		var key int
		err := r.Scan(&column, &key)
		if columns++; key > 0 {
			unique[""] = append(unique[""], column)
		}
		return err
	}, "SELECT name, pk FROM pragma_table_info(?, ?)", name, schema)
	if err == nil && columns == 0 {
		err = fmt.Errorf("no such table: %s", table)
	}
	if err != nil {
		return nil, err
	}
	err = c.Each(ctx, collect(unique), `SELECT l.name, COALESCE(i.name, '') FROM pragma_index_list(?, ?) AS l
		JOIN pragma_index_info(l.name, ?) AS i WHERE l."unique" AND NOT l.partial`,
		name, schema, schema)
	return slices.Collect(maps.Values(unique)), err
}

// collect returns what puts rows of a key's name and one of its columns into unique.
func collect(unique map[string][]string) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var key, column string
		err := r.Scan(&key, &column)
		unique[key] = append(unique[key], column)
		return err
	}
}

// split returns the schema, SQLite's own if none is given, and the name of a table without quotes.
func split(table string) (schema, name string) {
	schema, name = "main", table
	if before, after, ok := strings.Cut(table, "."); ok {
		schema, name = before, after
	}
	return strings.Trim(schema, "`\""), strings.Trim(name, "`\"")
}
