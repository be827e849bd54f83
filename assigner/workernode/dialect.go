package workernode

import (
	"strconv"
	"strings"
)

// dialect is what differs between the databases. Times in rows are the database's, because the clocks of the
// machines that write them differ.
type dialect struct {
	name      string
	nowMillis string // the present in unix milliseconds, whatever the session's time zone
	now       string // the present as the tables' columns hold it
	today     string // the present day, UTC
	seconds   string // a column of such times in unix seconds; $ stands for the column
	numbered  bool   // placeholders are $1, $2, ... instead of ?
	returning bool   // the key of a new row comes from RETURNING, not from the driver
	settings  string // asks for the settings that checkSession judges, or empty where a session can do no harm
}

// dialects are the supported ones, by the name of GORM's dialector.
var dialects = map[string]dialect{
	"mysql": {
		name: "mysql",
		// UNIX_TIMESTAMP(NOW(3)) would go through local time and be an hour off when clocks are set back.
		nowMillis: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000",
		now:       "UTC_TIMESTAMP()",
		today:     "UTC_DATE()",
		seconds:   "TIMESTAMPDIFF(SECOND, '1970-01-01', $)",
		settings:  "SHOW SESSION VARIABLES WHERE Variable_name IN ('autocommit', 'transaction_isolation', 'tx_isolation')",
	},
	"postgres": {
		name:      "postgres",
		nowMillis: "CAST(FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000) AS BIGINT)",
		now:       "CLOCK_TIMESTAMP()",
		today:     "CAST(CLOCK_TIMESTAMP() AT TIME ZONE 'UTC' AS DATE)",
		seconds:   "CAST(FLOOR(EXTRACT(EPOCH FROM $)) AS BIGINT)",
		numbered:  true,
		returning: true,
	},
	"sqlite": {
		name:      "sqlite",
		nowMillis: "CAST((JULIANDAY('now') - 2440587.5) * 86400000 AS INTEGER)",
		now:       "CURRENT_TIMESTAMP",
		today:     "CURRENT_DATE",
		seconds:   "CAST(STRFTIME('%s', $) AS INTEGER)",
	},
}

// expand fills in a statement's placeholders: {nowMillis}, {now}, {today} and {seconds COLUMN} with the dialect's expressions, and ? with
// $1, $2, ... where the dialect wants that. Statements hold no other braces or question marks.
func (d dialect) expand(query string) string {
	query = strings.NewReplacer("{nowMillis}", d.nowMillis, "{now}", d.now, "{today}", d.today).Replace(query)
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
