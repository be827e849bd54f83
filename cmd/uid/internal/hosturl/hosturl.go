// Package hosturl reads the URLs of servers that come in groups. One of etcd is
//
//	etcd://user:password@host1:2379,host2:2379/ids/orders?ca=ca.pem&cert=client.pem&key=client.key
package hosturl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// URL is what a URL says. Its errors never show the password.
type URL struct {
	Hosts          []string // host:port, at least one
	User, Password string   // both or none
	Path           string   // without a slash at the end; empty: there is none
	TLS            *tls.Config

	scheme, port  string
	ca, cert, key string // paths of files
}

// Parse reads a URL of a scheme such as "etcd", and the files that it names. Port is that of hosts
// without one. The parameters ca, cert, key and tls=true ask for TLS.
func Parse(scheme, port, text string) (*URL, error) {
	u := &URL{scheme: scheme, port: port}
	rest, ok := strings.CutPrefix(text, scheme+"://")
	if !ok {
		return nil, u.malformed()
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	// Package url allows one host, so one takes the place of all of them.
	parsed, err := url.Parse(scheme + "://host" + rest[len(authority):])
	if err != nil || parsed.Fragment != "" || !u.authority(authority) {
		return nil, u.malformed()
	}
	u.Path = strings.TrimSuffix(parsed.Path, "/")
	if err := u.parameters(parsed.Query()); err != nil {
		return nil, err
	}
	return u, u.readFiles()
}

// malformed does not quote the URL, because it may hold a password in a place where none is
// expected.
func (u *URL) malformed() error {
	return fmt.Errorf("%[1]s: no URL of %[1]s; want %[1]s://user:password@host:%[2]s/path, with "+
		"special characters percent-encoded, hosts separated by commas, and the parameters tls, "+
		"ca, cert and key", u.scheme, u.port)
}

// authority reads the part before the path, and reports whether it is sound.
func (u *URL) authority(text string) bool {
	account, hosts := "", text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		account, hosts = text[:i], text[i+1:]
	}
	user, password, named := strings.Cut(account, ":")
	var err error
	if u.User, err = url.PathUnescape(user); err != nil ||
		(account != "") != named || named && user == "" {
		return false
	}
	if u.Password, err = url.PathUnescape(password); err != nil ||
		strings.Contains(password, ":") || named && password == "" {
		return false
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			host += ":" + u.port
		}
		if h, port, err := net.SplitHostPort(host); err != nil || h == "" || port == "" {
			return false
		}
		u.Hosts = append(u.Hosts, host)
	}
	return true
}

// parameters reads what follows the question mark.
func (u *URL) parameters(values url.Values) error {
	secure := false
	for name, v := range values {
		value := v[len(v)-1]
		switch name {
		case "tls":
			if value != "true" && value != "false" {
				return fmt.Errorf("%s: the parameter tls of the URL wants true or false", u.scheme)
			}
			secure = secure || value == "true"
			continue
		case "ca":
			u.ca = value
		case "cert":
			u.cert = value
		case "key":
			u.key = value
		default:
			return u.malformed()
		}
		secure = true
	}
	if (u.cert == "") != (u.key == "") {
		return fmt.Errorf("%s: the URL has one of the parameters cert and key; want both, or none",
			u.scheme)
	}
	if secure {
		u.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}

// readFiles reads the files of the parameters.
func (u *URL) readFiles() error {
	if u.ca != "" {
		text, err := os.ReadFile(u.ca)
		u.TLS.RootCAs = x509.NewCertPool()
		if err == nil && !u.TLS.RootCAs.AppendCertsFromPEM(text) {
			err = errors.New(u.ca + " holds no certificate")
		}
		if err != nil {
			return fmt.Errorf("%s: the parameter ca of the URL: %w", u.scheme, err)
		}
	}
	if u.cert != "" {
		pair, err := tls.LoadX509KeyPair(u.cert, u.key)
		if err != nil {
			return fmt.Errorf("%s: the parameters cert and key of the URL: %w", u.scheme, err)
		}
		u.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}
