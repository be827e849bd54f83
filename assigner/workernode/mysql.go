package workernode

import (
	"cmp"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/mysqlurl"
	"github.com/uidring/uidring/internal/sqldb"
)

// OpenMySQL opens a MySQL or MariaDB database for worker ids: times in UTC, timeouts of 5 seconds
// to connect and 10 to read and write unless dsn sets others, a statement and its arguments sent
// together unless dsn sets a character set or a collation, and a pool of at most 4, which closes
// connections that were idle for 2 seconds. It does not connect, so it succeeds while the database
// is down; Assign waits for it.
//
// dsn is user:password@tcp(host:port)/database?param=value, or
// mysql://user:password@host:port/database?param=value with special characters percent-encoded.
// Several hosts with commas in between, such as the members of a group that fails over, are used as
// Hosts does: the one that can be written to, in a group the primary while a majority is reachable.
// White space around it is left out. No error shows it or its password. The driver prints nothing
// to the standard error: what it says there it returns as well.
//
// The pool is the caller's to close. It is safe for concurrent use, and may be shared by all users
// of the database in the program; 4 connections are enough for worker ids, because an Assign, an
// Extend and a Release use one at a time.
func OpenMySQL(dsn string) (*gorm.DB, error) {
	dsn = strings.TrimSpace(dsn) // a file's last line break, where a secret was one
	if dsn == "" {
		return nil, errors.New("workernode: the DSN is empty; want " +
			"user:password@tcp(host:port)/database or mysql://user:password@host:port/database")
	}
	// Both forms end as the driver's own, so that everything below has one to check.
	dsn, err := mysqlurl.DSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("workernode: %w", err)
	}
	cfg, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("workernode: the DSN does not parse%s; want "+
			"user:password@tcp(host:port)/database", safe(err))
	}
	// The driver looks for the last slash and the last at sign before it. Where the database or the
	// host is missing, it takes them from the password, and would show the parts as a database, a
	// network and an address.
	if strings.ContainsAny(cfg.DBName, "@(") || strings.ContainsAny(cfg.Net, ":@") {
		return nil, errors.New("workernode: the DSN does not parse: a part of the password would " +
			"be the host or the database; want " +
			"user:password@tcp(host:port)/database")
	}
	// The first statement would fail for it, long after this call.
	if cfg.DBName == "" {
		return nil, fmt.Errorf("workernode: the DSN for %s names no database; want "+
			"user:password@tcp(host:port)/database", cfg.Addr)
	}
	// Without these the meaning of a time would depend on the machine.
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	// The driver would hide that a server is read-only behind driver.ErrBadConn. What uses the pool
	// here gives such a connection up by itself, so that the next one may find the new primary.
	cfg.RejectReadOnly = false
	// The driver has no timeouts of its own: a black hole would hold a connection until the kernel
	// gives it up, for a quarter of an hour.
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.ReadTimeout = cmp.Or(cfg.ReadTimeout, 10*time.Second)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 10*time.Second)
	// The parameters of the session, which the driver sets when it connects.
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	if _, ok := cfg.Params["time_zone"]; !ok {
		// For the original's TIMESTAMP columns, which the server converts from the session's zone.
		cfg.Params["time_zone"] = "'+00:00'"
	}
	// Preparing a statement that runs once is a round trip more. The driver quotes what is UTF-8,
	// which is its own choice of a character set.
	if !strings.Contains(dsn, "charset=") && !strings.Contains(dsn, "collation=") {
		cfg.InterpolateParams = true
	}
	// The driver would print what it returns. A DSN has no place for a logger, so the pool is made
	// here and not by GORM.
	cfg.Logger = &driver.NopLogger{}
	addrs := mysqlurl.Hosts(cfg.Addr)
	cfg.Addr = strings.Join(addrs, ",") // as messages show it
	connector, err := newConnector(cfg, addrs)
	if err != nil {
		return nil, fmt.Errorf("workernode: the DSN for %s is not usable%s", cfg.Addr, safe(err))
	}
	pool := sql.OpenDB(connector)
	db, err := gorm.Open(mysql.New(mysql.Config{
		Conn: pool, DSNConfig: cfg,
		// Asking for the version would connect, without a ctx.
		SkipInitializeWithVersion: true,
	}), &gorm.Config{
		DisableAutomaticPing:   true,
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // errors are returned, not printed as well
	})
	if err != nil {
		return nil, fmt.Errorf("workernode: the DSN for %s is not usable%s", cfg.Addr, safe(err))
	}
	pool.SetMaxOpenConns(4)
	pool.SetMaxIdleConns(1)
	// A connection that is in use all the time is replaced as well, so that a proxy or a name that
	// points to another server is followed.
	pool.SetConnMaxLifetime(5 * time.Minute)
	// A worker id needs the database for a moment every few minutes. A fleet that kept its
	// connections meanwhile would use up the server's, 151 by default.
	pool.SetConnMaxIdleTime(2 * time.Second)
	return db, nil
}

// newConnector returns the connector of one address, or of several of which one can be written to.
// A single server is connected to whatever it says, because a doctor has to.
func newConnector(cfg *driver.Config, addrs []string) (sqldriver.Connector, error) {
	if len(addrs) == 1 {
		return driver.NewConnector(cfg)
	}
	return sqldb.MySQLHosts(cfg, addrs)
}

// safe returns the driver's complaint about a DSN if it is one of its fixed texts, with a colon
// before it, and otherwise nothing. The others quote parts of the DSN, and in one that is malformed
// any part may be the password.
func safe(err error) string {
	for _, fault := range []string{"x", "@tcp(x/", "@tcp(x)x/",
		"/?interpolateParams=true&collation=big5_chinese_ci"} {
		// The driver does not export its errors, but returns the same one for the same fault.
		if _, fixed := driver.ParseDSN(fault); errors.Is(err, fixed) {
			return ": " + fixed.Error()
		}
	}
	return ""
}
