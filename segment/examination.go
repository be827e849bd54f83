package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// examination makes sure that what MySQL answers to a counter's update holds. Both faults that it looks for let the update succeed
// and the counter stay where it was, so that the next process gets the same range: a session with autocommit off, whose update
// is rolled back when the pool closes the connection, and a counter narrower than an int64, which a server without strict mode
// cuts at its maximum. The update itself could ask for @@autocommit, but a server that replicates statements calls such an
// update unsafe in its log, each time.
//
// Other databases have neither fault. The zero value has not passed.
type examination struct {
	passed atomic.Bool
	mute   atomic.Bool // the table has a trigger: see errMute
}

// errMute says that an update was made whose LAST_INSERT_ID did not arrive, because a trigger on the table ended in between. The
// ids that it claimed are a gap; from then on the row lock is what tells the range.
var errMute = errors.New("segment: the update's LAST_INSERT_ID is hidden by a trigger")

// pass examines the server, unless it has passed.
func (e *examination) pass(ctx context.Context, s store, table, counter string) error {
	if s.dialect != dialectMySQL || e.passed.Load() {
		return nil
	}
	var (
		autocommit int64
		typ        sql.NullString // not there for a temporary table
	)
	schema, name := schemaTable(table)
	err := s.row(ctx, "SELECT @@session.autocommit, (SELECT data_type FROM information_schema.columns"+
		" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND column_name = ?)", []any{schema, name, counter}, &autocommit, &typ)
	switch {
	case err != nil:
		return err
	case autocommit == 0:
		return fmt.Errorf("%w: autocommit is off for the pool's connections, want it on: what an open transaction claims is handed out again", ErrOptions)
	case typ.Valid && typ.String != "bigint":
		return fmt.Errorf("%w: column %s of table %s is %s, want bigint", ErrOptions, counter, table, typ.String)
	}
	e.passed.Store(true)
	return nil
}

// again has the server examined again, unless err is what only an examined one answers: after a failure another server may be
// under the same address.
func (e *examination) again(err error) {
	if !isPermanent(err) {
		e.passed.Store(false)
	}
}

// schemaTable splits schema.table. The schema of a bare table is nil.
func schemaTable(table string) (schema any, name string) {
	if before, after, ok := strings.Cut(table, "."); ok {
		return before, after
	}
	return nil, table
}
