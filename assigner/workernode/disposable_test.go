package workernode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

func TestDisposable(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, assignertest.Factory{Authority: authority(func(db *gorm.DB) assigner.Assigner {
		return workernode.Disposable(db, nil)
	})})
}

// TestDisposableRow: the row shows which process has the worker id, and the worker id is the row's key.
func TestDisposableRow(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	srv.Query(t, name, "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 41")
	for i, want := range []string{"41\th\t8080\t2", "42\th\t8080\t2"} {
		a := workernode.On(workernode.Disposable(db, &workernode.DisposableOptions{Host: "h",
			Port: "8080"}), workernode.Machine{})
		c, err := a.Assign(t.Context(), maxWorker)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Worker(), int64(41+i); got != want {
			t.Errorf("worker = %d, want %d", got, want)
		}
		got := srv.Query(t, name, fmt.Sprintf("SELECT ID, HOST_NAME, PORT, TYPE FROM WORKER_NODE "+
			"WHERE ID = %d", c.Worker()))
		if got != want {
			t.Errorf("row = %q, want %q", got, want)
		}
	}
	old := srv.Query(t, name, `SELECT COUNT(*) FROM WORKER_NODE WHERE LAUNCH_DATE <> UTC_DATE()
		OR ABS(TIMESTAMPDIFF(SECOND, CREATED, UTC_TIMESTAMP())) > 60 OR MODIFIED <> CREATED`)
	if old != "0" {
		t.Errorf("rows with times other than now, UTC: %s, want 0", old)
	}
}

// TestDisposableMoved: the key that a move has raised the counter to, and those above it, are no worker
// ids. The claim of one below tells the database's time.
func TestDisposableMoved(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Disposable(connect(t, srv.DSN(name)), nil)
	srv.Query(t, name, fmt.Sprintf("ALTER TABLE WORKER_NODE AUTO_INCREMENT = %d", int64(1<<62-1)))
	c, err := a.Assign(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := c.(assigner.Clock).Now(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("the claim's Now = %v, %v", now, err)
	}
	for range 2 {
		if c, err := a.Assign(t.Context(), math.MaxInt64); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Assign = %v, %v, want ErrMoved", c, err)
		}
	}
}

// TestNoDatabase: an assigner without a database says so whatever it is asked for, and does not wait for one.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	d := workernode.Disposable(nil, nil)
	l := workernode.Leased(nil, &workernode.LeasedOptions{Namespace: "orders"})
	if got, want := l.String(), `WORKER_LEASE, namespace "orders"`; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	ctx := within(t, time.Minute)
	for what, call := range map[string]func() error{
		"Disposable: Assign": func() error { _, err := d.Assign(ctx, maxWorker); return err },
		"Disposable: Now":    func() error { _, err := d.(assigner.Clock).Now(ctx); return err },
		"Assign":             func() error { _, err := l.BindOwner("me").Assign(ctx, maxWorker); return err },
		"Now":                func() error { _, err := l.Now(ctx); return err },
		"Slots":              func() error { _, err := l.Slots(ctx); return err },
		"TakeBack":           func() error { return l.TakeBack(ctx, "") },
	} {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "db is nil or was not opened") || ctx.Err() != nil {
			t.Errorf("%s = %v, want the reason", what, err)
		}
		if !strings.HasPrefix(what, "Disposable") && !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%s = %v, want ErrRefused", what, err)
		}
	}
	if _, err := l.Now(ctx); errors.Is(err, lease.ErrConflict) {
		t.Errorf("Now = %v, want no ErrConflict", err)
	}
}

// originalTable is WORKER_NODE as the original's users have it, without defaults for the times.
const originalTable = `SET sql_mode = ''; CREATE TABLE WORKER_NODE (ID BIGINT NOT NULL AUTO_INCREMENT, HOST_NAME VARCHAR(64) NOT NULL,
	PORT VARCHAR(64) NOT NULL, TYPE INT NOT NULL, LAUNCH_DATE DATE NOT NULL,
	MODIFIED TIMESTAMP NOT NULL, CREATED TIMESTAMP NOT NULL,
	PRIMARY KEY(ID))`

