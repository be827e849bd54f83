package workernode_test

import (
	"context"
	"log"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// TestOpenMySQLErrors: whatever is wrong with a DSN, the error says so without showing it. The
// password stands in every place where a slip of the hand may put it.
func TestOpenMySQLErrors(t *testing.T) {
	t.Parallel()
	const pw = dbtest.Password
	for _, tt := range []struct{ name, dsn, want string }{
		{"empty", " ", "the DSN is empty"},
		{"no slash", "user:" + pw + "@tcp(h:1)", "missing the slash"},
		{"unclosed address", "user:" + pw + "@tcp(h:1/db", "not terminated"},
		{"no address", "user:" + pw + "@" + pw + "/db", "does not parse"},
		{"no network", "user:" + pw + "/db", "does not parse"},
		{"unescaped", "user:" + pw + "@tcp(h:1)" + pw + "/db", "did you forget to escape"},
		{"a URL without a database", "mysql://user:" + pw + "@h:1", "names no database"},
		{"a URL without a host", "mysql://user:" + pw + "@/db", "percent-encoded"},
		{"a URL with two slashes", "mysql://user:" + pw + "@h/db/" + pw, "percent-encoded"},
		{"a URL with a colon in the user", "mysql://us%3Aer:" + pw + "@h/db", "percent-encoded"},
		{"a URL whose password is not encoded", "mysql://user:x/" + pw + "#@h/db", "percent-encoded"},
		{"a URL of another database", "postgres://user:" + pw + "@h:1/db", "does not parse"},
		{"bad parameter", "user:" + pw + "@tcp(h:1)/db?parseTime=" + pw, "does not parse"},
		{"bad time zone", "user:" + pw + "@tcp(h:1)/db?loc=" + pw, "does not parse"},
		{"bad database", "user:" + pw + "@tcp(h:1)/%zz" + pw, "does not parse"},
		{"slash in the password, no database", "user:x/" + pw + "@tcp(h:1)", "does not parse"},
		{"slash and brackets in the password, no database", "user:x(" + pw + ")/x@tcp(h:1)", "a part of the password"},
		{"at sign and slash in the password, no database", "user:x@y(z)/" + pw + "@tcp(h:1)", "a part of the password"},
		{"no host", "user:x(" + pw + ")/db", "a part of the password"},
		{"no database", "user:" + pw + "@tcp(h:1)/", "names no database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, err := workernode.OpenMySQL(tt.dsn)
			if db != nil {
				t.Errorf("db = %v, want nil", db)
			}
			wantError(t, err, tt.want)
		})
	}
}

func FuzzOpenMySQL(f *testing.F) {
	f.Add("user", "@tcp(h:1)/db?parseTime=true")
	f.Add("", "@/")
	f.Add("u", "/db?a=b@")
	f.Add("mysql://u", "@h:1/db?timeout=1s")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "\x01secret\x01" // cannot come from the texts around it
		if _, err := workernode.OpenMySQL(before + ":" + secret + after); err != nil &&
			strings.Contains(err.Error(), "secret") {
			t.Errorf("error shows the password: %q", err)
		}
	})
}

// TestOpenMySQL: it connects to nothing, keeps the DSN's own timeouts, and its sessions are in UTC.
func TestOpenMySQL(t *testing.T) {
	t.Parallel()
	db, err := workernode.OpenMySQL("user:pw@tcp(127.0.0.1:1)/db?timeout=7s&readTimeout=8s")
	if err != nil {
		t.Fatalf("OpenMySQL while the server is down: %v", err)
	}
	cfg := db.Dialector.(*mysql.Dialector).DSNConfig
	if cfg.Timeout != 7*time.Second || cfg.ReadTimeout != 8*time.Second || cfg.WriteTimeout != 10*time.Second {
		t.Errorf("timeouts = %v, %v, %v, want 7s, 8s as given and 10s", cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout)
	}

	for password := range strings.FieldsSeq("p@ss p/ss p:ss p%40ss p(s)s p@tcp(h:1)/ss ключ \"'`") {
		db, err := workernode.OpenMySQL("user:" + password + "@tcp(127.0.0.1:1)/db")
		if err != nil {
			t.Errorf("password %q: %v", password, err)
		} else if cfg := db.Dialector.(*mysql.Dialector).DSNConfig; cfg.Passwd != password || cfg.DBName != "db" {
			t.Errorf("password %q and database db came in as %q and %q", password, cfg.Passwd, cfg.DBName)
		}
	}

	url := "mysql://us%20er:p%40%2Fs%3As@[::1]/d%2Db?timeout=7s"
	if db, err = workernode.OpenMySQL(url); err != nil {
		t.Fatalf("OpenMySQL(%q): %v", url, err)
	}
	cfg = db.Dialector.(*mysql.Dialector).DSNConfig
	if cfg.User != "us er" || cfg.Passwd != "p@/s:s" || cfg.Addr != "[::1]:3306" || cfg.DBName != "d-b" ||
		cfg.Timeout != 7*time.Second {
		t.Errorf("%s came in as %q, %q, %q, %q, %v", url, cfg.User, cfg.Passwd, cfg.Addr, cfg.DBName, cfg.Timeout)
	}

	// The last line break of a file is no part of what it holds.
	for _, dsn := range []string{"us:pw@tcp(h:1)/db\n", "us:pw@tcp(h:1)/db?timeout=7s\r\n", "mysql://us:pw@h:1/db\n"} {
		db, err := workernode.OpenMySQL(dsn)
		if err != nil {
			t.Errorf("OpenMySQL(%q): %v", dsn, err)
		} else if cfg := db.Dialector.(*mysql.Dialector).DSNConfig; cfg.User != "us" || cfg.DBName != "db" {
			t.Errorf("%q came in as %q, %q", dsn, cfg.User, cfg.DBName)
		}
	}

	srv, name := maria(t)
	var zone string
	var now time.Time
	row := connect(t, srv.DSN(name)).Raw("SELECT @@session.time_zone, NOW()").Row()
	if err := row.Scan(&zone, &now); err != nil {
		t.Fatal(err)
	}
	if zone != "+00:00" || now.Location() != time.UTC || time.Since(now).Abs() > time.Minute {
		t.Errorf("session zone = %q, now = %v, want +00:00 and the current time in UTC", zone, now)
	}
}

