// Package mysqlurl puts the URL of a MySQL database into the form of its driver, which has none for
// URLs, and takes the addresses of several hosts apart.
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

// defaultPort is MySQL's.
const defaultPort = "3306"

// DSN returns the driver's form of a URL with the scheme mysql or mariadb, and any other text as it
// is. The driver's form cannot hold a user with a colon. A URL may have several hosts, with commas
// in between; Hosts takes them apart.
func DSN(text string) (string, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !isURL || scheme != "mysql" && scheme != "mariadb" {
		return text, nil // also where the password holds ://
	}
	// The parser takes one host, so each has a turn.
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	begin := strings.LastIndexByte(rest[:end], '@') + 1
	var addresses []string
	var u *url.URL
	for host := range strings.SplitSeq(rest[begin:end], ",") {
		var err error
		u, err = url.Parse("mysql://" + rest[:begin] + host + rest[end:])
		if err != nil || u.Hostname() == "" || u.Fragment != "" ||
			strings.Contains(u.User.Username(), ":") ||
			strings.Contains(strings.Trim(u.Path, "/"), "/") {
			return "", Err
		}
		addresses = append(addresses,
			net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPort)))
	}
	var account string
	if u.User != nil {
		account = u.User.Username()
		if password, ok := u.User.Password(); ok {
			account += ":" + password
		}
		account += "@"
	}
	dsn := account + "tcp(" + strings.Join(addresses, ",") + ")/" +
		url.PathEscape(strings.Trim(u.Path, "/"))
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	return dsn, nil
}

// Hosts returns the addresses in the one of the driver's configuration, each with a port. The
// driver mistakes several for one host without a port.
func Hosts(address string) []string {
	if !strings.Contains(address, ",") {
		return []string{address}
	}
	if inner, ok := strings.CutSuffix(address, "]:"+defaultPort); ok {
		if inner, ok = strings.CutPrefix(inner, "["); ok {
			address = inner
		}
	}
	hosts := strings.Split(address, ",")
	for i, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			hosts[i] = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
		}
	}
	return hosts
}
