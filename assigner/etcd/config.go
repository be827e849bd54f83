package etcd

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/uidring/uidring/internal/hosturl"
)

// config returns the client's settings. A connection that gets no answer is given up within
// seconds, and the pause after one that failed stays within seconds too: by default it grows to
// minutes.
func config(u *hosturl.URL) clientv3.Config {
	var options []grpc.DialOption
	if u.User != "" {
		l := &login{user: u.User, password: u.Password}
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
		TLS:    u.TLS,
		Logger: zap.NewNop(), // errors are returned
	}
	if u.TLS != nil {
		scheme = "https://"
	}
	for _, host := range u.Hosts {
		c.Endpoints = append(c.Endpoints, scheme+host)
	}
	return c
}
