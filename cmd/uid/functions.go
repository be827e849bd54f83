package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// idSQL is how a dialect computes with ids. The arguments of micros and ticks are the bits below
// the time, FirstTick, the tick in microseconds and the epoch.
type idSQL struct {
	instant string // a time
	micros  string // the time of id
	field   string // bits of id: the bits below, a mask
	ticks   string // the lowest id of the tick of t, or of the first tick
	create  string // the three functions of the cases
}

// idDialects are the dialects with stored functions. MySQL's DATETIME is in UTC, whatever the time
// zone of the session. PostgreSQL inlines functions that consist of what does not depend on the
// session, such as sums of a TIMESTAMP without a time zone.
var idDialects = map[string]idSQL{
	"mysql": {
		instant: "TIMESTAMP'%s'",
		micros: "TIMESTAMPADD(MICROSECOND, (CAST(id >> %[1]d AS SIGNED) - %[2]d) * %[3]d, " +
			"TIMESTAMP'%[4]s')",
		field: "CAST((id >> %d) & %d AS SIGNED)",
		ticks: "CAST((%[2]d + GREATEST(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'%[4]s', t), 0) " +
			"DIV %[3]d) << %[1]d AS SIGNED)",
		create: `DROP FUNCTION IF EXISTS uid_time;
CREATE FUNCTION uid_time(id BIGINT) RETURNS DATETIME(6) DETERMINISTIC NO SQL RETURN %s;
DROP FUNCTION IF EXISTS uid_worker;
CREATE FUNCTION uid_worker(id BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL RETURN %s;
DROP FUNCTION IF EXISTS uid_first;
CREATE FUNCTION uid_first(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL RETURN %s;
`,
	},
	"postgres": {
		instant: "TIMESTAMPTZ '%s+00'",
		micros: "(TIMESTAMP '%[4]s'" +
			" + ((id >> %[1]d) - %[2]d) * %[3]d / 3600000000 * INTERVAL '1 hour'" +
			" + ((id >> %[1]d) - %[2]d) * %[3]d %% 3600000000 * INTERVAL '1 microsecond')" +
			" AT TIME ZONE 'UTC'",
		field: "(id >> %d) & %d",
		ticks: "(%[2]d + GREATEST(CAST(EXTRACT(EPOCH FROM t - TIMESTAMPTZ '%[4]s+00') * 1000000 " +
			"AS BIGINT), 0) / %[3]d) << %[1]d",
		create: `CREATE OR REPLACE FUNCTION uid_time(id BIGINT) RETURNS TIMESTAMPTZ
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT %s $$;
CREATE OR REPLACE FUNCTION uid_worker(id BIGINT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT %s $$;
CREATE OR REPLACE FUNCTION uid_first(t TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT %s $$;
`,
	},
}

// The times that the functions know, in the six places that both databases have.
const microLayout = "2006-01-02 15:04:05.000000"

var (
	earliest = time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// functions returns the SQL that creates uid_time, uid_worker and uid_first: each a CASE over the
// eras. They answer as Parse and First do, and with NULL for an id that no layout has (below 0,
// above the last era, between two eras) or whose time the databases do not.
func functions(dialect string, eras *bitsalloc.Eras) (string, error) {
	d, ok := idDialects[dialect]
	if !ok {
		return "", usagef("--functions is for mysql and postgres, --dialect is %s", dialect)
	}
	var made, worker, first []string
	all := eras.All()
	for i, a := range all {
		l := a.Layout()
		if l.Tick%time.Microsecond != 0 || l.Epoch.Nanosecond()%1000 != 0 {
			return "", usagef("--layout %s has a tick of %v and the epoch %s, want whole "+
				"microseconds for --functions", l, l.Tick, l.Epoch.Format(time.RFC3339Nano))
		}
		// The ids that Parse takes for this era's, and the instant up to which First does.
		shift := l.WorkerBits + l.SeqBits + l.GeneBits
		lo, hi, until := int64(0), a.MaxID(), a.Expires()
		if i > 0 {
			lo = a.First(l.Epoch)
		}
		if i+1 < len(all) {
			next := all[i+1].Layout().Epoch
			hi, until = min(all[i+1].First(next)-1, hi), a.TimeAt(a.TickAt(next))
		}
		args := []any{shift, l.FirstTick, l.Tick.Microseconds(), l.Epoch.UTC().Format(microLayout)}
		known := max(lo, max(a.TickAt(earliest)+1, 0)<<shift)
		last := min(hi, min(a.TickAt(latest), a.MaxTick())<<shift|(1<<shift-1))
		made = append(made, fmt.Sprintf("WHEN id BETWEEN %d AND %d THEN ", known, last)+
			fmt.Sprintf(d.micros, args...))
		worker = append(worker, fmt.Sprintf("WHEN id BETWEEN %d AND %d THEN ", lo, hi)+
			fmt.Sprintf(d.field, shift-l.WorkerBits, a.MaxWorker()))
		when := "WHEN t IS NOT NULL THEN "
		if !until.After(latest) {
			when = fmt.Sprintf("WHEN t < "+d.instant+" THEN ", until.Format(microLayout))
		}
		first = append(first, when+fmt.Sprintf(d.ticks, args...))
	}
	if end := all[len(all)-1]; !end.Expires().After(latest) {
		first = append(first, fmt.Sprintf("WHEN t IS NOT NULL THEN %d", end.MaxID()))
	}
	cases := func(c []string) string { return "CASE\n  " + strings.Join(c, "\n  ") + "\nEND" }
	return "-- " + eras.String() + "\n" +
		fmt.Sprintf(d.create, cases(made), cases(worker), cases(first)), nil
}