// TestBadDatabases: what the database refuses is an error at once that says what to do, and never shows the password.
func TestBadDatabases(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	empty := srv.CreateDB(t)
	srv.Exec(t, "CREATE USER reader@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT ON "+name+".* TO reader@'%'")
	as := func(user, password, db string) string {
		return user + ":" + password + "@tcp(" + srv.Addr() + ")/" + db
	}
	for _, tt := range []struct {
		name, dsn string
		want      []string
	}{
		{"wrong password", as(dbtest.User, dbtest.Password+"x", name),
			[]string{"Access denied", srv.Addr(), "check the account"}},
		{"wrong user", as("nobody", dbtest.Password, name), []string{"Access denied", srv.Addr()}},
		{"no such database", as(dbtest.User, dbtest.Password, "nosuch"),
			[]string{"Unknown database 'nosuch'", srv.Addr()}},
		{"no tables", as(dbtest.User, dbtest.Password, empty), []string{"doesn't exist", "workernode.Migrate"}},
		{"read only account", as("reader", dbtest.Password, name), []string{"denied", "SELECT, INSERT and UPDATE"}},
		{"nobody listens", dbtest.User + ":" + dbtest.Password + "@tcp(127.0.0.1:1)/x",
			[]string{"127.0.0.1:1", "refused"}},
		{"no such host", dbtest.User + ":" + dbtest.Password + "@tcp(no-such-host.invalid:1)/x",
			[]string{"no-such-host.invalid"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := connect(t, tt.dsn)
			begin := time.Now()
			for _, a := range assigners(db) {
				_, err := a.Assign(within(t, time.Second), maxWorker)
				wantError(t, err, tt.want...)
			}
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("took %v with a ctx of 1s", d)
			}
		})
	}
}

// printed is a driver.Logger that counts lines.
type printed struct{ lines atomic.Int64 }

func (p *printed) Print(...any) { p.lines.Add(1) }

// TestNothingPrinted: the driver prints nothing of a connection that breaks off while the server
// greets. Not parallel, because it sets the driver's default logger.
func TestNothingPrinted(t *testing.T) {
	var p printed
	if err := driver.SetLogger(&p); err != nil {
		t.Fatal(err)
	}
	defer driver.SetLogger(log.Default())
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	db, err := workernode.OpenMySQL("root@tcp(" + l.Addr().String() + ")/db")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.PingContext(t.Context()); err == nil {
		t.Error("a server that hangs up answers")
	}
	if n := p.lines.Load(); n > 0 {
		t.Errorf("the driver prints %d lines", n)
	}
}

// TestReadOnly: a server that is read-only, as during a failover, is waited for.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	name := srv.CreateDB(t)
	if err := workernode.Migrate(t.Context(), connect(t, srv.DSN(name))); err != nil {
		t.Fatal(err)
	}
	// Read-only does not bind an account that has every privilege.
	srv.Exec(t, "CREATE USER app@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".* TO app@'%'",
		"SET GLOBAL read_only = ON")
	db := connect(t, "app:"+dbtest.Password+"@tcp("+srv.Addr()+")/"+name)
	for _, a := range assigners(db) {
		_, err := a.Assign(within(t, 8*time.Second), maxWorker) // whole attempts, on a busy machine too
		wantError(t, err, srv.Addr(), "1290", "the server is read-only")
	}
	srv.Exec(t, "SET GLOBAL read_only = OFF")
	for _, a := range assigners(db) {
		if _, err := a.Assign(within(t, 20*time.Second), maxWorker); err != nil {
			t.Errorf("Assign after the failover, with the least privileges: %v", err)
		}
	}
}

// TestBadDB: what is not a usable *gorm.DB is refused, everywhere.
func TestBadDB(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	good := connect(t, srv.DSN(name))
	closed := connect(t, srv.DSN(name))
	if pool, err := closed.DB(); err != nil || pool.Close() != nil {
		t.Fatal(err)
	}
	tx := good.Begin()
	defer tx.Rollback()
	for _, tt := range []struct {
		name string
		db   *gorm.DB
		want string
	}{
		{"nil", nil, "db is nil"},
		{"zero", &gorm.DB{}, "db is nil or was not opened"},
		{"transaction", tx, "db is a transaction"},
		{"closed", closed, "database is closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := within(t, 5*time.Second)
			for _, a := range assigners(tt.db) {
				_, err := a.Assign(ctx, maxWorker)
				wantError(t, err, tt.want)
			}
			wantError(t, workernode.Migrate(ctx, tt.db), tt.want)
			if ctx.Err() != nil {
				t.Errorf("the refusals took until the ctx ended: %v", context.Cause(ctx))
			}
		})
	}
}
