package main

import (
	"errors"
	"iter"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dialect is a kind of database.
type dialect string

const (
	mysqlDialect    dialect = "mysql"
	postgresDialect dialect = "postgres"
	sqliteDialect   dialect = "sqlite"
)

// dsn is a data source name that was understood.
type dsn struct {
	dialect  dialect
	source   string   // what the driver wants; for SQLite the file's path
	display  string   // where it leads, without user or password, for messages
	embedded bool     // the one in the cache folder
	secrets  []string // the password, as given and decoded
}

// dsnForms is the part of an error or a help text that says what a data source name looks like.
const dsnForms = "mysql://user:password@host:3306/db, user:password@tcp(host:3306)/db, " +
	"postgres://user:password@host:5432/db, sqlite:PATH or a file ending in .db or .sqlite"

var errDSN = errors.New("--dsn: not the name of a database; want " + dsnForms)

// parseDSN reads a data source name in any of the forms of dsnForms. Its errors never quote the name: it may hold a
// password in a place where none is expected.
func parseDSN(s string) (dsn, error) {
	s = strings.TrimSpace(s)
	scheme, rest, _ := strings.Cut(s, ":")
	switch strings.ToLower(scheme) {
	case "mysql", "mariadb":
		if strings.HasPrefix(rest, "//") {
			return mysqlURL(s)
		}
	case "postgres", "postgresql":
		if strings.HasPrefix(rest, "//") {
			return postgresURL(s)
		}
	case "sqlite", "sqlite3", "file":
		return sqlitePath(strings.TrimPrefix(rest, "//"))
	}
	switch {
	case strings.Contains(s, "://"):
		return dsn{}, errDSN
	case strings.Contains(s, "@tcp(") || strings.Contains(s, "@unix("):
		return mysqlNative(s)
	case isPostgresPairs(s):
		return postgresPairs(s)
	case !strings.Contains(s, "@") && isSQLiteName(s):
		return sqlitePath(s)
	}
	return dsn{}, errDSN
}

// mysqlURL turns a URL into the MySQL driver's own form, which OpenMySQL takes.
func mysqlURL(s string) (dsn, error) {
	u, err := url.Parse(s)
	name := ""
	if err == nil {
		name = strings.Trim(u.Path, "/")
	}
	if err != nil || u.Hostname() == "" || name == "" || strings.Contains(name, "/") || u.Fragment != "" {
		return dsn{}, errors.New("--dsn: want mysql://user:password@host:3306/db, with special characters of the password percent-encoded")
	}
	if strings.Contains(u.User.Username(), ":") {
		return dsn{}, errors.New("--dsn: the user name may not hold a colon, which ends it in the MySQL driver")
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	password, _ := u.User.Password()
	d := dsn{dialect: mysqlDialect, display: "mysql at " + addr + "/" + name, secrets: secretsOf(s, u)}
	var b strings.Builder
	if u.User != nil {
		b.WriteString(u.User.Username())
		if password != "" {
			b.WriteString(":" + password)
		}
		b.WriteString("@")
	}
	b.WriteString("tcp(" + addr + ")/" + url.PathEscape(name))
	if u.RawQuery != "" {
		b.WriteString("?" + u.RawQuery)
	}
	d.source = b.String()
	return d, nil
}

// mysqlNative reads user:password@protocol(address)/db. The last of each separator counts, as in the driver, because a
// password may hold any of them.
func mysqlNative(s string) (dsn, error) {
	d := dsn{dialect: mysqlDialect, source: s}
	head, tail := s, ""
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		head, tail = s[:i], s[i:]
	}
	db, _, _ := strings.Cut(tail, "?")
	at := strings.LastIndexByte(head, '@')
	if at < 0 || len(db) < 2 { // without a name the last slash may be one of the password's
		return dsn{}, errors.New("--dsn: names no database; want user:password@tcp(host:3306)/db")
	}
	_, password, _ := strings.Cut(head[:at], ":")
	d.secrets = []string{password}
	_, addr, _ := strings.Cut(head[at:], "(")
	d.display = "mysql at " + strings.TrimSuffix(addr, ")") + db
	return d, nil
}

func postgresURL(s string) (dsn, error) {
	u, err := url.Parse(s)
	if err != nil {
		return dsn{}, errors.New("--dsn: want postgres://user:password@host:5432/db, with special characters of the password percent-encoded")
	}
	host := u.Host
	if h := u.Query().Get("host"); host == "" && h != "" {
		host = h
	}
	d := dsn{dialect: postgresDialect, source: s, display: "postgres at " + host + u.Path, secrets: secretsOf(s, u)}
	for k, v := range u.Query() {
		if isSecretKey(k) {
			d.secrets = append(d.secrets, v...)
		}
	}
	return d, nil
}

// isSecretKey reports whether a parameter of that name is a password, as password and sslpassword are.
func isSecretKey(key string) bool { return strings.HasSuffix(strings.ToLower(key), "password") }

// isPostgresPairs reports whether s is in PostgreSQL's key=value form.
func isPostgresPairs(s string) bool {
	key, _, ok := strings.Cut(s, "=")
	return ok && slices.Contains([]string{"host", "user", "dbname", "port", "password", "sslmode", "service"}, strings.TrimSpace(key))
}

func postgresPairs(s string) (dsn, error) {
	d := dsn{dialect: postgresDialect, source: s}
	var host, db string
	for k, v := range pairs(s) {
		switch {
		case k == "host":
			host = v
		case k == "dbname":
			db = v
		case isSecretKey(k):
			d.secrets = append(d.secrets, v)
		}
	}
	d.display = "postgres at " + host + "/" + db
	return d, nil
}

// pair is one of a data source name in key=value form: a key, and a value that may stand in single quotes, with backslashes
// before what would end it.
var pair = regexp.MustCompile(`(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'?|((?:[^\s\\]|\\.)*))`)

// pairs yields the keys and values of s, the latter without quotes and backslashes.
func pairs(s string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, m := range pair.FindAllStringSubmatch(s, -1) {
			if !yield(m[1], escaped.ReplaceAllString(m[2]+m[3], "$1")) {
				return
			}
		}
	}
}

// escaped is a character of a value with the backslash before it.
var escaped = regexp.MustCompile(`(?s)\\(.)`)

func isSQLiteName(s string) bool {
	switch strings.ToLower(filepath.Ext(s)) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return true
	}
	return false
}

func sqlitePath(path string) (dsn, error) {
	switch {
	case path == "":
		return dsn{}, errors.New("--dsn: sqlite: without a path; want sqlite:PATH")
	case strings.ContainsAny(path, "?\x00"):
		return dsn{}, errors.New("--dsn: the path of a SQLite file may not hold a question mark or a zero byte")
	case path == ":memory:":
		return dsn{}, errors.New("--dsn: a database in memory forgets its worker ids and would give the same ids again; name a file")
	}
	return dsn{dialect: sqliteDialect, source: path, display: "sqlite file " + path}, nil
}

// secretsOf returns the password of u, which was parsed from s, decoded and as it stands there.
func secretsOf(s string, u *url.URL) []string {
	password, ok := u.User.Password()
	if !ok {
		return nil
	}
	_, raw, _ := strings.Cut(s, "://")
	raw, _, _ = strings.Cut(raw, "/")
	raw = raw[:max(strings.LastIndexByte(raw, '@'), 0)]
	_, raw, _ = strings.Cut(raw, ":")
	return []string{password, raw}
}
