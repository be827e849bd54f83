package etcd

import (
	"cmp"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// config returns c with what Open says about its times and its login.
func config(c clientv3.Config) clientv3.Config {
	options := []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
			MaxDelay: 3 * time.Second},
		MinConnectTimeout: 3 * time.Second,
	})}
	if c.Username != "" {
		l := &login{user: c.Username, password: c.Password}
		options = append(options, grpc.WithChainUnaryInterceptor(l.unary))
		c.Username, c.Password = "", ""
	}
	c.DialOptions = slices.Concat(options, c.DialOptions)
	c.DialTimeout = cmp.Or(c.DialTimeout, 5*time.Second)
	c.DialKeepAliveTime = cmp.Or(c.DialKeepAliveTime, 10*time.Second)
	c.DialKeepAliveTimeout = cmp.Or(c.DialKeepAliveTimeout, 3*time.Second)
	c.Logger = cmp.Or(c.Logger, zap.NewNop()) // errors are returned
	return c
}
