package main

import (
	"context"
	"strings"
)

// durability finds settings with which a commit that was answered is forgotten when the server's machine crashes. Claims
// rest on commits: the worker id or the range of a forgotten one is handed out again while its owner still stamps ids.
func (pt *patient) durability(ctx context.Context) []finding {
	switch pt.d.dialect {
	case mysqlDialect:
		return pt.mysqlDurability(ctx)
	case postgresDialect:
		return pt.postgresDurability(ctx)
	default:
		return nil // SQLite's synchronous is each connection's own, and FULL where nobody lowers it
	}
}

const durabilityCheck = "durability"

// forgetful is the finding of a setting that loses commits, and says what to set instead.
func forgetful(setting, advice string) finding {
	return finding{durabilityCheck, warn,
		setting + ": a crash of the server's machine may forget claims, and a worker id or window would be handed out twice", advice}
}

// mysqlDurability looks at the two logs that a commit goes through, and at sessions that do not commit by themselves. A
// setting that the server does not have is none that could be wrong.
func (pt *patient) mysqlDurability(ctx context.Context) []finding {
	var found []finding
	if v, err := pt.variable(ctx, "innodb_flush_log_at_trx_commit"); err == nil && v != "1" {
		found = append(found, forgetful("innodb_flush_log_at_trx_commit is "+printable(v), "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's configuration"))
	}
	if on, err := pt.variable(ctx, "log_bin"); err == nil && strings.EqualFold(on, "ON") {
		// Recovery takes back what InnoDB has prepared and the binary log does not hold.
		if v, err := pt.variable(ctx, "sync_binlog"); err == nil && v != "1" {
			found = append(found, forgetful("sync_binlog is "+printable(v), "SET GLOBAL sync_binlog = 1, and in the server's configuration"))
		}
	}
	if v, err := pt.variable(ctx, "autocommit"); err == nil && (strings.EqualFold(v, "OFF") || v == "0") {
		found = append(found, finding{durabilityCheck, warn,
			"autocommit is off for new sessions: what a session without it claims is forgotten with its connection, so such sessions are refused",
			"open the database with workernode.OpenMySQL, which turns it on, or add autocommit=1 to the DSN"})
	}
	if found == nil {
		found = append(found, finding{durabilityCheck, good, "a commit is on disk before it is answered", ""})
	}
	return found
}

// postgresDurability looks at fsync, which is the server's, and at synchronous_commit, which roles and databases may set. Of
// the latter's values only off answers before the local disk has the commit.
func (pt *patient) postgresDurability(ctx context.Context) []finding {
	var fsync, commit string
	if err := pt.query(ctx, []any{&fsync, &commit}, "SELECT current_setting('fsync'), current_setting('synchronous_commit')"); err != nil {
		return []finding{pt.failed(durabilityCheck, err)}
	}
	var found []finding
	if fsync == "off" {
		found = append(found, forgetful("fsync is off", "set fsync = on in postgresql.conf"))
	}
	if commit == "off" {
		found = append(found, forgetful("synchronous_commit is off", "ALTER ROLE or ALTER DATABASE ... SET synchronous_commit = on"))
	}
	if found == nil {
		found = append(found, finding{durabilityCheck, good, "a commit is on disk before it is answered", ""})
	}
	return found
}
