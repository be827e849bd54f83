package uid

import (
	"math"
	"math/bits"
)

// Scatter returns id with its 63 bits below the sign in reverse order. It is its own inverse:
// id.Scatter().Scatter() is id. Distinct ids stay distinct, and none becomes negative. It is for
// the primary keys of databases that shard by ranges of the key, such as TiDB, CockroachDB and
// Spanner: ids that grow all go to the last range, and scattered ones to all of them, because the
// bits that change fastest come first.
//
// The order by time is given up, and with it everything that rests on it: a span of time is no span
// of keys, and a B-tree such as InnoDB's gets its rows in random places. Leave ids as they are in
// MySQL, MariaDB, PostgreSQL and SQLite. Parse, bounds and codecs take the id, not what Scatter
// makes of it, so scatter at the edge of the database. A negative number is no id; it stays
// negative.
func (id ID) Scatter() ID {
	return id&math.MinInt64 | ID(bits.Reverse64(uint64(id))>>1)
}
