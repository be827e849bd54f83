package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestDoctorLeases: a worker id that was given back is not free until its last id's time has passed.
func TestDoctorLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Now()
	b.check(t, exitOK, "0 held, 0 free\n", "", "doctor")
	b.check(t, exitOK, "", "", "gen", "-n", "1000000")
	b.check(t, exitOK, "0 held, 0 free, 1 given back and free when their windows have passed\n", "",
		"doctor")
}

// TestDoctorMySQL: the doctor finds harmful settings, and accounts that lack privileges.
func TestDoctorMySQL(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t, "--auto-increment-increment=10")
	db := s.CreateDB(t)
	b := newBench(t)
	dsn := func(user string) string {
		return fmt.Sprintf("mysql://%s:hunter2@%s/%s", user, s.Addr(), db)
	}
	s.Exec(t,
		"CREATE USER reader IDENTIFIED BY 'hunter2'", "GRANT SELECT ON "+db+".* TO reader",
		"CREATE USER worker IDENTIFIED BY 'hunter2'",
		"GRANT SELECT, INSERT, UPDATE ON "+db+".* TO worker",
		"CREATE USER nobody IDENTIFIED BY 'hunter2'")
	b.check(t, exitOK, "", "", "gen", "--dsn", s.DSN(db))

	b.check(t, exitOK, "every start uses up 10 worker ids", "", "doctor", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "every start uses up 10 worker ids", "",
		"doctor", "--strict", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "the account needs INSERT on WORKER_NODE", "",
		"doctor", "--dsn", dsn("reader"))
	for _, user := range []string{"nobody", "stranger"} {
		r := b.check(t, exitFailure, "fail", "", "doctor", "--dsn", dsn(user))
		if strings.Contains(r.stdout+r.stderr, "hunter2") {
			t.Errorf("doctor shows the password:\n%s%s", r.stdout, r.stderr)
		}
	}
	// An account that may not create tables makes ids from those that exist.
	b.check(t, exitOK, "", "", "gen", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "", "denied", "gen", "--dsn", dsn("reader"))

	// The doctor finds an owner that does not know the newest layout of its namespace.
	b.check(t, exitOK, "every owner of a lease knows the newest layout", "", "doctor", "--dsn", s.DSN(db))
	const first, list = "28-22-13-0/1s@2026-01-01T00:00:00Z", "28-22-13-0/1s@2026-01-01T00:00:00Z," +
		"36-14-13-0/1s+32314982400@2030-01-01T00:00:00Z"
	for i, l := range []string{first, list} {
		s.Exec(t, fmt.Sprintf("INSERT INTO %s.WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
			"UNTIL_MS, LAYOUT) VALUES ('eras', %d, 1, 1, 'host %[2]d', %d, '%s')",
			db, i, time.Now().Add(time.Hour).UnixMilli(), l))
	}
	// It also finds one if only the row of the namespace itself still has the newest layout.
	for worker, l := range map[int]string{-1: list, 5: first} {
		s.Exec(t, fmt.Sprintf("INSERT INTO %s.WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, "+
			"UNTIL_MS, LAYOUT) VALUES ('rolled back', %d, 1, 1, 'elder', %d, '%s')",
			db, worker, time.Now().Add(time.Hour).UnixMilli(), l))
	}
	b.check(t, exitUsage, "", "--peer: not the name of a database", "doctor", "--dsn", s.DSN(db), "--peer", "x")
	b.check(t, exitOK, "worker 5 of namespace \"rolled back\" stops at 2030-01-01T00:00:00Z", "",
		"doctor", "--dsn", s.DSN(db))
	r := b.check(t, exitOK, "worker 0 of namespace \"eras\" stops at 2030-01-01T00:00:00Z, where a layout "+
		"begins that host 0 does not know", "", "doctor", "--layout", list, "--dsn", s.DSN(db))
	if !strings.Contains(r.stdout, list+" runs out at 3183") || strings.Contains(r.stdout, "host 1") {
		t.Errorf("doctor with a list of eras:\n%s", r.stdout)
	}
	later := *b
	later.now = time.Date(2030, 1, 1, 0, 0, 1, 0, time.UTC)
	later.check(t, exitFailure, "stops at 2030", "", "doctor", "--dsn", s.DSN(db))

	s.Exec(t, "INSERT INTO "+db+".WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) "+
		"VALUES (4194303, 'h', 'p', 2, '2026-01-01')")
	b.check(t, exitFailure, "0 of 4,194,303 left", "", "doctor", "--dsn", dsn("worker"))
	b.check(t, exitFailure, "", "worker ids exhausted",
		"gen", "--assigner", "disposable", "--dsn", dsn("worker"))

	s.Exec(t, "SET GLOBAL read_only = 1")
	b.check(t, exitFailure, "read-only", "", "doctor", "--dsn", dsn("worker"))
}

