package workernode

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// OpenMySQL opens a MySQL or MariaDB database for worker ids: times in UTC, autocommit, timeouts of 5 seconds to connect and 10 to read and write
// unless dsn sets others, connections that find their server read-only given up (so that a failover is followed), and a
// pool of at most 4. It does not connect, so it succeeds while the database is down; Assign waits for it.
//
// dsn has the form user:password@tcp(host:port)/database?param=value. No error shows it or its password. The driver,
// github.com/go-sql-driver/mysql, also prints to the standard error some of what it returns, unless the program calls its SetLogger.
func OpenMySQL(dsn string) (*gorm.DB, error) {
	// GORM's driver drops the error of a DSN that does not parse, so MySQL's is asked first. It does not connect.
	probe, err := sql.Open(mysql.DefaultDriverName, dsn)
	if err != nil {
		return nil, fmt.Errorf("workernode: the DSN does not parse%s; want user:password@tcp(host:port)/database", safe(err))
	}
	probe.Close()
	dialector, ok := mysql.Open(dsn).(*mysql.Dialector)
	if !ok || dialector.DSNConfig == nil {
		return nil, errors.New("workernode: GORM's MySQL driver has no configuration for the DSN")
	}
	cfg := dialector.DSNConfig
	// The driver looks for the last slash and the last at sign before it. Where the database or the host is missing, it takes them
	// from the password, and would show the parts as a database, a network and an address.
	if strings.ContainsAny(cfg.DBName, "@(") || strings.ContainsAny(cfg.Net, ":@") {
		return nil, errors.New("workernode: the DSN does not parse: a part of the password would be the host or the database; want " +
			"user:password@tcp(host:port)/database")
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("workernode: the DSN for %s names no database; want user:password@tcp(host:port)/database", cfg.Addr)
	}
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.RejectReadOnly = true
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 10 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	if _, ok := cfg.Params["time_zone"]; !ok {
		cfg.Params["time_zone"] = "'+00:00'"
	}
	// A change must be there for good when it is answered, not with the connection's end.
	cfg.Params["autocommit"] = "1"
	db, err := gorm.Open(mysql.New(mysql.Config{
		DSNConfig: cfg,
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
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("workernode: %w", err)
	}
	pool.SetMaxOpenConns(4)
	pool.SetMaxIdleConns(1)
	pool.SetConnMaxLifetime(5 * time.Minute)
	return db, nil
}

// safe returns the driver's complaint about a DSN if it is one of its fixed texts. The others quote parts of the DSN, and in one that
// is malformed any part may be the password.
func safe(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if reason, ok := strings.CutPrefix(err.Error(), "invalid DSN: "); ok {
			return ": " + reason
		}
	}
	return ""
}
