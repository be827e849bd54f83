package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
)

// examine returns how the server counts, or why it must not be used. Two servers whose offsets
// differ modulo the step never give the same id, whatever else happens to their counters. Nothing
// else keeps their ids apart, so rangeFrom checks it for each range.
func (s *ticketServer) examine(ctx context.Context) (k counting, err error) {
	run := s.db.Do
	if s.db.Name == "mysql" {
		run = s.update // discards sessions that are older than the server's settings
	}
	err = run(ctx, func(c *sqldb.Conn) error {
		switch s.db.Name {
		case "postgres":
			k.offset, err = s.examineIdentity(ctx, c)
		case "sqlite":
			err = s.examineFile(ctx, c)
		default:
			if err := s.examineTable(ctx, c); err != nil {
				return err
			}
			k, err = s.examineSettings(ctx, c)
			if err == nil && k.plan == (ticketplan.Plan{}) {
				if err = s.keepSettings(ctx, c); err == nil {
					k, err = s.examineSettings(ctx, c) // another program may have written the row
				}
			}
			return err
		}
		k.step, k.below = s.opts.Step, math.MaxInt64
		return err
	})
	return k, err
}

// examineTable checks that the counter is a BIGINT: at the end of a narrower one MySQL gives every
// REPLACE the last id.
func (s *ticketServer) examineTable(ctx context.Context, c *sqldb.Conn) error {
	schema, name := schemaTable(s.opts.Table)
	var columns int64
	err := c.Row(ctx, "SELECT COUNT(*) FROM information_schema.columns"+
		" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?"+
		" AND column_name = 'id' AND data_type = 'bigint' AND extra LIKE '%auto_increment%'",
		[]any{schema, name}, &columns)
	if err == nil && columns == 0 {
		err = wrong("table %s has no AUTO_INCREMENT column id of type BIGINT", s.opts.Table)
	}
	if err != nil {
		return err
	}
	return s.examineKey(ctx, c)
}

// examineKey returns an error if stub has no unique key. REPLACE would only insert then, and the
// table grow by a row per id.
func (s *ticketServer) examineKey(ctx context.Context, c *sqldb.Conn) error {
	err := c.RequireKey(ctx, s.table, "stub")
	var e *sqldb.KeyError
	if errors.As(err, &e) {
		return wrong("table %s has no UNIQUE key on stub alone, and would grow by a row per id: %s",
			s.opts.Table, e.Repair)
	}
	return err
}

// staleError says that the server's settings are right and the session's are not, most likely
// because the session began before the settings were changed.
type staleError struct{ error }

func (e staleError) Unwrap() error { return e.error }

// plannedError says that the server's settings are not those that the program wants, but that the
// server has a plan, so its settings may be about to change.
type plannedError struct{ error }

func (e plannedError) Unwrap() error { return e.error }

// examineSettings compares the settings of the session and the server with the program's step and
// the server's plan, and returns how the server counts. A server ignores an offset above the
// increment. A session that began before SET GLOBAL keeps its settings.
//
// A server that counts as its plan says may be used from the plan's start on, whatever the
// program's step is. A server that counts by the program's step may be used below the start of a
// plan for another step.
func (s *ticketServer) examineSettings(ctx context.Context, c *sqldb.Conn) (k counting, err error) {
	var (
		inc, offset, globalInc, globalOffset int64
		stub                                 sql.NullString
	)
	err = c.Row(ctx, "SELECT @@session.auto_increment_increment, @@session.auto_increment_offset,"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset,"+
		" (SELECT stub"+ticketplan.FromNewest(s.table)+")", nil,
		&inc, &offset, &globalInc, &globalOffset, &stub)
	if err != nil {
		return k, err
	}
	if k.plan, err = ticketplan.Parse(stub.String); err != nil {
		return k, wrong("%v", err)
	}
	k.step, k.offset, k.below = globalInc, globalOffset%globalInc, math.MaxInt64
	p := k.plan
	asPlanned := globalInc == p.Step && globalOffset == p.Offset
	switch {
	case p.Start > 0 && asPlanned:
		k.from = p.Start
	case p.Start > 0 && (p.Step == s.opts.Step || globalInc != s.opts.Step):
		return k, plannedError{wrong("the server counts by %d from %d, want %d from %d by its plan",
			globalInc, globalOffset, p.Step, p.Offset)}
	case globalInc != s.opts.Step:
		return k, wrong("auto_increment_increment is %d, want %d", globalInc, s.opts.Step)
	case globalOffset < 1 || globalOffset > s.opts.Step:
		return k, wrong("auto_increment_offset is %d, want 1..%d", globalOffset, s.opts.Step)
	case p.Start > 0:
		k.below = p.Start
	case p != ticketplan.Plan{} && !asPlanned:
		return k, wrong("the server counts by %d from %d, want %d from %d as in the table's row "+
			"with the id 0, or uid segment expand", globalInc, globalOffset, p.Step, p.Offset)
	}
	if inc != globalInc || offset != globalOffset {
		return k, staleError{wrong("the session counts by %d from %d, the server by %d from %d, "+
			"want both the same", inc, offset, globalInc, globalOffset)}
	}
	return k, nil
}