// TestDoctorProducts: the doctor knows a product by its version, and reports what is known about
// it. A MariaDB stands in for the product.
func TestDoctorProducts(t *testing.T) {
	t.Parallel()
	if os.Getenv(dbtest.OracleEnv) == "1" {
		t.Skip("skipped: MySQL's version cannot be set")
	}
	for _, c := range []struct {
		version, want string
		code          int
	}{
		{"8.0.11-TiDB-v7.5.0", "every server of TiDB skips up to 30000 keys", exitOK},
		{"8.0.33-Dolt", "Dolt is known to lose one of two changes", exitFailure},
	} {
		t.Run(c.version, func(t *testing.T) {
			t.Parallel()
			s := dbtest.MariaDB(t, "--version="+c.version)
			db := s.CreateDB(t)
			b := newBench(t)
			s.Query(t, db, b.check(t, exitOK, "", "", "schema", "--dialect", "mysql").stdout)
			b.check(t, c.code, c.want, "", "doctor", "--dsn", s.DSN(db))
			if c.code != exitOK {
				b.check(t, exitFailure, "", "known to lose", "gen", "--dsn", s.DSN(db))
			}
		})
	}
}

// TestDoctorDurability: the doctor finds each setting with which a server forgets commits when its
// machine crashes, and finds no fault without them.
func TestDoctorDurability(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		s := dbtest.MariaDB(t, "--log-bin", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
		b := newBench(t)
		b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
		b.check(t, exitOK, "", "", "gen")
		good := []string{"doctor", "--strict"}
		const durable = "a commit is on disk before it is answered"
		if strings.Contains(b.check(t, exitOK, durable, "", "doctor").stdout, recomputes) {
			good = good[:1]
		}
		b.check(t, exitOK, "", "", good...)
		const flush = "innodb_flush_log_at_trx_commit"
		for _, c := range []struct {
			off, on, want string
			fails         bool
		}{
			{flush + " = 2", flush + " = 1", flush + " is 2: a crash of the server's machine", false},
			{flush + " = 0", flush + " = 1", flush + " is 0: a kill or crash of the server's process",
				true},
			{"sync_binlog = 0", "sync_binlog = 1", "sync_binlog is 0: a crash", false},
		} {
			s.Exec(t, "SET GLOBAL "+c.off)
			b.check(t, exitFailure, c.want, "", "doctor", "--strict")
			if c.fails {
				b.check(t, exitFailure, "fail  durability", "", "doctor")
			} else {
				b.check(t, exitOK, "warn  durability", "", "doctor")
			}
			s.Exec(t, "SET GLOBAL "+c.on)
		}
		b.check(t, exitOK, durable, "", good...)
		nosync := dbtest.MariaDB(t, "--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=1")
		b.env["UID_DSN"] = nosync.DSN(nosync.CreateDB(t))
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitFailure, "innodb_flush_method is nosync: a crash", "", "doctor")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := dbtest.Postgres(t, "-cfsync=on")
		b := newBench(t)
		db := s.CreateDB(t)
		b.env["UID_DSN"] = s.DSN(db)
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict")
		s.Exec(t, "ALTER DATABASE "+db+" SET synchronous_commit = off")
		b.check(t, exitFailure, "synchronous_commit is off: a kill or crash", "", "doctor")
		b.check(t, exitFailure, "synchronous_commit is off by ALTER DATABASE "+db+": a kill", "", "doctor")
		s.Exec(t, "ALTER DATABASE "+db+" RESET synchronous_commit")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict")
		// What the application's role has does not show in the administrator's session, nor in that
		// of an account with few rights.
		s.Exec(t, "CREATE ROLE app LOGIN", "ALTER ROLE app SET synchronous_commit = off",
			"CREATE ROLE other LOGIN", "ALTER ROLE other SET synchronous_commit = 'local'",
			"CREATE ROLE elsewhere LOGIN",
			"ALTER ROLE elsewhere IN DATABASE postgres SET synchronous_commit = off")
		const app = "synchronous_commit is off by ALTER ROLE app: a kill or crash"
		b.check(t, exitFailure, app, "", "doctor")
		s.Exec(t, "CREATE ROLE few LOGIN PASSWORD '"+dbtest.Password+"'", "GRANT pg_read_all_data, "+
			"pg_write_all_data TO few")
		b.check(t, exitFailure, app, "", "doctor", "--dsn", strings.Replace(s.DSN(db), dbtest.User,
			"few", 1))
		s.Exec(t, "ALTER ROLE elsewhere IN DATABASE "+db+" SET synchronous_commit = 0")
		b.check(t, exitFailure, "off by ALTER ROLE app, ALTER ROLE elsewhere IN DATABASE "+db+": a", "",
			"doctor")
		// What a role has for the database counts before what it has for all.
		s.Exec(t, "ALTER ROLE app IN DATABASE "+db+" SET synchronous_commit = on",
			"ALTER ROLE elsewhere IN DATABASE "+db+" RESET synchronous_commit")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict")

		// The doctor's own role hides what the server has for others, until the database has it too.
		const hidden = "synchronous_commit is on for this account, which hides the server's"
		s.Exec(t, "ALTER SYSTEM SET synchronous_commit = off", "SELECT PG_RELOAD_CONF()")
		await(t, "the server to reload", func() bool {
			return s.Query(t, db, "SHOW synchronous_commit") == "off"
		})
		s.Exec(t, "ALTER ROLE few SET synchronous_commit = on")
		few := strings.Replace(s.DSN(db), dbtest.User, "few", 1)
		b.check(t, exitFailure, hidden, "", "doctor", "--strict", "--dsn", few)
		s.Exec(t, "ALTER DATABASE "+db+" SET synchronous_commit = on")
		b.check(t, exitOK, "a commit is on disk before it is answered", "", "doctor", "--strict", "--dsn", few)

		shared := servers.Postgres(t)
		b.env["UID_DSN"] = shared.DSN(shared.CreateDB(t))
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitFailure, "fsync is off: a crash", "", "doctor", "--strict")
	})
}

