package sqltable

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
)

// A server that lost writes, such as a replica that was promoted or a backup that was restored,
// gives ids again. All tags of a server share its counter, so a Ticket leaves the whole server out
// once one range lies below an id that the server gave before, and the other servers go on.
//
// The server is used again when its counter was raised to at least a million above that id. Other
// processes may hold ids that this one has never seen. So this process only reads the counter
// until then: every id that it takes moves the counter towards the ids that it cannot see.

// compare records that the server gave r, or returns why it must not be used. given is what the
// server was known to have given when r was asked for. Ranges that were asked for at the same time
// may arrive in any order, so they are not compared with each other.
func (s *ticketServer) compare(r segment.Range, given int64) error {
	floor := s.floor.Load()
	if r.From < max(given, floor) {
		s.floor.CompareAndSwap(0, s.high.Load()+ticketplan.Gap)
		return s.wentBack(r.From)
	}
	if floor > 0 { // and not one that another call has set since
		s.floor.CompareAndSwap(floor, 0)
	}
	for {
		high := s.high.Load()
		if r.To <= high || s.high.CompareAndSwap(high, r.To) {
			return nil
		}
	}
}

// stillBack returns an error if the server went back and its counter was not raised since.
func (s *ticketServer) stillBack(ctx context.Context, c *sqldb.Conn) error {
	floor := s.floor.Load()
	if floor == 0 {
		return nil
	}
	next, err := s.next(ctx, c)
	if err == nil && next < floor {
		err = s.wentBack(next)
	}
	return err
}

// wentBack returns the error for a server whose counter is at an id that is too low.
func (s *ticketServer) wentBack(at int64) error {
	return fmt.Errorf("%w: the counter is at %d, and the server gave ids up to %d; "+
		"raise the counter above every id in use, and to %d or more",
		segment.ErrRangeWentBack, at, s.high.Load()-1, s.floor.Load())
}

var autoIncrement = regexp.MustCompile(`(?i)\) [^)']*\bAUTO_INCREMENT=(\d+)`)

// next returns an id that the server's next one is not below. It moves no counter. MySQL's
// information_schema may show the counter of a day ago, and SHOW CREATE TABLE shows the current
// one.
func (s *ticketServer) next(ctx context.Context, c *sqldb.Conn) (next int64, err error) {
	switch s.db.Name {
	case "postgres":
		var name string
		err = c.Row(ctx, "SELECT pg_get_serial_sequence(?, 'id')", []any{s.table}, &name)
		if err == nil {
			err = c.Row(ctx, "SELECT last_value FROM "+name, nil, &next)
		}
		return next, err
	case "sqlite":
		_, name := schemaTable(s.opts.Table)
		var last sql.NullInt64
		err = c.Row(ctx, "SELECT MAX(seq) FROM sqlite_sequence WHERE name = ? COLLATE NOCASE",
			[]any{name}, &last)
		return last.Int64 + 1, err
	}
	var name, create string
	if err := c.Row(ctx, "SHOW CREATE TABLE "+s.table, nil, &name, &create); err != nil {
		return 0, err
	}
	if m := autoIncrement.FindStringSubmatch(create); m != nil {
		next, err = strconv.ParseInt(m[1], 10, 64)
	}
	return next, err
}
