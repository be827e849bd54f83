package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/hosturl"
)

// DefaultPrefix is the Prefix where neither Options nor URL name one.
const DefaultPrefix = "/uidring"

const maxPrefix = 255 // bytes

// Options configures an Assigner. nil and zero fields mean the defaults.
type Options struct {
	// Prefix is what every key begins with: a path such as /ids/orders, at most 255 bytes. It is
	// one universe of ids, with one layout: IDS OF TWO PREFIXES MAY BE EQUAL. Default
	// DefaultPrefix.
	Prefix string

	lease.Options
}

// Assigner assigns worker ids from etcd. It is an assigner.LayoutBinder and safe for concurrent
// use. Assign, BindLayout, Slots and Restore are those of lease.Assigner.
type Assigner struct {
	*lease.Assigner

	client *clientv3.Client // what Close closes; nil after New
}

var _ assigner.LayoutBinder = (*Assigner)(nil)

// New returns an Assigner that uses client. The caller closes client, after the generators. New
// does no I/O. Open makes a client of its own.
func New(client *clientv3.Client, o *Options) (*Assigner, error) {
	if client == nil {
		return nil, errors.New("etcd: the client is nil")
	}
	if o == nil {
		o = &Options{}
	}
	prefix := o.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !strings.HasPrefix(prefix, "/") || strings.HasSuffix(prefix, "/") ||
		strings.Contains(prefix, "//") || len(prefix) > maxPrefix {
		return nil, fmt.Errorf("etcd: Prefix is %q, want a path such as %s of at most %d bytes",
			prefix, DefaultPrefix, maxPrefix)
	}
	a, err := lease.New(&store{client.KV, prefix, client.Endpoints()}, &o.Options)
	if err != nil {
		return nil, err
	}
	return &Assigner{Assigner: a}, nil
}

// Open connects to the etcd of a URL and returns an Assigner. The caller closes it, after the
// generators that use it.
//
//	etcd://user:password@host1:2379,host2:2379/ids/orders?ca=ca.pem&cert=client.pem&key=client.key
//
// User, ports (2379), path (the Prefix, where o names none) and parameters may be left out. Special
// characters of user and password are percent-encoded. ca is a file with the certificates to trust,
// cert and key are files with the client's own certificate and its key. With any of them, or with
// tls=true, the connection is TLS.
//
// Open reads the files and does not wait for etcd; the first Assign does. Errors never show the
// password. The client runs goroutines until Close.
func Open(url string, o *Options) (*Assigner, error) {
	u, err := hosturl.Parse("etcd", "2379", url)
	if err != nil {
		return nil, err
	}
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Prefix == "" {
		opts.Prefix = u.Path
	}
	client, err := clientv3.New(config(u))
	if err != nil {
		return nil, fmt.Errorf("etcd: connecting to %s: %w", strings.Join(u.Hosts, ","), err)
	}
	a, err := New(client, &opts)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	a.client = client
	return a, nil
}

// Close closes the client that Open has made. Claims stay valid until their windows end, and cannot
// be extended or released any more. Another Close does nothing, nor does Close after New.
func (a *Assigner) Close() error {
	if a.client == nil {
		return nil
	}
	err := a.client.Close()
	if errors.Is(err, context.Canceled) {
		return nil // closed already
	}
	return err
}