// TestDoctorFrozen: a check that gets no answer is reported as such, without the advice for other
// faults, and is the last one.
func TestDoctorFrozen(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	db := s.CreateDB(t)
	b := newBench(t)
	b.check(t, exitOK, "", "", "gen", "--dsn", s.DSN(db))
	proxy := dbtest.NewProxy(t, s.Addr())
	proxy.SetMatching(dbtest.BlackHole, func(request []byte) bool {
		return bytes.Contains(request, []byte("WORKER_LEASE"))
	})
	r := b.check(t, exitFailure, "no answer in time", "",
		"doctor", "--timeout", "1s", "--dsn", s.DSNVia(proxy.Addr(), db))
	if strings.Contains(r.stdout, "uid schema") || strings.Contains(r.stdout, "deadline") ||
		!strings.Contains(r.stdout, "ok    table WORKER_NODE") ||
		strings.Contains(r.stdout, "privileges") || strings.Count(r.stdout, "fail") != 1 {
		t.Errorf("doctor says\n%s\nwant the checks before the one that hangs", r.stdout)
	}
}

// TestDoctorSettings: on every kind of database, the doctor finds a table whose keys are skipped, handed
// out twice or not made at all.
func TestDoctorSettings(t *testing.T) {
	t.Parallel()
	for name, cases := range map[string][]struct{ hurt, want string }{
		"MariaDB": {
			{"ALTER TABLE WORKER_LEASE ENGINE = MyISAM", "WORKER_LEASE is in MyISAM"},
			{"ALTER TABLE WORKER_LEASE ENGINE = InnoDB; ALTER TABLE WORKER_NODE ENGINE = MEMORY",
				"WORKER_NODE is in MEMORY"},
			{"ALTER TABLE WORKER_NODE ENGINE = InnoDB; " +
				"CREATE TABLE number_gapless (tag VARCHAR(128) PRIMARY KEY) ENGINE = MyISAM",
				"number_gapless is in MyISAM"},
			{"DROP TABLE number_gapless; ALTER TABLE WORKER_NODE MODIFY ID BIGINT NOT NULL",
				"WORKER_NODE.ID is not AUTO_INCREMENT"},
		},
		"PostgreSQL": {
			{"ALTER TABLE WORKER_LEASE SET UNLOGGED", "worker_lease is UNLOGGED"},
			{"ALTER TABLE WORKER_LEASE SET LOGGED; CREATE UNLOGGED TABLE segment_moved (tag TEXT PRIMARY KEY)",
				"segment_moved is UNLOGGED"},
			{"DROP TABLE segment_moved; ALTER TABLE WORKER_NODE ALTER ID SET INCREMENT 5",
				"a start may use up 5 worker ids"},
			{"ALTER TABLE WORKER_NODE ALTER ID SET INCREMENT 1 SET CACHE 7",
				"ALTER SEQUENCE worker_node_id_seq INCREMENT 1 CACHE 1"},
			{"ALTER TABLE WORKER_NODE ALTER ID SET CACHE 1 SET CYCLE",
				"ALTER SEQUENCE worker_node_id_seq NO CYCLE"},
			{"ALTER TABLE WORKER_NODE ALTER ID DROP IDENTITY", "ID is not generated by a sequence"},
		},
		"SQLite": {
			{"CREATE TABLE N AS SELECT * FROM WORKER_NODE; DROP TABLE WORKER_NODE; " +
				"ALTER TABLE N RENAME TO WORKER_NODE",
				"the worker id of a deleted row is handed out again"},
			{"ALTER TABLE WORKER_NODE RENAME TO N; CREATE VIEW WORKER_NODE AS SELECT * FROM N",
				"WORKER_NODE is a view, not a table"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			dsns := databases(t)[name](t)
			b.env["UID_DSN"] = dsns[0]
			b.check(t, exitOK, "", "", "gen")
			b.check(t, exitOK, "ok", "", "doctor")
			for _, c := range cases {
				for statement := range strings.SplitSeq(c.hurt, "; ") {
					query(t, dsns[0], statement)
				}
				r := b.run(t.Context(), "doctor", "--strict")
				if r.code != exitFailure || !strings.Contains(r.stdout, c.want) {
					t.Errorf("after %s doctor = %d and says\n%s\nwant %q", c.hurt, r.code, r.stdout, c.want)
				}
			}
		})
	}
}