// TestDisposableOriginalTable: the original's table does as well.
func TestDisposableOriginalTable(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	name := srv.CreateDB(t)
	srv.Query(t, name, originalTable)
	db := connect(t, srv.DSN(name))
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatalf("Migrate over an existing table: %v", err)
	}
	if c, err := workernode.Disposable(db, nil).Assign(t.Context(), maxWorker); err != nil || c.Worker() != 1 {
		t.Errorf("Assign = %v, %v, want worker 1", c, err)
	}
}

// TestDisposableSummertime: in the original's table UTC's time stands for local time, which not
// every time of the day is when clocks are set forward.
func TestDisposableSummertime(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	name := srv.CreateDB(t)
	srv.Query(t, name, originalTable)
	change := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC) // from 02:00 to 03:00 local time
	srv.Exec(t, "REPLACE INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (9999, 'N')",
		"REPLACE INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('Test/Summer', 9999)",
		"REPLACE INTO mysql.time_zone_transition_type VALUES (9999, 0, 3600, 0, 'W'), (9999, 1, 7200, 1, 'S')",
		fmt.Sprintf("REPLACE INTO mysql.time_zone_transition VALUES (9999, 0, 0), (9999, %d, 1)", change.Unix()))
	for i, after := range []time.Duration{-time.Hour, 90 * time.Minute, 3 * time.Hour} {
		db := connect(t, fmt.Sprintf("%s&time_zone='Test%%2FSummer'&timestamp=%d",
			srv.DSN(name), change.Add(after).Unix()))
		if c, err := workernode.Disposable(db, nil).Assign(t.Context(), maxWorker); err != nil ||
			c.Worker() != int64(i+1) {
			t.Errorf("Assign %v after the change = %v, %v, want worker %d", after, c, err, i+1)
		}
	}
}

// TestDisposableKeys: keys that are not worker ids are errors, never worker ids.
func TestDisposableKeys(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	a := workernode.Disposable(db, nil)

	srv.Query(t, name, "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 31")
	if _, err := a.Assign(t.Context(), 31); err != nil {
		t.Errorf("Assign of the highest worker id: %v", err)
	}
	_, err := a.Assign(t.Context(), 31)
	if !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Assign = %v, want ErrWorkersExhausted", err)
	}
	wantError(t, err, "key of WORKER_NODE is 32", "highest worker id is 31", "use workernode.Leased")

	// A key that the database does not generate is not read back: every node would be worker 0.
	srv.Query(t, name, "DROP TABLE WORKER_NODE; CREATE TABLE WORKER_NODE (ID BIGINT NOT NULL "+
		"DEFAULT 0, HOST_NAME TEXT, PORT TEXT, TYPE INT, LAUNCH_DATE DATE, MODIFIED DATETIME, CREATED DATETIME)")
	_, err = a.Assign(t.Context(), maxWorker)
	wantError(t, err, "has key 0, want above 0", "AUTO_INCREMENT")
}

// TestDisposableIncrement: a server that counts in steps uses worker ids up faster, and assigns
// none twice.
func TestDisposableIncrement(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	one := connect(t, srv.DSN(name)+"&auto_increment_increment=3&auto_increment_offset=2")
	two := connect(t, srv.DSN(name)+"&auto_increment_increment=3&auto_increment_offset=3")
	seen := map[int64]bool{}
	for range 5 {
		for i, db := range []*gorm.DB{one, two} {
			c, err := workernode.Disposable(db, nil).Assign(t.Context(), maxWorker)
			if err != nil {
				t.Fatal(err)
			}
			if w := c.Worker(); seen[w] || w%3 != int64(i+2)%3 {
				t.Errorf("worker %d of server %d, want a new one, %d modulo 3", w, i, (i+2)%3)
			}
			seen[c.Worker()] = true
		}
	}
}

