package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestDoctorSegments: a database that has only segment tables is checked for segments only. A table of
// another application with such a name is not a segment table.
func TestDoctorSegments(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*dbtest.Server{
		"mysql": servers.MariaDB(t), "postgres": servers.Postgres(t),
	} {
		for _, table := range []string{"leaf_alloc", "t_sequence", "ticket"} {
			t.Run(name+" "+table, func(t *testing.T) {
				t.Parallel()
				b, db := newBench(t), s.CreateDB(t)
				b.env["UID_DSN"] = s.DSN(db)
				s.Query(t, db, "CREATE TABLE "+table+" (id INT)")
				b.check(t, exitFailure, "fail  table WORKER_NODE", "", "doctor")
				s.Query(t, db, "DROP TABLE "+table)
				s.Query(t, db, b.check(t, exitOK, "", "", "schema", "--dialect", name, "--table", table).stdout)
				r := b.check(t, exitOK, "no WORKER_NODE and no WORKER_LEASE", "", "doctor")
				for _, check := range []string{"server", "durability"} {
					if !strings.Contains(r.stdout, "  "+check) {
						t.Errorf("doctor leaves out %s:\n%s", check, r.stdout)
					}
				}
				for _, other := range []string{"leaf_alloc", "t_sequence", "ticket"} {
					if got := strings.Contains(r.stdout, "\nok    "+other); got != (table == other) {
						t.Errorf("doctor looks at %s: %v\n%s", other, got, r.stdout)
					}
				}
				// With one of the other tables it is not "segments only".
				s.Query(t, db, b.check(t, exitOK, "", "", "schema", "--dialect", name,
					"--table", "WORKER_LEASE").stdout)
				b.check(t, exitFailure, "fail  table WORKER_NODE", "", "doctor")
			})
		}
	}
}

// TestDoctorLeafAlloc: the doctor finds what keeps leaf_alloc from giving ranges, with and without the
// tables of worker ids.
func TestDoctorLeafAlloc(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	for _, c := range []struct {
		hurt, want string
		code       int
	}{
		{"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 1), ('b', 2, 2147483647)",
			"ok    leaf_alloc   SELECT, UPDATE; 2 tags\n", exitOK},
		{row(1, 0), `tag "a" has step 0, want 1..2147483648`, exitFailure},
		{row(1, -5), `tag "a" has step -5, want 1..`, exitFailure},
		{row(-1, 5), `tag "a" has max_id -1, want 1 or more`, exitFailure},
		{row(0, 5), `warn  leaf_alloc   tag "a" has max_id 0`, exitOK},
		{row(math.MaxInt64-5, 5), "5 ids are left", exitOK},
		{row(math.MaxInt64-4, 5), "no range is left", exitFailure},
		{row(math.MaxInt64-1<<40, 5), "SELECT, UPDATE; 1 tag\n", exitOK},
		{row(math.MaxInt64-1<<40+1, 5), "1,099,511,627,775 ids are left", exitOK},
		{"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 0), ('b', 1, 0), ('c', 1, 0)",
			"and the same of 2 other tags\n", exitFailure},
		{"ALTER TABLE leaf_alloc DROP PRIMARY KEY; " + row(1, 5) + "; " + row(1, 5),
			`it has several rows for 1 key`, exitFailure},
		{"ALTER TABLE leaf_alloc ENGINE = MyISAM", "leaf_alloc is in MyISAM", exitFailure},
		{"ALTER TABLE leaf_alloc MODIFY max_id INT NOT NULL", "column max_id is int, want bigint",
			exitFailure},
		{"ALTER TABLE leaf_alloc DROP step", "--table leaf_alloc prints the table", exitFailure},
	} {
		t.Run(c.hurt, func(t *testing.T) {
			t.Parallel()
			b, db := newBench(t), s.CreateDB(t)
			b.now = time.Now()
			b.env["UID_DSN"] = s.DSN(db)
			b.check(t, exitOK, "", "", "segment", "init")
			for statement := range strings.SplitSeq(c.hurt, "; ") {
				s.Query(t, db, statement)
			}
			b.check(t, c.code, c.want, "", "doctor")
			b.check(t, exitOK, "", "", "gen") // makes the other tables
			r := b.run(t.Context(), "doctor")
			// The columns are wider now.
			got, want := strings.Join(strings.Fields(r.stdout), " "), strings.Join(strings.Fields(c.want), " ")
			if r.code != c.code || !strings.Contains(got, want) {
				t.Errorf("with all tables doctor = %d, want %d and %q:\n%s", r.code, c.code, want, r.stdout)
			}
		})
	}
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		b, db := newBench(t), s.CreateDB(t)
		b.check(t, exitOK, "", "", "segment", "init", "--dsn", s.DSN(db))
		user := "leaf_" + db
		s.Exec(t, "CREATE USER "+user+" IDENTIFIED BY 'hunter2'", "GRANT SELECT ON "+db+".* TO "+user)
		b.check(t, exitFailure, "the account needs SELECT and UPDATE", "", "doctor", "--dsn",
			fmt.Sprintf("mysql://%s:hunter2@%s/%s", user, s.Addr(), db))

		// An account for worker ids needs no right to leaf_alloc.
		db = s.CreateDB(t)
		b.check(t, exitOK, "", "", "gen", "--dsn", s.DSN(db))
		user = "node_" + db
		s.Exec(t, "CREATE USER "+user+" IDENTIFIED BY 'hunter2'",
			"GRANT SELECT, INSERT ON "+db+".WORKER_NODE TO "+user,
			"GRANT SELECT, INSERT, UPDATE ON "+db+".WORKER_LEASE TO "+user)
		r := b.check(t, exitOK, "ok    worker ids", "", "doctor", "--dsn",
			fmt.Sprintf("mysql://%s:hunter2@%s/%s", user, s.Addr(), db))
		if strings.Contains(r.stdout, "leaf_alloc") {
			t.Errorf("doctor names a table that is not there:\n%s", r.stdout)
		}
	})
}

