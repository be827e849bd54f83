package zookeeper_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/zookeeper"
)

// TestTLS: a dialer of TLS connects to a server with a certificate that it trusts, and to no other.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	web := httptest.NewTLSServer(nil) // has a certificate for this address
	defer web.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // ends with l
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go pipe(client, s.Addr())
		}
	}()
	for name, dial := range map[string]func(ctx context.Context, network, address string) (net.Conn, error){
		"trust":    (&tls.Dialer{Config: &tls.Config{RootCAs: trusted}}).DialContext,
		"no trust": new(tls.Dialer).DialContext,
		"no TLS":   nil,
	} {
		want := name == "trust"
		a, err := zookeeper.Open([]string{l.Addr().String()},
			&zookeeper.Options{Namespace: "/" + s.Prefix(), Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		patience := time.Minute
		if !want {
			patience = 500 * time.Millisecond
		}
		if _, err := a.Assign(within(t, patience), maxWorker); (err == nil) != want {
			t.Errorf("with %s: %v", name, err)
		}
		a.Close()
	}
}

// pipe connects client to the server at addr until one of them ends.
func pipe(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { // ends with server
		defer server.Close()
		_, _ = io.Copy(server, client)
	}()
	_, _ = io.Copy(client, server)
}
