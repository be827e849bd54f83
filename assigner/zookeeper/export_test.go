package zookeeper

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/lease"
)

// NewStore returns the Store of a namespace, and what ends its session. ZooKeeper forgets the
// session after timeout.
func NewStore(server, namespace string, timeout time.Duration) (lease.Store, func(), error) {
	s := &session{servers: []string{server}, dial: new(net.Dialer).DialContext,
		log: slog.New(slog.DiscardHandler), timeout: timeout}
	var err error
	s.link, err = s.connect()
	return newStore(s, &Options{Namespace: namespace}), s.close, err
}

// ReadAround calls between in the middle of a read of the header, which fails if between does.
func ReadAround(ctx context.Context, s lease.Store, between func() error) error {
	_, err := read(ctx, s.(*store), func(c *zk.Conn, at time.Time) (lease.Entry, error) {
		failed := between()
		for c.State() != zk.StateHasSession {
			time.Sleep(10 * time.Millisecond)
		}
		if failed != nil {
			return lease.Entry{}, failed
		}
		return s.(*store).node(c, "header", at)
	})
	return err
}
