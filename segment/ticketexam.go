package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// examine returns the server's offset modulo Step, or why it must not be used.
func (s *ticketServer) examine(ctx context.Context) (offset int64, err error) {
	switch s.store.dialect {
	case dialectMySQL:
		err = s.onConn(ctx, func(c gorm.ConnPool) error {
			if err := s.examineTable(ctx, c); err != nil {
				return err
			}
			offset, err = s.examineSettings(ctx, c)
			return err
		})
		return offset, err
	case dialectPostgres:
		return s.examineIdentity(ctx)
	case dialectSQLite:
		return 0, s.examineFile(ctx)
	default:
		return 0, fmt.Errorf("%w: the database is %q, want mysql, postgres or sqlite", ErrTicketServer, s.store.db.Name())
	}
}

// examineTable finds the counter, and the unique key without which REPLACE is INSERT and the table grows by a row per id. The
// counter has to be a BIGINT: at the end of a narrower one MySQL gives REPLACE the last id again and again.
func (s *ticketServer) examineTable(ctx context.Context, c gorm.ConnPool) error {
	schema, name := schemaTable(s.opts.Table)
	var keys, columns int64
	err := rowOn(ctx, c, dialectMySQL, "SELECT COUNT(*), (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?"+
		" AND column_name = 'id' AND data_type = 'bigint' AND extra LIKE '%auto_increment%') FROM (SELECT index_name FROM information_schema.statistics"+
		" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? GROUP BY index_name"+
		" HAVING MAX(non_unique) = 0 AND COUNT(*) = 1 AND MAX(column_name) = 'stub') AS k", []any{schema, name, schema, name}, &keys, &columns)
	switch {
	case err != nil:
		return err
	case columns == 0:
		return fmt.Errorf("%w: table %s has no AUTO_INCREMENT column id of type BIGINT", ErrTicketServer, s.opts.Table)
	}
	return s.examineKeys(keys)
}

func (s *ticketServer) examineKeys(keys int64) error {
	if keys == 0 {
		return fmt.Errorf("%w: table %s has no UNIQUE key on stub alone, so that it would grow by a row per id", ErrTicketServer, s.opts.Table)
	}
	return nil
}

// staleError: the server is set up right, and the session is not, most likely because it began before that.
type staleError struct{ error }

func (e staleError) Unwrap() error { return e.error }

// examineSettings compares what the session and the server count by with what is wanted, and returns the offset modulo
// Step. A server ignores an offset above the increment, and a session that began before SET GLOBAL goes on as before.
func (s *ticketServer) examineSettings(ctx context.Context, c gorm.ConnPool) (int64, error) {
	var inc, offset, globalInc, globalOffset, autocommit int64
	err := rowOn(ctx, c, dialectMySQL, "SELECT @@session.auto_increment_increment, @@session.auto_increment_offset,"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset, @@session.autocommit", nil, &inc, &offset, &globalInc, &globalOffset, &autocommit)
	switch {
	case err != nil:
		return 0, err
	case globalInc != s.opts.Step:
		return 0, fmt.Errorf("%w: auto_increment_increment is %d, want %d", ErrTicketServer, globalInc, s.opts.Step)
	case globalOffset < 1 || globalOffset > s.opts.Step:
		return 0, fmt.Errorf("%w: auto_increment_offset is %d, want 1..%d", ErrTicketServer, globalOffset, s.opts.Step)
	case inc != globalInc || offset != globalOffset:
		return 0, staleError{fmt.Errorf("%w: the session counts by %d from %d, the server by %d from %d, want both the same", ErrTicketServer, inc, offset, globalInc, globalOffset)}
	case autocommit == 0:
		return 0, fmt.Errorf("%w: autocommit is off for the session, want it on: an open transaction keeps the tag's row locked", ErrTicketServer)
	}
	return offset % s.opts.Step, nil
}

// examineIdentity reads how PostgreSQL's identity column counts. A cache of numbers per session would make the pool's ids go up and
// down.
func (s *ticketServer) examineIdentity(ctx context.Context) (int64, error) {
	var inc, start, cycle, cache, keys int64
	err := s.store.row(ctx, "SELECT seqincrement, seqstart, CAST(seqcycle AS INT), seqcache, (SELECT COUNT(*) FROM pg_index JOIN pg_attribute"+
		" ON attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = CAST(? AS regclass) AND indisunique AND indnatts = 1 AND indpred IS NULL AND attname = 'stub')"+
		" FROM pg_sequence WHERE seqrelid = CAST(pg_get_serial_sequence(?, 'id') AS regclass)", []any{s.table(), s.table()}, &inc, &start, &cycle, &cache, &keys)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%w: table %s has no identity column id", ErrTicketServer, s.opts.Table)
	case err != nil:
		return 0, err
	case inc != s.opts.Step:
		return 0, fmt.Errorf("%w: the identity column counts by %d, want %d", ErrTicketServer, inc, s.opts.Step)
	case cycle != 0:
		return 0, fmt.Errorf("%w: the identity column has CYCLE, want NO CYCLE", ErrTicketServer)
	case cache != 1:
		return 0, fmt.Errorf("%w: the identity column has CACHE %d, want 1", ErrTicketServer, cache)
	}
	return start % s.opts.Step, s.examineKeys(keys)
}

// examineFile reads how SQLite's table counts. Without AUTOINCREMENT it counts on from the highest row that is left.
func (s *ticketServer) examineFile(ctx context.Context) error {
	if s.opts.Step != 1 {
		return fmt.Errorf("%w: SQLite counts in steps of 1, want %d", ErrTicketServer, s.opts.Step)
	}
	schema, name := schemaTable(s.opts.Table)
	if schema == nil {
		schema = "main"
	}
	var counters, keys int64
	err := s.store.row(ctx, "SELECT (SELECT COUNT(*) FROM "+s.store.ident(fmt.Sprint(schema, ".sqlite_master"))+" WHERE type = 'table' AND name = ? COLLATE NOCASE AND sql LIKE '%AUTOINCREMENT%'),"+
		` (SELECT COUNT(*) FROM pragma_index_list(?, ?) AS l WHERE l."unique" AND NOT l.partial AND (SELECT GROUP_CONCAT(name) FROM pragma_index_info(l.name, ?)) = 'stub')`,
		[]any{name, name, schema, schema}, &counters, &keys)
	switch {
	case err != nil:
		return err
	case counters == 0:
		return fmt.Errorf("%w: table %s has no AUTOINCREMENT column", ErrTicketServer, s.opts.Table)
	}
	return s.examineKeys(keys)
}
