package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/uidring/uidring/internal/dbtest"
)

// sick has the doctor look at a database after statements that hurt it, and wants a line of its
// report.
func sick(t *testing.T, b *bench, s *dbtest.Server, want string, statements ...string) {
	t.Helper()
	s.Exec(t, statements...)
	verdict, text, _ := strings.Cut(want, " ")
	r := b.run(t.Context(), "doctor")
	if verdict == "fail" && r.code != exitFailure {
		t.Errorf("after %q the doctor's status is %d, want %d", statements, r.code, exitFailure)
	}
	for line := range strings.Lines(r.stdout) {
		if strings.HasPrefix(line, verdict) && strings.Contains(line, " replication ") && strings.Contains(line, text) {
			return
		}
	}
	t.Errorf("after %q doctor says\n%swant %s about replication: %s", statements, r.stdout, verdict, text)
}

// TestDoctorSemiSync: the doctor finds each way in which a source of semi-synchronous replication
// hangs, or goes on with commits that a promotion forgets.
func TestDoctorSemiSync(t *testing.T) {
	t.Parallel()
	s := dbtest.MySQL(t, "--plugin-load-add=semisync_source.so", "--log-bin", "--sync-binlog=1",
		"--innodb-flush-log-at-trx-commit=1", "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
	r := b.check(t, exitOK, "", "", "gen")
	if strings.Contains(b.check(t, exitOK, "", "", "doctor").stdout, "replication") {
		t.Errorf("doctor speaks of replication on a server that has none: %s", r.stdout)
	}
	sick(t, b, s, "fail no replica acknowledges: every COMMIT waits",
		"SET GLOBAL rpl_semi_sync_source_timeout = 86400000", "SET GLOBAL rpl_semi_sync_source_enabled = ON")
	sick(t, b, s, "warn others see a change that no replica has",
		"SET GLOBAL rpl_semi_sync_source_enabled = OFF",
		"SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT",
		"SET GLOBAL rpl_semi_sync_source_wait_no_replica = OFF", "SET GLOBAL rpl_semi_sync_source_enabled = ON")
	sick(t, b, s, "warn rpl_semi_sync_source_wait_no_replica is OFF")
	sick(t, b, s, "warn after which the source goes on without its replicas",
		"SET GLOBAL rpl_semi_sync_source_timeout = 1", "SET GLOBAL rpl_semi_sync_source_wait_no_replica = ON")
	// The first COMMIT without a replica ends the waiting.
	sick(t, b, s, "fail the source goes on without its replicas", "CREATE DATABASE more")
	sick(t, b, s, "warn the server was promoted, or has the data of another one",
		"SET GLOBAL rpl_semi_sync_source_enabled = OFF",
		"SET GTID_NEXT = '6d2f4d2e-0000-4000-8000-000000000002:1'; BEGIN; COMMIT; SET GTID_NEXT = AUTOMATIC")
	// The source of a replica need not be there.
	sick(t, b, s, "fail a replica of 127.0.0.1:1 that can be written to",
		"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1")
	s.Exec(t, "SET GLOBAL super_read_only = ON")
	b.check(t, exitFailure, "a replica of 127.0.0.1:1, which is read-only", "", "doctor")
}

// TestDoctorOldSemiSync: the same by the names that MariaDB and older servers have.
func TestDoctorOldSemiSync(t *testing.T) {
	t.Parallel()
	if os.Getenv(dbtest.OracleEnv) == "1" {
		t.Skip("skipped: MySQL's names are in TestDoctorSemiSync")
	}
	s := dbtest.MariaDB(t, "--log-bin", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
	b.check(t, exitOK, "", "", "gen")
	sick(t, b, s, "fail no replica acknowledges", "SET GLOBAL rpl_semi_sync_master_timeout = 86400000",
		"SET GLOBAL rpl_semi_sync_master_enabled = ON")
	sick(t, b, s, "fail a replica of 127.0.0.1:1 that can be written to",
		"SET GLOBAL rpl_semi_sync_master_enabled = OFF",
		"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1")
}

// TestDoctorOutsideOfGroup: the doctor fails on a member that was started outside of its group and can
// be written to.
func TestDoctorOutsideOfGroup(t *testing.T) {
	t.Parallel()
	s := dbtest.MySQL(t, "--plugin-load-add=group_replication.so", "--performance-schema=ON", "--log-bin",
		"--group-replication-group-name=6d2f4d2e-0000-4000-8000-000000000001",
		"--group-replication-start-on-boot=OFF", "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
	b.check(t, exitOK, "", "", "gen")
	sick(t, b, s, "fail the server is outside of its group and can be written to")
	s.Exec(t, "SET GLOBAL super_read_only = ON")
	b.check(t, exitFailure, "the server is outside of its group, and read-only", "", "doctor")
}

// TestDoctorGroup: the doctor says of each member of a group what it is, and fails on one that has no
// majority.
func TestDoctorGroup(t *testing.T) {
	g := dbtest.GroupReplication(t, false)
	s := g.Primary()
	db := s.CreateDB(t)
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitOK, "the primary of its group, with 3 of 3", "", "doctor")
	var replicas []*dbtest.Server
	for _, other := range g.Servers {
		if other != s {
			replicas = append(replicas, other)
			b.check(t, exitFailure, "a secondary of its group; the primary is "+s.Addr(), "", "doctor", "--dsn",
				other.DSN(db))
		}
	}
	for _, other := range replicas {
		if err := other.Pause(); err != nil {
			t.Fatal(err)
		}
		defer other.Resume()
	}
	await(t, "the primary to miss its group", func() bool {
		return strings.Contains(b.run(t.Context(), "doctor").stdout,
			"the server reaches 1 of 3 of its group, no majority: every COMMIT hangs")
	})
}

// TestDoctorStandbys: on each server of a PostgreSQL with standbys the doctor says what it is, and
// fails where a commit does not wait for a standby or for none that is there.
func TestDoctorStandbys(t *testing.T) {
	t.Parallel()
	g := dbtest.Standbys(t)
	s := g.Primary()
	db := s.CreateDB(t)
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitOK, "a commit is on a standby before it is answered", "", "doctor")
	if err := g.Whole(); err != nil {
		t.Fatal(err)
	}
	for _, other := range g.Servers {
		if other != s {
			b.check(t, exitFailure, "a standby, which is read-only; the primary is "+s.Addr(), "", "doctor",
				"--dsn", other.DSN(db))
		}
	}
	sick(t, b, s, "fail synchronous_commit is local", "ALTER DATABASE "+db+" SET synchronous_commit = 'local'")
	s.Exec(t, "ALTER DATABASE "+db+" SET synchronous_commit = 'off'")
	r := b.check(t, exitFailure, "synchronous_commit", "", "doctor")
	if strings.Contains(r.stdout, "a commit is on a standby") {
		t.Errorf("with synchronous_commit off doctor says\n%s", r.stdout)
	}
	sick(t, b, s, "warn synchronous_commit is remote_write",
		"ALTER DATABASE "+db+" SET synchronous_commit = 'remote_write'")
	s.Exec(t, "ALTER DATABASE "+db+" RESET synchronous_commit", "CREATE ROLE app LOGIN")
	sick(t, b, s, "warn synchronous_commit is local for 1 role or database",
		"ALTER ROLE app SET synchronous_commit = 'local'")
	for _, other := range g.Servers {
		if other != s {
			if err := other.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The primary notices when it writes to them.
	await(t, "the primary to have no standby", func() bool {
		return s.Query(t, "", "SELECT COUNT(*) FROM pg_stat_replication") == "0"
	})
	sick(t, b, s, "fail every COMMIT waits for 1 standby, and of 0 that are connected it counts 0")
}

// TestDoctorOtherStandby: a standby that is connected and that no COMMIT waits for does not count.
func TestDoctorOtherStandby(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	b := newBench(t)
	db := s.CreateDB(t)
	b.env["UID_DSN"] = s.DSN(db)
	b.check(t, exitOK, "", "", "gen")
	other, err := pgconn.Connect(t.Context(), s.DSN(db)+"&replication=true&application_name=other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close(context.WithoutCancel(t.Context())) })
	for names, finding := range map[string]string{
		"FIRST 2 (a, other)": "every COMMIT waits for 2 standbys, and of 1 that are connected it counts 0",
		"a, b":               "every COMMIT waits for 1 standby, and of 1 that are connected it counts 0",
	} {
		s.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'", "SELECT pg_reload_conf()")
		await(t, "the server to wait for "+names, func() bool {
			return s.Query(t, "", "SHOW synchronous_standby_names") == names
		})
		b.check(t, exitFailure, finding, "", "doctor")
	}
}

// TestDoctorPromoted: the doctor finds out that a PostgreSQL was promoted.
func TestDoctorPromoted(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
	b.check(t, exitOK, "", "", "gen")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.DataDir(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	b.check(t, exitFailure, "a standby, which is read-only; the account may not see of which server", "", "doctor")
	s.Exec(t, "SELECT pg_promote()")
	await(t, "the promotion", func() bool { return s.Query(t, "", "SELECT pg_is_in_recovery()") == "f" })
	sick(t, b, s, "warn the server was promoted or restored, it is at timeline 2")
}

// await waits until cond holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