// TestDoctorSequence: the doctor finds what keeps t_sequence from giving ranges.
func TestDoctorSequence(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	for _, c := range []struct {
		hurt, want string
		code       int
	}{
		{"INSERT INTO t_sequence VALUES ('a', 0, 10)", "ok    t_sequence   SELECT, UPDATE; 1 tag\n", exitOK},
		{"INSERT INTO t_sequence VALUES ('a', 0, 0)", `tag "a" has step 0, want 1..`, exitFailure},
		{"INSERT INTO t_sequence VALUES ('a', 0, -7)", `tag "a" has step -7, want 1..`, exitFailure},
		{"INSERT INTO t_sequence VALUES ('a', 9223372036854775800, 5)", "no range is left", exitFailure},
		{"ALTER TABLE t_sequence ENGINE = MyISAM", "t_sequence is in MyISAM", exitFailure},
		{"ALTER TABLE t_sequence DROP PRIMARY KEY", "table t_sequence has no primary or unique key", exitFailure},
		{"ALTER TABLE t_sequence MODIFY current_val INT NOT NULL", "current_val is int, want bigint", exitFailure},
	} {
		t.Run(c.hurt, func(t *testing.T) {
			t.Parallel()
			b, db := newBench(t), s.CreateDB(t)
			b.now = time.Now()
			b.env["UID_DSN"] = s.DSN(db)
			b.check(t, exitOK, "", "", "segment", "init")
			s.Query(t, db, c.hurt)
			b.check(t, c.code, c.want, "", "doctor")
		})
	}
}

// TestDoctorTickets: the doctor finds what keeps a ticket server from being used, and writes nothing.
func TestDoctorTickets(t *testing.T) {
	t.Parallel()
	mariadb, postgres := dbtest.MariaDB(t, "--auto-increment-increment=2", "--auto-increment-offset=2"),
		servers.Postgres(t)
	for _, c := range []struct {
		s          *dbtest.Server
		hurt, want string
		code       int
	}{
		{mariadb, "DO 0", "counts by 2 from 2; the highest id is 0", exitOK},
		{mariadb, "SET @@session.sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; " +
			"INSERT INTO ticket (id, stub) VALUES (0, 'uid-ticket-plan 3/2/0')",
			"the server counts by 2 from 2, want 3 from 2", exitFailure},
		{mariadb, "INSERT INTO ticket (id, stub) VALUES (3000002, 'uid-ticket-plan 2/2/3000000')",
			"counts by 2 from 2; the highest id is 3,000,002", exitOK},
		{mariadb, "INSERT INTO ticket (id, stub) VALUES (9223372036854775806, 'a')",
			"no id is left before the last int64", exitFailure},
		{mariadb, "INSERT INTO ticket (id, stub) VALUES (9223372036854775000, 'a')", "403 ids are left", exitOK},
		{mariadb, "ALTER TABLE ticket ENGINE = MyISAM", "ticket is in MyISAM", exitFailure},
		{mariadb, "DROP INDEX uk_ticket_stub ON ticket", "table ticket has no primary or unique key", exitFailure},
		{postgres, "SELECT 1", "counts by 1 from 1; the highest id is 0", exitOK},
		{postgres, "ALTER TABLE ticket SET UNLOGGED", "ticket is UNLOGGED", exitFailure},
		{postgres, "ALTER TABLE ticket ALTER id SET INCREMENT 3", "counts by 3 from 1", exitOK},
		{postgres, "ALTER TABLE ticket ALTER id SET CYCLE", "has CYCLE, want NO CYCLE", exitFailure},
		{postgres, "ALTER TABLE ticket ALTER id SET CACHE 7", "has CACHE 7, want 1", exitFailure},
		{postgres, "ALTER TABLE ticket ALTER id DROP IDENTITY", "has no identity column", exitFailure},
	} {
		t.Run(c.hurt, func(t *testing.T) {
			t.Parallel()
			b, db := newBench(t), c.s.CreateDB(t)
			b.now = time.Now()
			b.env["UID_DSN"] = c.s.DSN(db)
			b.check(t, exitOK, "", "", "segment", "init")
			c.s.Query(t, db, c.hurt)
			b.check(t, c.code, c.want, "", "doctor")
			if c.code == exitOK {
				if got, _ := strconv.Atoi(c.s.Query(t, db, "SELECT COUNT(*) FROM ticket")); got > 1 {
					t.Errorf("%d rows after the doctor looked, want no new one", got)
				}
			}
		})
	}
	s := dbtest.MariaDB(t, "--auto-increment-increment=2", "--auto-increment-offset=5")
	b, db := newBench(t), s.CreateDB(t)
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitFailure, "the server counts by 2 from 5, want an offset of 1..2", "", "doctor")
}

