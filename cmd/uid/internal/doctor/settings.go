package doctor

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/human"
)

// fault is a harmful setting. Its query returns a name and a value if the database has it, and no
// row otherwise. The two replace {name} and {value} in text and advice.
type fault struct {
	verdict             Verdict
	query, text, advice string
}

// settings are the faults that one check looks for on one kind of database.
type settings struct {
	dialect, check string
	good           string // the text of the finding if there is no fault
	faults         []fault
}

const (
	// forgets is the text for settings with which a server forgets commits that it has answered.
	// If it forgets a claim, it hands out the worker id or the range again while the owner still
	// stamps ids.
	forgets = "{name} is {value}: a crash of the server's machine may forget claims, and " +
		"a worker id or window would be handed out twice"

	// loses is the text for those with which the end of the server's process is enough.
	loses = "{name} is {value}: a kill or crash of the server's process forgets claims, and " +
		"a worker id or window would be handed out twice"

	// offRoles are the roles and databases that have synchronous_commit off for this database, as
	// ALTER ROLE and ALTER DATABASE set it: pg_settings shows those of the session that asks only.
	// What a role has for this database counts before what it has for all.
	offRoles = "SELECT 'synchronous_commit', STRING_AGG(" +
		"CASE WHEN s.setrole <> 0 OR s.setdatabase = 0 THEN " +
		"'ALTER ROLE ' || COALESCE(r.rolname, 'ALL') || " +
		"CASE WHEN s.setdatabase = 0 THEN '' ELSE ' IN DATABASE ' || d.datname END " +
		"ELSE 'ALTER DATABASE ' || d.datname END, ', ' ORDER BY r.rolname, s.setdatabase) " +
		"FROM pg_db_role_setting AS s CROSS JOIN UNNEST(s.setconfig) AS c " +
		"LEFT JOIN pg_roles AS r ON r.oid = s.setrole " +
		"LEFT JOIN pg_database AS d ON d.datname = CURRENT_DATABASE() " +
		"WHERE s.setdatabase IN (0, d.oid) AND " +
		"LOWER(c) IN ('synchronous_commit=off', 'synchronous_commit=false', " +
		"'synchronous_commit=no', 'synchronous_commit=0') AND NOT (s.setdatabase = 0 AND EXISTS (" +
		"SELECT 1 FROM pg_db_role_setting AS o CROSS JOIN UNNEST(o.setconfig) AS v " +
		"WHERE o.setdatabase = d.oid AND o.setrole = s.setrole AND " +
		"LOWER(v) LIKE 'synchronous_commit=%')) HAVING COUNT(*) > 0"

	// ownCommit has a row where synchronous_commit was set for the account or the DSN that asks,
	// and neither the database nor ALTER ROLE ALL has one: no statement shows such a session what
	// the server has, which the sessions of other accounts get.
	ownCommit = "SELECT name, setting FROM pg_settings WHERE name = 'synchronous_commit' AND " +
		"setting <> 'off' AND source IN ('user', 'database user', 'client') AND NOT EXISTS (" +
		"SELECT 1 FROM pg_db_role_setting AS o CROSS JOIN UNNEST(o.setconfig) AS v " +
		"LEFT JOIN pg_database AS d ON d.oid = o.setdatabase " +
		"WHERE o.setrole = 0 AND COALESCE(d.datname, CURRENT_DATABASE()) = CURRENT_DATABASE() " +
		"AND LOWER(v) LIKE 'synchronous_commit=%')"

	// recomputes matches the versions whose InnoDB forgets the next key at a restart: those before
	// MySQL 8.0 and MariaDB 10.2.4.
	recomputes = `^([1-7][.]|10[.][01][.]|10[.]2[.][0-3]-)`

	sequence = "SELECT seqrelid::regclass::text, (seqincrement * seqcache)::text " +
		"FROM pg_sequence " +
		"WHERE seqrelid = pg_get_serial_sequence('worker_node', 'id')::regclass AND "
)

