package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// target is what a URL says.
type target struct {
	hosts          []string // host:port
	user, password string
	prefix         string // empty: the URL names none
	tls            bool
	ca, cert, key  string // paths of files
}

// errURL does not quote the URL, because it may hold a password in a place where none is expected.
var errURL = errors.New("etcd: no URL of etcd; want etcd://user:password@host:2379/prefix, with " +
	"special characters percent-encoded, hosts separated by commas, and the parameters tls, ca, " +
	"cert and key")

// parseURL reads a URL.
func parseURL(text string) (target, error) {
	var t target
	rest, ok := strings.CutPrefix(text, "etcd://")
	if !ok {
		return t, errURL
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	// Package url allows one host, so one takes the place of all of them.
	u, err := url.Parse("etcd://host" + rest[len(authority):])
	if err != nil || u.Fragment != "" {
		return t, errURL
	}
	account, hosts := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		account, hosts = authority[:i], authority[i+1:]
	}
	user, password, named := strings.Cut(account, ":")
	if t.user, err = url.PathUnescape(user); err != nil ||
		(account != "") != named || named && user == "" {
		return t, errURL
	}
	if t.password, err = url.PathUnescape(password); err != nil ||
		strings.Contains(password, ":") || named && password == "" {
		return t, errURL
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			host += ":2379"
		}
		if h, port, err := net.SplitHostPort(host); err != nil || h == "" || port == "" {
			return t, errURL
		}
		t.hosts = append(t.hosts, host)
	}
	t.prefix = strings.TrimSuffix(u.Path, "/")
	return t, t.parameters(u.Query())
}

// parameters reads what follows the question mark.
func (t *target) parameters(values url.Values) error {
	for name, v := range values {
		value := v[len(v)-1]
		switch name {
		case "tls":
			if value != "true" && value != "false" {
				return errors.New("etcd: the parameter tls of the URL wants true or false")
			}
			t.tls = t.tls || value == "true"
			continue
		case "ca":
			t.ca = value
		case "cert":
			t.cert = value
		case "key":
			t.key = value
		default:
			return errURL
		}
		t.tls = true
	}
	if (t.cert == "") != (t.key == "") {
		return errors.New("etcd: the URL has one of the parameters cert and key; want " +
			"both, or none")
	}
	return nil
}

// config returns the client's settings. A connection that gets no answer is given up within
// seconds, and the pause after one that failed stays within seconds too: by default it grows to
// minutes.
func (t target) config() (clientv3.Config, error) {
	var options []grpc.DialOption
	if t.user != "" {
		l := &login{user: t.user, password: t.password}
		options = append(options, grpc.WithChainUnaryInterceptor(l.unary))
	}
	scheme := "http://"
	c := clientv3.Config{
		DialTimeout:          5 * time.Second,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: append(options, grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: 3 * time.Second},
			MinConnectTimeout: 3 * time.Second,
		})),
		Logger: zap.NewNop(), // errors are returned
	}
	if t.tls {
		scheme = "https://"
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	for _, host := range t.hosts {
		c.Endpoints = append(c.Endpoints, scheme+host)
	}
	if t.ca != "" {
		text, err := os.ReadFile(t.ca)
		if err != nil {
			return c, fmt.Errorf("etcd: the parameter ca of the URL: %w", err)
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(text) {
			return c, fmt.Errorf("etcd: %s, the parameter ca of the URL, holds no certificate",
				t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return c, fmt.Errorf("etcd: the parameters cert and key of the URL: %w", err)
		}
		c.TLS.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
