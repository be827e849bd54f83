package zookeeper_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/zookeeper"
)

// TestTLS: a URL that asks for TLS connects to a server with a certificate that it trusts, and to no
// other.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	web := httptest.NewTLSServer(nil) // has a certificate for this address
	defer web.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	do(t, func() error { return os.WriteFile(ca, text, 0o600) })
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
	for query, want := range map[string]bool{"?ca=" + ca: true, "?tls=true": false, "": false} {
		a, err := zookeeper.Open("zookeeper://"+l.Addr().String()+"/"+s.Prefix()+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		patience := time.Minute
		if !want {
			patience = 500 * time.Millisecond
		}
		if _, err := a.Assign(within(t, patience), maxWorker); (err == nil) != want {
			t.Errorf("with %q: %v", strings.ReplaceAll(query, ca, "the file"), err)
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
