// Package mysqlurl puts the URL of a MySQL database into the form of its driver, which has none for
// URLs.
package mysqlurl

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"
)

// Err is the error of every malformed URL. It does not quote it: any part of one that is malformed
// may be the password.
var Err = errors.New("the DSN does not parse; want mysql://user:password@host:port/database, " +
	"with special characters percent-encoded and no colon in the user")

// DSN returns the driver's form of a URL with the scheme mysql or mariadb, and any other text as it
// is. The driver's form cannot hold a user with a colon.
func DSN(text string) (string, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !isURL || scheme != "mysql" && scheme != "mariadb" {
		return text, nil // also where the password holds ://
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil || u.Hostname() == "" || u.Fragment != "" ||
		strings.Contains(u.User.Username(), ":") ||
		strings.Contains(strings.Trim(u.Path, "/"), "/") {
		return "", Err
	}
	var account string
	if u.User != nil {
		account = u.User.Username()
		if password, ok := u.User.Password(); ok {
			account += ":" + password
		}
		account += "@"
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	dsn := account + "tcp(" + address + ")/" + url.PathEscape(strings.Trim(u.Path, "/"))
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	return dsn, nil
}
