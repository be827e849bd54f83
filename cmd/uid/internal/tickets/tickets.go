// Package tickets changes a set of ticket servers while programs use it: it adds servers, and takes
// back what was announced. Programs read a server's plan from its table, with package sqltable.
//
// plan.go decides what is to be done, and expand.go does it. abandon.go takes plans back, and
// apart.go finds out whether two servers are one.
package tickets

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqltable"
)

// table is the table of every server, quoted.
const table = "`ticket`"

// Set is the ticket servers that are to be one set.
type Set struct {
	servers []*server
	step    int64
}

// server is one of the servers.
type server struct {
	index int
	db    *sqldb.DB
}

// New returns the set of the servers, which are to count by step, or by their number if that is 0.
// It does not connect.
func New(dbs []*gorm.DB, step int64) (*Set, error) {
	s := &Set{step: cmp.Or(step, int64(len(dbs)))}
	if s.step < int64(len(dbs)) || s.step > segbound.Stride {
		return nil, fmt.Errorf("%w: Step is %d, want %d..%d",
			segment.ErrOptions, s.step, len(dbs), segbound.Stride)
	}
	for i, db := range dbs {
		d, err := sqlgorm.Open(fmt.Sprint("ticket server ", i), db, nil)
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, &server{i, d.Strict()})
	}
	return s, nil
}

// changing runs f on a connection, to change how the server counts, which MySQL's alone can.
func (s *server) changing(ctx context.Context, f func(c *sqldb.Conn) error) error {
	if s.db.Name != "mysql" {
		return fmt.Errorf("the database is %q: %w", s.db.Name, errors.ErrUnsupported)
	}
	return s.db.Do(ctx, f)
}

// named adds the server's index to an error.
func (s *server) named(err error) error { return fmt.Errorf("ticket server %d: %w", s.index, err) }

// wrong returns an error that wraps sqltable.ErrTicketServer.
func wrong(err error) error { return fmt.Errorf("%w: %w", sqltable.ErrTicketServer, err) }
