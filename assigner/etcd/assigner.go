package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/hosturl"
)

// Options configures an Assigner. nil and zero fields mean the defaults.
type Options struct {
	// Namespace is the path that every key begins with, such as /ids/orders, at most 255 bytes. It
	// is one universe of ids, with one layout: IDS OF TWO NAMESPACES MAY BE EQUAL. Default
	// /uidring.
	Namespace string

	// Lease has the options that all authorities share.
	Lease lease.Options

	_ struct{} // keeps literals keyed
}

// New returns an Assigner that uses client. It does no I/O. The caller closes client, after the
// generators. Open makes a client of its own.
func New(client *clientv3.Client, o *Options) (*lease.Assigner, error) {
	if client == nil {
		return nil, errors.New("etcd: the client is nil")
	}
	return newAssigner(&store{client: client}, o, "")
}

// Open connects to the etcd of a URL and returns an Assigner. The client runs goroutines until the
// caller closes the Assigner, after the generators that use it. Claims stay valid until their
// windows end, and cannot be extended or released after Close.
//
//	etcd://user:password@host1:2379,host2:2379/ids/orders?ca=ca.pem&cert=client.pem&key=client.key
//
// User, ports (2379), path (the Namespace, where o names none) and parameters may be left out.
// Special characters of user and password are percent-encoded. ca is a file with the certificates
// to trust, cert and key are files with the client's own certificate and its key. With any of them,
// or with tls=true, the connection is TLS.
//
// Open reads the files and does not wait for etcd; the first Assign does. Errors never show the
// password.
func Open(url string, o *Options) (*lease.Assigner, error) {
	u, err := hosturl.Parse("etcd", "2379", url)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(config(u))
	if err != nil {
		return nil, fmt.Errorf("etcd: connecting to %s: %w", strings.Join(u.Hosts, ","), err)
	}
	a, err := newAssigner(&store{client: client, own: true}, o, u.Path)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return a, nil
}

// newAssigner returns an Assigner for the namespace that o names, else path.
func newAssigner(s *store, o *Options, path string) (_ *lease.Assigner, err error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	s.endpoints = s.client.Endpoints()
	s.namespace, err = hosturl.Namespace("etcd", cmp.Or(opts.Namespace, path))
	if err != nil {
		return nil, err
	}
	return lease.New(s, &opts.Lease)
}
