package workernode

import (
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/uidring/uidring/internal/sqldb"
)

// Hosts returns a connector, for sql.OpenDB, of several servers of which one at a time can be
// written to, such as a PostgreSQL and its standbys. Each of hosts connects to one of them, and
// fails if that cannot be written to: with pgx by target_session_attrs=read-write. OpenMySQL does
// the same by itself for a DSN with several hosts.
//
// The host that was connected to last is tried first, and after half a second without an answer the
// next one as well, each for 2 seconds at most. While a statement of this library takes longer than
// 750 ms, the other hosts are asked whether one of them has taken over. If so, and the first one
// keeps silent, the statement ends, and is tried again on the new primary. A slow server that has
// no successor is waited for.
//
// The connector is safe for concurrent use, and has no goroutine but while it connects or a
// statement waits.
func Hosts(hosts ...sqldriver.Connector) (sqldriver.Connector, error) {
	if len(hosts) == 0 {
		return nil, errors.New("workernode: there is no host, want 1 or more")
	}
	all := make([]sqldb.Host, len(hosts))
	for i, h := range hosts {
		if h == nil {
			return nil, fmt.Errorf("workernode: the connector of host %d of %d is nil", i+1,
				len(hosts))
		}
		all[i] = sqldb.Host{Addr: fmt.Sprint("host ", i+1), Connector: h}
	}
	return sqldb.NewHosts(all), nil
}
