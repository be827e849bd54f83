package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/sqldb"
)

// perServer is the most connections that one "uid serve" opens.
const perServer = 16

// connections checks that the server has room for the connections of another "uid serve". Without
// any, a fetch fails while ids are needed.
func (p *Patient) connections(ctx context.Context) ([]Finding, error) {
	var most, used int64
	var err error
	switch p.DB.Name() {
	case dsn.Postgres:
		err = p.query(ctx, []any{&most, &used}, "SELECT "+
			"CAST(current_setting('max_connections') AS BIGINT) - "+
			"CAST(current_setting('superuser_reserved_connections') AS BIGINT), "+
			"(SELECT COUNT(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "+
			"AND datname IS NOT NULL)")
	case dsn.MySQL:
		var name string
		err = p.query(ctx, []any{&name, &most}, "SHOW GLOBAL VARIABLES LIKE 'max_connections'")
		if err == nil {
			err = p.query(ctx, []any{&name, &used}, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")
			used-- // this one
		}
	default:
		return nil, nil
	}
	switch free := max(most-used, 0); {
	case errors.Is(err, sql.ErrNoRows), p.failed(err, sqldb.Denied):
		return nil, nil // a server that does not tell
	case err != nil:
		return nil, err
	case free < perServer:
		return []Finding{warn(fmt.Sprintf("%s of %s are free, and a uid serve opens up to %d",
			human.Count(free), human.Count(most), perServer),
			"raise max_connections, or bound the pools of the programs")}, nil
	default:
		return []Finding{ok("%s of %s are free", human.Count(free), human.Count(most))}, nil
	}
}