// TestDoctorKeys: on every kind of database the doctor finds a table without the key that no two
// rows are equal in, and the statement that it prints makes the key.
func TestDoctorKeys(t *testing.T) {
	t.Parallel()
	copied := func(table string) string {
		return "CREATE TABLE COPY AS SELECT * FROM " + table + "; DROP TABLE " + table +
			"; ALTER TABLE COPY RENAME TO " + table
	}
	for name := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			dsn := databases(t)[name](t)[0]
			b.env["UID_DSN"] = dsn
			b.check(t, exitOK, "", "", "gen")
			b.check(t, exitOK, "", "", "segment", "init")
			b.check(t, exitOK, "no two rows", "", "doctor")
			for _, table := range []string{"WORKER_LEASE", "leaf_alloc", "t_sequence", "ticket",
				"number_name", "number_gapless", "WORKER_NODE"} {
				for statement := range strings.SplitSeq(copied(table), "; ") {
					query(t, dsn, statement)
				}
				want := "table " + table + " has no primary or unique key"
				r := b.run(t.Context(), "doctor")
				_, repair, _ := strings.Cut(r.stdout, "then: ")
				repair, _, _ = strings.Cut(repair, "\n")
				if r.code != exitFailure || !strings.Contains(r.stdout, want) ||
					!strings.HasPrefix(repair, "CREATE UNIQUE INDEX") {
					t.Fatalf("without the key of %s doctor = %d and says\n%s\nwant %q", table, r.code,
						r.stdout, want)
				}
				query(t, dsn, repair)
				if r := b.run(t.Context(), "doctor"); !strings.Contains(r.stdout, "no two rows") {
					t.Errorf("after %s doctor says\n%s", repair, r.stdout)
				}
			}
		})
	}
}

