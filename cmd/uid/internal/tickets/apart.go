package tickets

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// apart returns an error if two of the servers are one. Their names do not tell: 127.0.0.1 and
// localhost are two. A lock that one session holds by a random name shows on the same server only.
// It changes no table.
func (t *Set) apart(ctx context.Context) error {
	for i, s := range t.servers {
		err := s.changing(ctx, func(c *sqldb.Conn) error {
			return s.alone(ctx, c, t.servers[i+1:])
		})
		if err != nil {
			return s.named(err)
		}
	}
	return nil
}

// alone takes a lock on the server and returns an error if one of others has it too.
func (s *server) alone(ctx context.Context, c *sqldb.Conn, others []*server) error {
	name := "uidring " + rand.Text()
	var got sql.NullInt64
	if err := c.Row(ctx, "SELECT GET_LOCK(?, 0)", []any{name}, &got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return fmt.Errorf("GET_LOCK is %v, want 1", got.Int64)
	}
	var err error
	for _, other := range others {
		var holder sql.NullInt64
		err = other.changing(ctx, func(c *sqldb.Conn) error {
			return c.Row(ctx, "SELECT IS_USED_LOCK(?)", []any{name}, &holder)
		})
		switch {
		case err != nil:
			err = fmt.Errorf("server %d: %w", other.index, err)
		case holder.Valid:
			err = fmt.Errorf("%w: ticket servers %d and %d are one server, want each once",
				segment.ErrOptions, s.index, other.index)
		}
		if err != nil {
			break
		}
	}
	var released sql.NullInt64
	if e := c.Row(ctx, "SELECT RELEASE_LOCK(?)", []any{name}, &released); e != nil {
		c.Discard() // the server then drops the lock
	}
	return err
}