// MySQL's codes for a duplicate key and for a value that is too long for its column.
const (
	duplicate = 1062
	tooLong   = 1406
)

// keepSettings writes the session's settings, which are the server's too, into the table as the row
// with the id 0. So a server that restarts with other settings is detected. If stub is too narrow
// for the row, the table has none.
func (s *ticketServer) keepSettings(ctx context.Context, c *sqldb.Conn) error {
	var p ticketplan.Plan
	err := c.Row(ctx,
		"SELECT @@session.auto_increment_increment, @@session.auto_increment_offset",
		nil, &p.Step, &p.Offset)
	for _, q := range []string{
		"SET @uidring_sql_mode = @@session.sql_mode",
		// With this mode an id of 0 is stored as it is and does not move the counter.
		"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'",
		fmt.Sprintf("INSERT INTO %s (id, stub) VALUES (0, '%v')", s.table, p),
		"SET SESSION sql_mode = @uidring_sql_mode",
	} {
		if err == nil {
			_, err = c.Exec(ctx, q)
		}
		if code := sqldb.MySQLCode(err); code == duplicate || code == tooLong {
			err = nil
		}
	}
	if err != nil {
		c.Discard()
	}
	return err
}

// examineIdentity reads how PostgreSQL's identity column counts, and returns its offset. It refuses
// a cache of numbers per session, with which the ids of a pool would not rise.
func (s *ticketServer) examineIdentity(ctx context.Context, c *sqldb.Conn) (int64, error) {
	var inc, start, cycle, cache int64
	err := c.Row(ctx, "SELECT seqincrement, seqstart, CAST(seqcycle AS INT), seqcache"+
		" FROM pg_sequence WHERE seqrelid = CAST(pg_get_serial_sequence(?, 'id') AS regclass)",
		[]any{s.table}, &inc, &start, &cycle, &cache)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, wrong("table %s has no identity column id", s.opts.Table)
	case err != nil:
		return 0, err
	case inc != s.opts.Step:
		return 0, wrong("the identity column counts by %d, want %d", inc, s.opts.Step)
	case cycle != 0:
		return 0, wrong("the identity column has CYCLE, want NO CYCLE")
	case cache != 1:
		return 0, wrong("the identity column has CACHE %d, want 1", cache)
	}
	return start % s.opts.Step, s.examineKey(ctx, c)
}

// examineFile checks how SQLite's table counts. Without AUTOINCREMENT it would go on from the
// highest row that is left.
func (s *ticketServer) examineFile(ctx context.Context, c *sqldb.Conn) error {
	if s.opts.Step != 1 {
		return wrong("SQLite counts in steps of 1, want %d", s.opts.Step)
	}
	schema, name := schemaTable(s.opts.Table)
	if schema == nil {
		schema = "main"
	}
	master := `"` + strings.ReplaceAll(fmt.Sprint(schema), `"`, `""`) + `".sqlite_master`
	var counters int64
	err := c.Row(ctx, "SELECT COUNT(*) FROM "+master+
		" WHERE type = 'table' AND name = ? COLLATE NOCASE AND sql LIKE '%AUTOINCREMENT%'",
		[]any{name}, &counters)
	switch {
	case err != nil:
		return err
	case counters == 0:
		return wrong("table %s has no AUTOINCREMENT column", s.opts.Table)
	}
	return s.examineKey(ctx, c)
}
