package sqltable

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// apart returns an error if two of dbs are one server. Their names do not tell: 127.0.0.1 and
// localhost are two. A lock that one session holds by a random name shows on the same server only.
// It changes no table. A database that is not MySQL's is left to newExpansion.
func apart(ctx context.Context, dbs []DB, opts *TicketOptions) error {
	o, err := opts.withDefaults(len(dbs))
	if err != nil {
		return fmt.Errorf("sqltable: %w", err)
	}
	servers := make([]*sqldb.DB, len(dbs))
	for i, db := range dbs {
		if servers[i], err = openServer(i, db, o); err != nil {
			return err
		}
		if servers[i].Name != "mysql" {
			return nil
		}
		for j, other := range dbs[:i] {
			if db.Pool == other.Pool { // which may have one connection
				return oneServer(j, i)
			}
		}
	}
	for i := range servers {
		err := servers[i].Do(ctx, func(c *sqldb.Conn) error {
			return alone(ctx, c, i, servers)
		})
		if err != nil && !errors.Is(err, segment.ErrOptions) {
			err = fmt.Errorf("sqltable: ticket server %d: %w", i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// alone takes a lock on server i and returns an error if a later server has it too.
func alone(ctx context.Context, c *sqldb.Conn, i int, servers []*sqldb.DB) error {
	name := "uidring " + rand.Text()
	var got sql.NullInt64
	if err := c.Row(ctx, "SELECT GET_LOCK(?, 0)", []any{name}, &got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return fmt.Errorf("GET_LOCK is %v, want 1", got.Int64)
	}
	var err error
	for j := i + 1; j < len(servers) && err == nil; j++ {
		var holder sql.NullInt64
		err = servers[j].Do(ctx, func(c *sqldb.Conn) error {
			return c.Row(ctx, "SELECT IS_USED_LOCK(?)", []any{name}, &holder)
		})
		switch {
		case err != nil:
			err = fmt.Errorf("server %d: %w", j, err)
		case holder.Valid:
			err = oneServer(i, j)
		}
	}
	var released sql.NullInt64
	if e := c.Row(ctx, "SELECT RELEASE_LOCK(?)", []any{name}, &released); e != nil {
		c.Discard() // the server then drops the lock
	}
	return err
}

func oneServer(i, j int) error {
	return fmt.Errorf("sqltable: %w: ticket servers %d and %d are one server, want each once",
		segment.ErrOptions, i, j)
}
