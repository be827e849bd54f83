package etcd

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// TestConfig: what a configuration leaves out has the times that Open promises, what it says stays, and
// the account goes to the login, which replaces etcd's own.
func TestConfig(t *testing.T) {
	t.Parallel()
	given := clientv3.Config{Endpoints: []string{"a:2379"}, DialTimeout: time.Minute,
		Username: "app", Password: "secret", DialOptions: []grpc.DialOption{grpc.WithUserAgent("x")}}
	c := config(given)
	if c.DialTimeout != time.Minute || c.DialKeepAliveTime != 10*time.Second ||
		c.DialKeepAliveTimeout != 3*time.Second || c.Logger == nil || len(c.Endpoints) != 1 {
		t.Errorf("the configuration is %+v", c)
	}
	if c.Username != "" || c.Password != "" || len(c.DialOptions) != 3 {
		t.Errorf("%q, %q and %d options, want the account in an option, next to the pauses and the caller's own",
			c.Username, c.Password, len(c.DialOptions))
	}
	if given.Username != "app" || len(given.DialOptions) != 1 {
		t.Error("the caller's configuration has changed")
	}
	if c := config(clientv3.Config{}); c.DialTimeout != 5*time.Second || len(c.DialOptions) != 1 {
		t.Errorf("without an account: %v, %d options, want 5 s and the pauses", c.DialTimeout, len(c.DialOptions))
	}
}