func allSettings() []settings {
	const (
		oneEach = "every start uses up one worker id"
		onDisk  = "a commit is on disk before it is answered"

		indexed = "a start finds a free worker id without reading the others"
		noIndex = "WORKER_LEASE has no index on NAMESPACE and UNTIL_MS: a start reads all rows"

		makeIndex = "CREATE INDEX WORKER_LEASE_FREE ON WORKER_LEASE (NAMESPACE, UNTIL_MS), or " +
			"workernode.Migrate by an account that may"
	)
	// A server without the variable returns no row.
	variable := func(name, wrong string) string {
		return "SHOW GLOBAL VARIABLES WHERE Variable_name = '" + name + "' AND Value " + wrong
	}
	return []settings{
		{dsn.MySQL, "AUTO_INCREMENT", oneEach, []fault{
			{Fail, "SELECT COLUMN_NAME, EXTRA FROM information_schema.COLUMNS " +
				"WHERE TABLE_SCHEMA = DATABASE() AND UPPER(TABLE_NAME) = 'WORKER_NODE' AND " +
				"UPPER(COLUMN_NAME) = 'ID' AND LOWER(EXTRA) NOT LIKE '%auto_increment%'",
				"WORKER_NODE.ID is not AUTO_INCREMENT: every process would be worker 0",
				"uid schema prints the table as it should be"},
			{Warn, "SHOW SESSION VARIABLES " +
				"WHERE Variable_name = 'auto_increment_increment' AND Value > 1",
				"every start uses up {value} worker ids",
				"SET SESSION auto_increment_increment = 1 for this account, or lease worker ids"},
			{Warn, variable("wsrep_on", "= 'ON'"),
				"Galera: every node counts in steps of the cluster's size",
				"worker ids are unique but used up that much faster; lease them"},
			{Warn, "SELECT '', VERSION() FROM DUAL " +
				"WHERE VERSION() REGEXP '" + recomputes + "' AND " +
				"NOT VERSION() REGEXP 'TiDB|OceanBase|PXC|TDDL|PolarDB|MatrixOne|Vitess'",
				"InnoDB of {value} recomputes the next key from the rows at each restart",
				"never delete rows of WORKER_NODE: a deleted worker id would be handed out again"},
		}},
		{dsn.MySQL, "index WORKER_LEASE", indexed, []fault{
			{Warn, "SELECT '', '' FROM DUAL " +
				"WHERE NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS " +
				"WHERE TABLE_SCHEMA = DATABASE() AND UPPER(TABLE_NAME) = 'WORKER_LEASE' AND " +
				"SEQ_IN_INDEX = 2 AND UPPER(COLUMN_NAME) = 'UNTIL_MS')", noIndex, makeIndex},
		}},
		{dsn.MySQL, "durability", onDisk, []fault{
			{Fail, "SELECT GROUP_CONCAT(TABLE_NAME), GROUP_CONCAT(DISTINCT ENGINE) " +
				"FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND " +
				"UPPER(TABLE_NAME) IN " +
				"('WORKER_NODE', 'WORKER_LEASE', 'LEAF_ALLOC', 'T_SEQUENCE', 'TICKET', " +
				"'NUMBER_NAME', 'NUMBER_GAPLESS', 'SEGMENT_MOVED') AND " +
				"UPPER(ENGINE) IN ('MEMORY', 'MYISAM', 'ARIA', 'CSV', 'BLACKHOLE') " +
				"HAVING COUNT(*) > 0",
				"{name} is in {value}, which forgets what it has answered at a restart or a crash",
				"ALTER TABLE ... ENGINE = InnoDB"},
			{Fail, variable("innodb_flush_log_at_trx_commit", "= '0'"), loses,
				"SET GLOBAL {name} = 1, and in the server's configuration"},
			{Warn, variable("innodb_flush_log_at_trx_commit", "NOT IN ('0', '1')"), forgets,
				"SET GLOBAL {name} = 1, and in the server's configuration"},
			{Fail, variable("innodb_flush_method", "= 'nosync'"), forgets,
				"set {name} = fsync or O_DIRECT in the server's configuration"},
			// Recovery rolls back what InnoDB has prepared if the binary log does not have it.
			{Warn, variable("sync_binlog", "<> '1' AND @@log_bin = 1"), forgets,
				"SET GLOBAL {name} = 1, and in the server's configuration"},
		}},
		{dsn.Postgres, "sequence", oneEach, []fault{
			{Fail, "SELECT '', '' WHERE pg_get_serial_sequence('worker_node', 'id') IS NULL",
				"WORKER_NODE.ID is not generated by a sequence",
				"uid schema --dialect postgres prints the table as it should be"},
			{Fail, sequence + "seqcycle",
				"the sequence cycles: worker ids would be handed out again",
				"ALTER SEQUENCE {name} NO CYCLE"},
			{Warn, sequence + "seqincrement * seqcache > 1",
				"a start may use up {value} worker ids",
				"ALTER SEQUENCE {name} INCREMENT 1 CACHE 1, or lease worker ids"},
		}},
		{dsn.Postgres, "index WORKER_LEASE", indexed, []fault{
			{Warn, "SELECT '', '' WHERE NOT EXISTS (SELECT 1 FROM pg_indexes WHERE tablename = " +
				"'worker_lease' AND indexdef LIKE '%(namespace, until_ms%')", noIndex, makeIndex},
		}},
		{dsn.Postgres, "durability", onDisk, []fault{
			{Fail, "SELECT STRING_AGG(relname, ','), 'UNLOGGED' FROM pg_class WHERE oid IN " +
				"(to_regclass('worker_node'), to_regclass('worker_lease'), " +
				"to_regclass('leaf_alloc'), to_regclass('t_sequence'), " +
				"to_regclass('ticket'), to_regclass('number_name'), " +
				"to_regclass('number_gapless'), to_regclass('segment_moved')) AND " +
				"relpersistence <> 'p' HAVING COUNT(*) > 0",
				"{name} is {value}: a crash of the server empties it",
				"ALTER TABLE ... SET LOGGED"},
			{Warn, "SELECT name, setting FROM pg_settings " +
				"WHERE name = 'fsync' AND setting = 'off'", forgets,
				"set fsync = on in postgresql.conf"},
			// With every other value the commit is on the local disk before it is answered.
			{Fail, "SELECT name, setting FROM pg_settings WHERE name = 'synchronous_commit' AND " +
				"setting = 'off'", loses,
				"ALTER ROLE or ALTER DATABASE ... SET {name} = on"},
			{Fail, offRoles, "{name} is off by {value}: a kill or crash of the server's process " +
				"forgets claims of such sessions, and a worker id or window would be handed out " +
				"twice", "SET {name} = on for the roles and databases that use the tables"},
			{Warn, ownCommit, "{name} is {value} for this account, which hides the server's: " +
				"where that is off, a kill or crash of the server's process forgets claims of " +
				"other accounts", "ALTER DATABASE ... SET {name} = on, which all accounts get"},
		}},
		{dsn.SQLite, "AUTOINCREMENT", "deleted worker ids stay used", []fault{
			{Fail, "SELECT name, type FROM sqlite_master WHERE UPPER(name) = 'WORKER_NODE' AND " +
				"type <> 'table'", "WORKER_NODE is a {value}, not a table", ""},
			{Warn, "SELECT name, type FROM sqlite_master WHERE UPPER(name) = 'WORKER_NODE' AND " +
				"UPPER(sql) NOT LIKE '%AUTOINCREMENT%'",
				"WORKER_NODE.ID has none: the worker id of a deleted row is handed out again",
				"never delete rows; uid schema --dialect sqlite prints the table as it should be"},
		}},
	}
}

// settings returns the checks for settings that make the database skip keys, hand one out twice or
// forget commits. If name is not empty, it returns only the check of that name.
func (p *Patient) settings(name string) (checks []check) {
	for _, s := range allSettings() {
		if s.dialect == p.DB.Name() && (name == "" || name == s.check) {
			look := func(ctx context.Context) ([]Finding, error) { return p.look(ctx, s) }
			checks = append(checks, check{s.check, look})
		}
	}
	return checks
}

// look looks for the faults of s.
func (p *Patient) look(ctx context.Context, s settings) (found []Finding, err error) {
	for _, f := range s.faults {
		var name, value string
		switch err := p.query(ctx, []any{&name, &value}, f.query); {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return found, err
		}
		r := strings.NewReplacer("{name}", name, "{value}", human.Printable(value))
		found = append(found,
			Finding{Verdict: f.verdict, Text: r.Replace(f.text), Advice: r.Replace(f.advice)})
	}
	if found == nil {
		found = []Finding{ok("%s", s.good)}
	}
	return found, nil
}
