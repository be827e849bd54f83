package sqldb

import (
	"strconv"
	"strings"
)

// Dialect is what differs between the databases. Times in rows are the database's, because the
// clocks of the machines that write them differ.
type Dialect struct {
	// Of GORM's dialector: "mysql", which is MariaDB as well, "postgres" or "sqlite".
	Name      string
	ForUpdate string // the end of a SELECT that locks its rows and shows what is committed

	clear     string // ends the transaction that is open in a session, if one is
	end       string // commits what statements have not committed by themselves; empty: nothing
	nowMillis string // the current time in unix milliseconds, whatever the session's time zone
	now       string // the current time as the tables' columns hold it
	today     string // the current day, UTC
	seconds   string // a column of such times in unix seconds; $ stands for the column
	numbered  bool   // placeholders are $1, $2, ... instead of ?
	returning bool   // the key of a new row comes from RETURNING, not from the driver
}

// dialects are the supported ones, by Name.
var dialects = map[string]Dialect{
	"mysql": {
		Name:      "mysql",
		ForUpdate: " FOR UPDATE",
		clear:     "COMMIT",
		end:       "COMMIT", // which does nothing with autocommit
		// UNIX_TIMESTAMP(NOW(3)) would go through local time and be an hour off when clocks are set
		// back.
		nowMillis: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000",
		now:       "UTC_TIMESTAMP()",
		today:     "UTC_DATE()",
		seconds:   "TIMESTAMPDIFF(SECOND, '1970-01-01', $)",
	},
	"postgres": {
		Name:      "postgres",
		ForUpdate: " FOR UPDATE",
		clear:     "BEGIN; COMMIT", // a COMMIT alone is a warning in the server's log
		nowMillis: "CAST(FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000) AS BIGINT)",
		now:       "CLOCK_TIMESTAMP()",
		today:     "CAST(CLOCK_TIMESTAMP() AT TIME ZONE 'UTC' AS DATE)",
		seconds:   "CAST(FLOOR(EXTRACT(EPOCH FROM $)) AS BIGINT)",
		numbered:  true,
		returning: true,
	},
	"sqlite": {
		Name:      "sqlite",
		clear:     "BEGIN; COMMIT", // refused inside a transaction
		nowMillis: "CAST((JULIANDAY('now') - 2440587.5) * 86400000 AS INTEGER)",
		now:       "CURRENT_TIMESTAMP",
		today:     "CURRENT_DATE",
		seconds:   "CAST(STRFTIME('%s', $) AS INTEGER)",
	},
}

// Expand fills in a statement's placeholders: {nowMillis}, {now}, {today} and {seconds COLUMN} with
// the dialect's expressions, and ? with $1, $2, ... where the dialect wants that. Statements hold
// no other braces or question marks. Every statement of a Conn is expanded.
func (d Dialect) Expand(query string) string {
	query = strings.NewReplacer("{nowMillis}", d.nowMillis, "{now}", d.now, "{today}",
		d.today).Replace(query)
	for {
		before, rest, found := strings.Cut(query, "{seconds ")
		if !found {
			break
		}
		column, after, _ := strings.Cut(rest, "}")
		query = before + strings.ReplaceAll(d.seconds, "$", column) + after
	}
	if !d.numbered {
		return query
	}
	var b strings.Builder
	for i := 1; ; i++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(i))
		query = after
	}
}
