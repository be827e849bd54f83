package etcd

import (
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storepath"
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
	return newAssigner(&store{client: client}, o)
}

// Open connects with a client of its own and returns an Assigner. The client runs goroutines until
// the caller closes the Assigner, after the generators that use it. Claims stay valid until their
// windows end, and cannot be extended or released after Close.
//
// c names the Endpoints, and Username, Password and TLS where etcd asks for them. Times that it
// leaves out are such that a connection without an answer is given up within seconds, and the next
// one is tried within seconds too: by default that pause grows to minutes. A token that expired
// during a pause is replaced, which etcd's client does not manage with servers before 3.5.
//
// Open does not wait for etcd; the first Assign does. Errors never show the password.
func Open(c clientv3.Config, o *Options) (*lease.Assigner, error) {
	client, err := clientv3.New(config(c))
	if err != nil {
		return nil, fmt.Errorf("etcd: connecting to %s: %w", strings.Join(c.Endpoints, ","), err)
	}
	a, err := newAssigner(&store{client: client, own: true}, o)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return a, nil
}

func newAssigner(s *store, o *Options) (_ *lease.Assigner, err error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	s.endpoints = s.client.Endpoints()
	if s.namespace, err = storepath.Of("etcd", opts.Namespace); err != nil {
		return nil, err
	}
	return lease.New(s, &opts.Lease)
}