// opened opens the database that name names, of any kind, for the test.
func opened(t *testing.T, name string) (dsn.Source, *gorm.DB) {
	t.Helper()
	s, err := dsn.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	db, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dsn.Close(db); err != nil {
			t.Error(err)
		}
	})
	return s, db
}

// query runs a statement in the database that name names, of any kind.
func query(t *testing.T, name, statement string) {
	t.Helper()
	_, db := opened(t, name)
	if err := db.Exec(statement).Error; err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestDoctorRanges: no worker id of a namespace may be in two databases, of any number.
func TestDoctorRanges(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	dbs := []string{s.CreateDB(t), s.CreateDB(t), s.CreateDB(t)}
	b := newBench(t)
	for _, db := range dbs {
		b.check(t, exitOK, "", "", "gen", "--dsn", s.DSN(db), "--namespace", "own "+db)
	}
	lease := func(db int, workers ...int) {
		for _, w := range workers {
			s.Query(t, dbs[db], fmt.Sprintf("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, "+
				"OWNER, UNTIL_MS, LAYOUT) VALUES ('orders', %d, 1, 1, '', 0, '')", w))
		}
	}
	doctor := func(code int, want string, peers ...int) {
		t.Helper()
		args := []string{"doctor", "--dsn", s.DSN(dbs[0])}
		for _, p := range peers {
			args = append(args, "--peer", s.DSN(dbs[p]))
		}
		b.check(t, code, want, "", args...)
	}
	between := func(a, b int) string {
		t.Helper()
		var places []string
		for _, db := range []string{dbs[a], dbs[b]} {
			source, err := dsn.Parse(s.DSN(db))
			if err != nil {
				t.Fatal(err)
			}
			places = append(places, source.Place)
		}
		return strings.Join(places, " and in ")
	}
	lease(0, 0, 1)
	lease(1, 512, 513)
	lease(2, 1024)
	doctor(exitOK, "no two of 2 databases have a worker id of one namespace", 1)
	doctor(exitOK, "no two of 3 databases have a worker id of one namespace", 1, 2)
	lease(1, 3)
	lease(0, 5)
	doctor(exitOK, "warn  ranges", 1)
	lease(1, 1)
	doctor(exitFailure, "worker 1 of namespace orders is in "+between(0, 1), 1)
	doctor(exitOK, "no two of 2 databases have a worker id of one namespace", 2)
	// Worker ids of Disposable have no lease, and two peers are compared with each other.
	for _, db := range dbs[1:] {
		s.Query(t, db, "INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES "+
			"(7, 'h', 'p', 2, '2026-01-01')")
	}
	doctor(exitOK, "no two of 2 databases have a worker id of one namespace", 2)
	doctor(exitFailure, "worker 7 of namespace default is in "+between(1, 2), 1, 2)
}

// TestDoctorIndex: the doctor finds a table of an earlier version without the index for starts, and
// Migrate makes the index.
func TestDoctorIndex(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*dbtest.Server{"mysql": servers.MariaDB(t), "postgres": servers.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := s.CreateDB(t)
			b := newBench(t)
			b.env["UID_DSN"] = s.DSN(db)
			b.check(t, exitOK, "", "", "gen")
			b.check(t, exitOK, "without reading the others", "", "doctor")
			drop := "DROP INDEX WORKER_LEASE_FREE"
			if name == "mysql" {
				drop += " ON WORKER_LEASE"
			}
			s.Query(t, db, drop)
			b.check(t, exitOK, "warn  index WORKER_LEASE", "", "doctor")
			b.check(t, exitOK, "", "", "gen") // migrates
			b.check(t, exitOK, "without reading the others", "", "doctor")
		})
	}
}
