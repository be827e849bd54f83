package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/hosturl"
)

// Options configures an Assigner. nil and zero fields mean the defaults.
type Options struct {
	// Namespace is the node that everything is kept under: a path such as /ids/orders, at most 255
	// bytes. It is one universe of ids, with one layout: IDS OF TWO NAMESPACES MAY BE EQUAL.
	// Default /uidring.
	Namespace string

	// Digest is "user:password" for ZooKeeper's digest authentication. Nodes are created for that
	// user alone. Default: for every client that can reach ZooKeeper.
	Digest string

	// Dial connects to a server. Default: TCP, and with a URL that asks for it TLS.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Lease has the options that all authorities share.
	Lease lease.Options

	_ struct{} // keeps literals keyed
}

// Open returns an Assigner for the ZooKeeper of a URL. Its claims are assigner.Clocks. It connects
// in the background and does not wait for ZooKeeper; the first Assign does. The client runs
// goroutines until the caller closes the Assigner, after the generators that use it. Close takes
// about a second if ZooKeeper does not answer. Claims stay valid until their windows end, and
// cannot be extended or released after it.
//
//	zookeeper://user:password@host1:2181,host2/ids/orders?ca=ca.pem&cert=client.pem&key=client.key
//
// User, ports (2181), path (the Namespace, where o names none) and parameters may be left out.
// Special characters of user and password, the Digest, are percent-encoded. ca is a file with the
// certificates to trust, cert and key are files with the client's own certificate and its key. With
// any of them, or with tls=true, the connection is TLS. Errors never show the password.
func Open(url string, o *Options) (*lease.Assigner, error) {
	u, err := hosturl.Parse("zookeeper", "2181", url)
	if err != nil {
		return nil, err
	}
	var opts Options
	if o != nil {
		opts = *o
	}
	namespace := cmp.Or(opts.Namespace, u.Path)
	if opts.Namespace, err = hosturl.Namespace("zookeeper", namespace); err != nil {
		return nil, err
	}
	if u.User != "" {
		opts.Digest = u.User + ":" + u.Password
	}
	if opts.Digest != "" && !strings.Contains(opts.Digest, ":") { // the value is a secret
		return nil, errors.New("zookeeper: Digest has no colon, want user:password")
	}
	if opts.Dial == nil {
		opts.Dial = new(net.Dialer).DialContext
		if u.TLS != nil {
			opts.Dial = (&tls.Dialer{Config: u.TLS}).DialContext
		}
	}
	if opts.Lease.Logger == nil {
		opts.Lease.Logger = slog.New(slog.DiscardHandler)
	}
	s := &session{servers: u.Hosts, digest: opts.Digest, dial: opts.Dial, log: opts.Lease.Logger,
		timeout: sessionTimeout}
	a, err := lease.New(newStore(s, &opts), &opts.Lease)
	if err != nil {
		return nil, err
	}
	if s.link, err = s.connect(); err != nil {
		return nil, err
	}
	return a, nil
}
