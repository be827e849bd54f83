package zookeeper

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storepath"
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

	// Dial connects to a server, for TLS that of a tls.Dialer. Default: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Lease has the options that all authorities share.
	Lease lease.Options

	_ struct{} // keeps literals keyed
}

// Open returns an Assigner for the ZooKeeper of some servers, such as zk1:2181. Its claims are
// assigner.Clocks. It connects in the background and does not wait for ZooKeeper; the first Assign
// does. The client runs goroutines until the caller closes the Assigner, after the generators that
// use it. Close takes about a second if ZooKeeper does not answer. Claims stay valid until their
// windows end, and cannot be extended or released after it. Errors never show the Digest.
func Open(servers []string, o *Options) (*lease.Assigner, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	var err error
	if opts.Namespace, err = storepath.Of("zookeeper", opts.Namespace); err != nil {
		return nil, err
	}
	if opts.Digest != "" && !strings.Contains(opts.Digest, ":") { // the value is a secret
		return nil, errors.New("zookeeper: Digest has no colon, want user:password")
	}
	if opts.Dial == nil {
		opts.Dial = new(net.Dialer).DialContext
	}
	if opts.Lease.Logger == nil {
		opts.Lease.Logger = slog.New(slog.DiscardHandler)
	}
	s := &session{servers: servers, digest: opts.Digest, dial: opts.Dial, log: opts.Lease.Logger,
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
