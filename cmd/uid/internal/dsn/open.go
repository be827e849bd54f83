package dsn

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/glebarez/sqlite"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/sqldb"
)

// Open opens s and makes sure that it answers.
func (s Source) Open(ctx context.Context) (*gorm.DB, error) {
	db, err := s.Pool()
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// Pool opens s without making sure that it answers.
func (s Source) Pool() (db *gorm.DB, err error) {
	config := &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}
	switch s.Dialect {
	case MySQL:
		db, err = workernode.OpenMySQL(s.name)
	case Postgres:
		db, err = openPostgres(s.name, config)
	default:
		db, err = openSQLite(s.name, config)
	}
	return db, err
}

// openPostgres opens a PostgreSQL database. Of several hosts the one that can be written to is
// used, or the first that has the target_session_attrs of the name.
func openPostgres(name string, config *gorm.Config) (*gorm.DB, error) {
	c, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, errPostgres
	}
	var hosts []sqldb.Host
	for _, f := range postgresHosts(&c.Config) {
		one := c.Copy()
		one.Host, one.Port = f[0].Host, f[0].Port
		one.TLSConfig, one.Fallbacks = f[0].TLSConfig, f[1:]
		if one.ValidateConnect == nil {
			one.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
		connector := stdlib.GetConnector(*one)
		hosts = append(hosts, sqldb.Host{Addr: address(f[0]), Connector: connector})
	}
	if len(hosts) == 1 { // whatever it says: a doctor connects to a standby as well
		return gorm.Open(postgres.Open(name), config)
	}
	pool := sql.OpenDB(sqldb.NewHosts(hosts))
	return gorm.Open(postgres.New(postgres.Config{DSN: name, Conn: pool}), config)
}

// postgresHosts returns the hosts of a configuration, each with the ways to connect to it, with TLS
// and without.
func postgresHosts(c *pgconn.Config) (hosts [][]*pgconn.FallbackConfig) {
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}},
		c.Fallbacks...)
	for _, f := range all {
		if n := len(hosts); n > 0 && address(hosts[n-1][0]) == address(f) {
			hosts[n-1] = append(hosts[n-1], f)
		} else {
			hosts = append(hosts, []*pgconn.FallbackConfig{f})
		}
	}
	return hosts
}

// address returns the folder of a socket, or the address of a host.
func address(f *pgconn.FallbackConfig) string {
	if strings.HasPrefix(f.Host, "/") {
		return f.Host
	}
	return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))
}

// openSQLite opens the file at path, and creates it if need be. It allows one connection, because
// SQLite has one writer. Other processes wait for the file lock for up to 10 s, and transactions
// take that lock when they begin, so that none fails halfway.
func openSQLite(path string, config *gorm.Config) (*gorm.DB, error) {
	// Opening the file here first gives the operating system's reason, where SQLite only says
	// "unable to open database file".
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	name := path + "?_pragma=busy_timeout(10000)&_txlock=immediate"
	db, err := gorm.Open(sqlite.Open(name), config)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, nil
}

// Answered reports whether err has what a server has said, so that it did not fail to answer.
func Answered(err error) bool {
	var state interface{ SQLState() string }
	return errors.Is(err, sqldb.ErrNoHost) || sqldb.MySQLCode(err) != 0 || errors.As(err, &state)
}

// Close closes the connections of db.
func Close(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
