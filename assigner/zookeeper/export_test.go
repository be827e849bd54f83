package zookeeper

import (
	"log/slog"
	"net"
	"time"

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
