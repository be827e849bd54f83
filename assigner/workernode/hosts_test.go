package workernode_test

import (
	"database/sql/driver"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	gormmysql "gorm.io/driver/mysql"
)

// TestHostsRefused: a missing connector is an error that says which one it is.
func TestHostsRefused(t *testing.T) {
	t.Parallel()
	one, err := new(mysql.MySQLDriver).OpenConnector("u:p@tcp(127.0.0.1:1)/ids")
	if err != nil {
		t.Fatal(err)
	}
	for want, hosts := range map[string][]driver.Connector{
		"no host": nil, "host 2 of 3 is nil": {one, nil, one},
	} {
		if c, err := workernode.Hosts(hosts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Hosts of %d connectors = %v, %v, want %q", len(hosts), c, err, want)
		}
	}
}

// TestHostsNamed: an error names each of the hosts, which a DSN may have without a port.
func TestHostsNamed(t *testing.T) {
	t.Parallel()
	refused, err := new(mysql.MySQLDriver).OpenConnector("u:p@tcp(127.0.0.1:1)/ids")
	if err != nil {
		t.Fatal(err)
	}
	c, err := workernode.Hosts(refused, refused)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Connect(t.Context())
	wantError(t, err, "host 1: ", "host 2: ", "127.0.0.1:1")
	db, err := workernode.OpenMySQL("u:p@tcp(127.0.0.1:1,::1)/ids")
	if err != nil {
		t.Fatal(err)
	}
	defer pool(t, db).Close()
	if got := db.Dialector.(*gormmysql.Dialector).DSNConfig.Addr; got != "127.0.0.1:1,[::1]:3306" {
		t.Errorf("the configuration has the address %q", got)
	}
	wantError(t, pool(t, db).PingContext(t.Context()), "127.0.0.1:1: ", "[::1]:3306: ")
}

// TestHosts: of several hosts the one that can be written to is used, wherever it stands and
// however often it changes, and an error says why there is none. A host that accepts connections
// and does not answer costs no attempt.
func TestHosts(t *testing.T) {
	t.Parallel()
	one, two := dbtest.MariaDB(t), dbtest.MariaDB(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	one.Exec(t, "CREATE DATABASE ids", "SET GLOBAL read_only = 1")
	two.Exec(t, "CREATE DATABASE ids")
	db := connect(t, "mysql://"+dbtest.User+":"+dbtest.Password+"@"+silent.Addr().String()+","+
		one.Addr()+","+two.Addr()+"/ids")
	p := pool(t, db)
	on := func(srv *dbtest.Server) {
		t.Helper()
		var port string
		begin := time.Now()
		if err := p.QueryRowContext(t.Context(), "SELECT @@port").Scan(&port); err != nil ||
			!strings.HasSuffix(srv.Addr(), ":"+port) {
			t.Errorf("after %v the pool is on port %s, %v, want %s", time.Since(begin), port, err, srv.Addr())
		}
		p.SetMaxIdleConns(0) // the next one connects again
	}
	on(two)
	on(two)
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	two.Exec(t, "SET GLOBAL read_only = 1")
	_, err = p.ExecContext(t.Context(), "DO 0")
	if text := "no host"; err == nil || !strings.Contains(err.Error(), text) ||
		!strings.Contains(err.Error(), two.Addr()+": the server is read-only: read_only is ON") ||
		strings.Contains(err.Error(), dbtest.Password) {
		t.Errorf("a statement with all servers read-only = %v, want %q and why", err, text)
	}
	one.Exec(t, "SET GLOBAL read_only = 0")
	on(one)
	if err := one.Kill(); err != nil {
		t.Fatal(err)
	}
	two.Exec(t, "SET GLOBAL read_only = 0")
	on(two)
}