// TestDisposableUnprivileged: an account that may not read WORKER_LEASE cannot tell which worker
// ids are leased, and is told what it lacks. Without the table there is nothing to tell.
func TestDisposableUnprivileged(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	user := "node_" + name
	srv.Exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT ON "+name+".WORKER_NODE TO "+user+"@'%'")
	db := connect(t, user+":"+dbtest.Password+"@tcp("+srv.Addr()+")/"+name)
	_, err := workernode.Disposable(db, nil).Assign(t.Context(), maxWorker)
	wantError(t, err, "inserting into WORKER_NODE", "SELECT command denied", "WORKER_LEASE", "it needs SELECT")
	srv.Query(t, name, "DROP TABLE WORKER_LEASE")
	if _, err := workernode.Disposable(connect(t, srv.DSN(name)), nil).Assign(t.Context(), maxWorker); err != nil {
		t.Errorf("Assign without WORKER_LEASE: %v", err)
	}
}

// TestDisposableUnknownOutcome: an answer that is lost costs a worker id at most.
func TestDisposableUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault dbtest.Fault
		match func([]byte) bool
		rows  string
	}{
		{dbtest.CutBeforeReply, statement("INSERT INTO WORKER_NODE"), "2"},
		{dbtest.CutBeforeRequest, statement("INSERT INTO WORKER_NODE"), "1"},
		{dbtest.CutBeforeReply, commitOf("INSERT INTO WORKER_NODE"), "2"},
		{dbtest.CutBeforeRequest, commitOf("INSERT INTO WORKER_NODE"), "2"},
	} {
		srv, name := maria(t)
		proxy := dbtest.NewProxy(t, srv.Addr())
		db := connect(t, srv.DSNVia(proxy.Addr(), name)+"&interpolateParams=true")
		proxy.SetOnce(tt.fault, tt.match)
		c, err := workernode.Disposable(db, nil).Assign(within(t, 20*time.Second), maxWorker)
		if err != nil {
			t.Fatal(err)
		}
		if proxy.Hits() != 1 {
			t.Fatalf("the fault was done %d times, want 1", proxy.Hits())
		}
		if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != tt.rows {
			t.Errorf("fault %d: rows = %s, want %s", tt.fault, got, tt.rows)
		}
		if got := srv.Query(t, name, "SELECT MAX(ID) FROM WORKER_NODE"); got != fmt.Sprint(c.Worker()) {
			t.Errorf("fault %d: worker = %d, want the last row's, %s", tt.fault, c.Worker(), got)
		}
	}
}

// TestDisposableOutage: Assign waits for a database that is down, and says so if that takes too
// long.
func TestDisposableOutage(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	name := srv.CreateDB(t)
	db := connect(t, srv.DSN(name))
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}
	_, err := workernode.Disposable(db, nil).Assign(within(t, 300*time.Millisecond), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Assign while the database is down = %v, want the ctx's error", err)
	}
	wantError(t, err, srv.Addr(), name, "inserting into WORKER_NODE")

	done := make(chan error)
	go func() {
		_, err := workernode.Disposable(db, nil).Assign(within(t, time.Minute), maxWorker)
		done <- err
	}()
	time.Sleep(100 * time.Millisecond) // so that the first attempts fail
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Assign while the database comes back: %v", err)
	}
}

// TestDisposableBlackHole: a network that swallows everything does not outlast the ctx.
func TestDisposableBlackHole(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	proxy.Set(dbtest.BlackHole)
	begin := time.Now()
	_, err := workernode.Disposable(connect(t, srv.DSNVia(proxy.Addr(), name)),
		nil).Assign(within(t, 300*time.Millisecond), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Assign into a black hole = %v, want the ctx's error", err)
	}
	wantError(t, err, proxy.Addr())
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("Assign took %v with a ctx of 300ms", d)
	}
}

