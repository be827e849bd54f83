package etcd

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
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

// TestPauses: a connection has three seconds to come about. After the first failure the next one is tried
// at once, and later ones after pauses that grow to about three seconds, no two of them the same.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		var pauses []time.Duration
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			now := time.Now()
			switch end, _ := ctx.Deadline(); {
			case last.IsZero() && end.Sub(now) != 3*time.Second:
				t.Errorf("a connection has %v, want 3s", end.Sub(now))
			case !last.IsZero():
				pauses = append(pauses, now.Sub(last))
			}
			last = now
			if len(pauses) > 100 { // without pauses there would be no end
				<-ctx.Done()
			}
			return nil, errors.New("refused")
		}
		c, err := clientv3.New(config(clientv3.Config{Endpoints: []string{"127.0.0.1:1"},
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Get(ctx, "x"); err == nil {
			t.Error("Get without a server: no error")
		}
		c.Close()
		if n := len(pauses); n < 15 || n > 40 || pauses[0] > 200*time.Millisecond {
			t.Fatalf("%d pauses in a minute, want some 25 that begin with 0.1 s: %v", n, pauses)
		}
		for _, d := range pauses[10:] {
			if d < 2400*time.Millisecond || d > 3600*time.Millisecond || d == pauses[9] {
				t.Errorf("a pause of %v after one of %v, want another one of 3 s, a fifth more or less", d, pauses[9])
			}
		}
	})
}
