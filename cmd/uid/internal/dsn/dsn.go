// Package dsn parses data source names, opens their databases, and keeps their passwords out of
// what is printed.
package dsn

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/uidring/uidring/internal/mysqlurl"
)

// The dialects.
const (
	MySQL    = "mysql"
	Postgres = "postgres"
	SQLite   = "sqlite"
)

// Source is a parsed data source name.
type Source struct {
	Dialect string   // MySQL, Postgres or SQLite
	Place   string   // the kind and address of the database, without user and password
	Secrets []string // the passwords that the driver uses

	Embedded bool   // the SQLite file that is used when no database is named
	name     string // the name for the driver; for SQLite the path of the file
}

var (
	errForm = errors.New("not the name of a database; want mysql://user:password@host:3306/db, " +
		"user:password@tcp(host:3306)/db, postgres://user:password@host:5432/db, sqlite:PATH " +
		"or a file ending in .db or .sqlite")
	errMySQL = errors.New("not the name of a MySQL database; want " +
		"user:password@tcp(host:3306)/db?param=value")
	errURL = errors.New("not the name of a MySQL database; want " +
		"mysql://user:password@host:3306/db?param=value, with special characters " +
		"percent-encoded and no colon in the user")
	errPostgres = errors.New("not the name of a PostgreSQL database; want " +
		"postgres://user:password@host:5432/db, with special characters of the password " +
		"percent-encoded, or host=HOST user=USER password=PASSWORD dbname=DB")
)

// Parse parses a data source name. Its errors never quote the name, which may hold a password in a
// place where none is expected.
func Parse(text string) (Source, error) {
	text = strings.TrimSpace(text)
	scheme, rest, _ := strings.Cut(text, ":")
	scheme = strings.ToLower(scheme)
	switch isURL := strings.HasPrefix(rest, "//"); {
	case isURL && (scheme == "mysql" || scheme == "mariadb"):
		return parseURL(text)
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return parsePostgres(scheme + ":" + rest)
	case scheme == "sqlite" || scheme == "sqlite3" || scheme == "file":
		return File(strings.TrimPrefix(rest, "//"))
	case strings.Contains(text, "://"):
		return Source{}, errForm
	case strings.Contains(text, "@tcp(") || strings.Contains(text, "@unix("):
		return parseMySQL(text)
	}
	key, _, pairs := strings.Cut(text, "=")
	known := []string{"host", "user", "dbname", "port", "password", "sslmode", "service"}
	if pairs && slices.Contains(known, strings.TrimSpace(key)) {
		return parsePostgres(text)
	}
	extensions := []string{".db", ".db3", ".sqlite", ".sqlite3"}
	if !strings.Contains(text, "@") &&
		slices.Contains(extensions, strings.ToLower(filepath.Ext(text))) {
		return File(text)
	}
	return Source{}, errForm
}

// parseURL parses the URL of a MySQL database.
func parseURL(text string) (Source, error) {
	name, err := mysqlurl.DSN(text)
	if err != nil {
		return Source{}, errURL
	}
	s, err := parseMySQL(name)
	if err != nil {
		return Source{}, errURL
	}
	return s, nil
}

// parseMySQL parses a name in the form of the MySQL driver.
func parseMySQL(name string) (Source, error) {
	c, err := mysql.ParseDSN(name)
	// The driver looks for the last slash and the last @ before it. Without a host or a database,
	// it mistakes a part of the password for them.
	if err != nil || c.DBName == "" ||
		strings.ContainsAny(c.DBName, "@(") || strings.ContainsAny(c.Net, ":@") {
		return Source{}, errMySQL
	}
	place := "mysql at " + strings.Join(mysqlurl.Hosts(c.Addr), ",") + "/" + c.DBName
	return Source{Dialect: MySQL, Place: place, Secrets: []string{c.Passwd}, name: name}, nil
}

// parsePostgres parses a URL or a name in key=value form as the PostgreSQL driver does, with the
// environment variables and files that it uses.
func parsePostgres(name string) (Source, error) {
	c, err := pgconn.ParseConfig(name)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return Source{}, file
	}
	if err != nil {
		return Source{}, errPostgres
	}
	var addresses []string
	for _, f := range postgresHosts(c) {
		addresses = append(addresses, address(f[0]))
	}
	place := "postgres at " + strings.Join(addresses, ",") + "/" + c.Database
	return Source{Dialect: Postgres, Place: place, Secrets: []string{c.Password}, name: name}, nil
}

// File returns the Source of a SQLite file.
func File(path string) (Source, error) {
	switch {
	case path == "":
		return Source{}, errors.New("sqlite: without a path; want sqlite:PATH")
	case strings.ContainsAny(path, "?\x00"):
		return Source{}, errors.New("the path of a SQLite file may not hold a question mark or a " +
			"zero byte")
	case path == ":memory:":
		return Source{}, errors.New("a database in memory forgets its worker ids and would give " +
			"the same ids again; name a file")
	}
	return Source{Dialect: SQLite, Place: "sqlite file " + path, name: path}, nil
}