// TestLogsCuts: a name that does not fit is cut visibly, and reported; one that fits is not.
func TestLogsCuts(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	long := strings.Repeat("ä", 200)
	host, owner := strings.Repeat("ä", 63)+"~", strings.Repeat("ä", 190)+"~"
	m := workernode.Machine{Env: env("JPAAS_HOST", long, "JPAAS_HTTP_PORT", "80")}
	const lastOwner = "SELECT OWNER FROM WORKER_LEASE ORDER BY WORKER_ID DESC LIMIT 1"
	newest := func(query string) (text string) {
		t.Helper()
		if err := db.Raw(query).Row().Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, start := range []func() assigner.Assigner{
		func() assigner.Assigner {
			return workernode.Disposable(db, &workernode.DisposableOptions{Host: long, Logger: logger})
		},
		func() assigner.Assigner {
			return workernode.LeasedOn(m, db, workernode.LeasedOptions{Logger: logger})
		},
	} {
		assign(t, start(), 1)
		wantLog(t, &log, "node name does not fit its column and was changed", "host="+host)
		if got := newest("SELECT HOST_NAME FROM WORKER_NODE ORDER BY ID DESC LIMIT 1"); got != host {
			t.Errorf("the row has the host %q, want %q", got, host)
		}
	}
	assign(t, workernode.Leased(db, &workernode.LeasedOptions{Owner: long, Logger: logger}), 1)
	wantLog(t, &log, "owner does not fit its slot and was changed", "owner="+owner)
	if got := newest(lastOwner); got != owner {
		t.Errorf("the row has the owner %q, want %q", got, owner)
	}
	b := workernode.Leased(db, &workernode.LeasedOptions{Owner: long, Logger: logger}).BindOwner(long[:382])
	assign(t, b, 1)
	if got := newest(lastOwner); got != long[:382] {
		t.Errorf("the row has the owner %q, want the bound one", got)
	}
	assign(t, workernode.Leased(db, &workernode.LeasedOptions{Owner: long}), 1) // without a logger
	assign(t, workernode.Disposable(db, &workernode.DisposableOptions{Host: long}), 1)
	if log.Len() > 0 {
		t.Errorf("log = %q, want nothing of a name that fits", log.String())
	}
}

// TestLeasedRow: the rows show which process has the worker id.
func TestLeasedRow(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	m := workernode.Machine{Env: env("JPAAS_HOST", "h", "JPAAS_HTTP_PORT", "8080")}
	assign(t, workernode.LeasedOn(m, connect(t, srv.DSN(name)), workernode.LeasedOptions{}), 1)
	got := srv.Query(t, name, "SELECT HOST_NAME, PORT, TYPE, OWNER FROM WORKER_NODE JOIN WORKER_LEASE "+
		"ON WORKER_ID = ID")
	if want := fmt.Sprintf("h\t8080\t1\th pid %d since 2023-11-14T22:13:20Z", os.Getpid()); got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
}

func ExampleDisposable() {
	ctx := context.Background()
	db, err := workernode.OpenMySQL("user:password@tcp(127.0.0.1:3306)/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	start := func() (assigner.Claim, error) {
		if err := workernode.Migrate(ctx, db); err != nil {
			return nil, err
		}
		return workernode.Disposable(db, nil).Assign(ctx, 1<<22-1)
	}
	_ = start
}

// TestDisposableLatin1: a name that the table's character set does not have is replaced where it
// has to be, also in strict mode. It is for the eyes of the operator.
func TestDisposableLatin1(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	srv.Query(t, name, "ALTER TABLE WORKER_NODE CONVERT TO CHARACTER SET latin1")
	db := connect(t, srv.DSN(name)+"&sql_mode='STRICT_ALL_TABLES'")
	for full, want := range map[string]string{"web-\U0001F680-1": "web-?-1", "\u7f51": "?", "plain": "plain"} {
		a := workernode.Disposable(db, &workernode.DisposableOptions{Host: full, Port: full})
		c, err := a.Assign(t.Context(), maxWorker)
		if err != nil {
			t.Errorf("Assign with the name %q: %v", full, err)
			continue
		}
		got := srv.Query(t, name, fmt.Sprint("SELECT HOST_NAME, PORT FROM WORKER_NODE WHERE ID = ", c.Worker()))
		if got != want+"\t"+want {
			t.Errorf("the row of %q has %q, want %q twice", full, got, want)
		}
	}
}