// TestDoctorNamespaces: the doctor finds a namespace whose worker ids are all held, by its own layout,
// and a server with few connections left. It knows the row that "uid workers restored" writes.
func TestDoctorNamespaces(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t, "--max-connections=12")
	b, db := newBench(t), s.CreateDB(t)
	b.now = time.Now()
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitOK, "warn  connections", "", "doctor")
	b.check(t, exitOK, "1 namespace with leases", "", "doctor")
	for i := range 4 {
		s.Query(t, db, fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
			"UNTIL_MS, LAYOUT) VALUES ('tiny', %d, 1, 1, 'host', %d, '48-2-13-0/1ms@2026-01-01T00:00:00Z')",
			i, time.Now().Add(time.Hour).UnixMilli()))
	}
	const full = "tiny: 4 of 4 worker ids held, 4 used so far: no other process can start"
	b.check(t, exitFailure, full, "", "doctor")
	b.check(t, exitFailure, full, "", "doctor", "--namespace", "tiny")
	b.check(t, exitOK, " of 4,194,304 worker ids held, 1 used so far", "",
		"doctor", "--namespace", "default")
	b.check(t, exitOK, `"other" has no leases`, "", "doctor", "--namespace", "other")
	s.Query(t, db, "DELETE FROM WORKER_LEASE WHERE NAMESPACE = 'tiny'")
	b.check(t, exitOK, "", "", "workers", "restored", "--highest", "5000", "--reach", "1h",
		"--layout", "default")
	r := b.check(t, exitOK, `those up to 5,000 count as used since "uid workers restored"`, "", "doctor")
	if strings.Contains(r.stdout, "keys are skipped") {
		t.Errorf("doctor takes what was restored for skipped keys:\n%s", r.stdout)
	}
}

// row returns the statement that makes the tag a, with its counter at at.
func row(at, step int64) string {
	return fmt.Sprintf("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', %d, %d)", at, step)
}

// TestDoctorNarrowLayout: on every kind of database, the doctor finds that the next key of WORKER_NODE
// is beyond the worker bits of the layout. That is only a warning if the leases are in other namespaces.
func TestDoctorNarrowLayout(t *testing.T) {
	t.Parallel()
	for name, raise := range map[string]string{
		"MariaDB":    "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 5001",
		"PostgreSQL": "SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('worker_node', 'id'), 5000)",
		"SQLite":     "UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'WORKER_NODE'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.now = time.Now()
			b.env["UID_DSN"] = databases(t)[name](t)[0]
			b.check(t, exitOK, "", "", "gen")
			b.check(t, exitOK, " of 1,023 left", "", "doctor", "--layout", "41-10-12/1ms")
			query(t, b.env["UID_DSN"], raise)
			b.check(t, exitOK, "4,189,303 of 4,194,303 left", "", "doctor")
			const beyond = "0 of 1,023 left; WORKER_NODE counts on from 5,000, beyond the layout"
			r := b.check(t, exitFailure, beyond, "", "doctor", "--layout", "41-10-12/1ms")
			if !strings.Contains(r.stdout, "in a Namespace of your own") {
				t.Errorf("doctor does not say what to do:\n%s", r.stdout)
			}
			lease := func(namespace string) {
				query(t, b.env["UID_DSN"], "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, "+
					"NONCE, OWNER, UNTIL_MS, LAYOUT, CREATED, MODIFIED) VALUES ('"+namespace+"', 7, 1, 1, '', "+
					"0, '41-10-12-0/1ms@2026-01-01T00:00:00Z', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)")
			}
			lease("own")
			b.check(t, exitOK, "this layout's leases are in other namespaces", "",
				"doctor", "--layout", "41-10-12/1ms")
			lease("default")
			b.check(t, exitFailure, beyond, "", "doctor", "--layout", "41-10-12/1ms")
		})
	}
}
