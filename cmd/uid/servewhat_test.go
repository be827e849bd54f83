package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeSays: the server says what it serves, and from where, without secrets. It makes the tables
// of that and no others.
func TestServeSays(t *testing.T) {
	t.Parallel()
	server := servers.MariaDB(t)
	name := server.CreateDB(t)
	server.Exec(t, "CREATE USER says_"+name+" IDENTIFIED BY 'hunter2'",
		"GRANT ALL ON "+name+".* TO says_"+name)
	b := newBench(t)
	b.env["UID_DSN"] = "mysql://says_" + name + ":hunter2@" + server.Addr() + "/" + name
	place := "uid: mysql at " + server.Addr() + "/" + name + ": "
	const layout = `, layout 41-10-12-0/1ms@2010-11-04T01:42:54.657Z`
	for want, args := range map[string][]string{
		place + "tags of leaf_alloc\n": {"--only", "segment"},
		place + "tags of t_sequence; time-ordered ids of WORKER_LEASE, namespace \"east\"" + layout + "\n": {
			"--source", "sequence", "--namespace", "east"},
	} {
		s := b.serve(t, args...)
		s.stop()
		if got := s.stderr(); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("serve %q prints %s\nwant %s", args, got, want)
		}
	}
	server.Query(t, name, "SELECT COUNT(*) FROM leaf_alloc")
	server.Query(t, name, "SELECT COUNT(*) FROM t_sequence")
	if rows := server.Query(t, name, "SHOW TABLES LIKE 'ticket'"); rows != "" {
		t.Errorf("the server made %s, which it does not serve", rows)
	}
}

// TestServeEmbedded: off loopback the embedded database is served only if it is named, because a server
// elsewhere hands out the same ids from its own.
func TestServeEmbedded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, token := range []string{"", "s3cret"} {
		args := []string{"serve", "--addr", "0.0.0.0:0", "--open"}
		if b.env["UID_TOKEN"] = token; token == "" {
			delete(b.env, "UID_TOKEN")
		}
		b.check(t, exitUsage, "", "neither --dsn nor UID_DSN names a database", args...)
	}
	b.check(t, exitFailure, "", "no answer", "serve", "--addr", "0.0.0.0:0", "--open", "--timeout", "1s",
		"--dsn", "mysql://"+silentServer(t)+"/ids")
}

// TestServeTokenFaults: a token that was not filled in, or that clients cannot send, ends the server at
// once and is not shown.
func TestServeTokenFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for token, want := range map[string]string{
		"": "UID_TOKEN is empty", "  ": "UID_TOKEN is blank", "\n": "UID_TOKEN is blank",
		"s3cret\n": "UID_TOKEN ends in a newline", "s3cret\r\n": "ends in a newline", "s3 cret": "visible ASCII",
		"s3crét": "visible ASCII",
	} {
		b.env["UID_TOKEN"] = token
		if r := b.check(t, exitUsage, "", want, "serve", "--addr", "127.0.0.1:0"); strings.Contains(r.stderr, "s3") {
			t.Errorf("stderr shows the token: %s", r.stderr)
		}
	}
}

// TestServeTLS: with a certificate the server speaks HTTPS only. Off loopback, a token without one is
// worth a warning.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cert, key, pool := certificate(t)
	b.check(t, exitUsage, "", "--tls-cert and --tls-key go together", "serve", "--tls-cert", cert)
	b.check(t, exitUsage, "", "--tls-cert and --tls-key go together", "serve", "--tls-key", key)
	b.check(t, exitFailure, "", "--tls-cert and --tls-key: ", "serve", "--addr", "127.0.0.1:0",
		"--tls-cert", cert, "--tls-key", cert)
	b.env["UID_TOKEN"] = "s3cret"
	s := b.serve(t, "--only", "snowflake", "--tls-cert", cert, "--tls-key", key)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	resp, err := client.Get(s.base + "/health")
	if err != nil || !strings.HasPrefix(s.base, "https://") {
		t.Fatalf("%s: %v", s.base, err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/health is %d, want 200", resp.StatusCode)
	}
	plain, err := http.Get("http" + strings.TrimPrefix(s.base, "https") + "/health")
	if err == nil {
		plain.Body.Close()
	}
	if err == nil && plain.StatusCode == http.StatusOK {
		t.Error("HTTP is answered on the port of HTTPS")
	}
	file := "sqlite:" + filepath.Join(t.TempDir(), "uid.db")
	for _, args := range [][]string{nil, {"--tls-cert", cert, "--tls-key", key}} {
		s := b.serve(t, append([]string{"--only", "snowflake", "--dsn", file, "--addr", "0.0.0.0:0"}, args...)...)
		if got := strings.Contains(s.stderr(), "clear text"); got != (args == nil) {
			t.Errorf("with %q: %s", args, s.stderr())
		}
		s.stop()
	}
}

// certificate writes a certificate for 127.0.0.1 and its key, and returns their files and a pool with it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	pool = x509.NewCertPool()
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(made)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret), pool
}

// TestServeNamespace: "gen" and "serve" have different layouts by default, and do not refuse each other.
// A server stays in the namespace that has its layout, its own first, and says which it is. It begins no
// other one where its ids were moved away.
func TestServeNamespace(t *testing.T) {
	t.Parallel()
	const fresh, leaf, both = `namespace "serve", layout 41-10-12-0/1ms@2010-`, `namespace "default", layout 41-10-12-0/1ms@2010-`,
		`the namespace \"default\" has this layout too`
	for name, c := range map[string]struct {
		before [][]string
		args   []string
		want   string
	}{
		"nothing":         {nil, nil, fresh},
		"gen":             {[][]string{{"gen"}}, nil, fresh},
		"gen of Leaf's":   {[][]string{{"gen", "--layout", "leaf"}}, nil, leaf},
		"gen, one layout": {[][]string{{"gen"}}, []string{"--layout", "default"}, `namespace "default", layout 28-22-13`},
		"both": {[][]string{{"gen", "--layout", "leaf", "--namespace", "serve"}, {"gen", "--layout", "leaf"}},
			nil, fresh},
		"another of its own": {[][]string{{"gen", "--namespace", "serve"}, {"gen", "--layout", "leaf"}}, nil, leaf},
		"named":              {[][]string{{"gen"}}, []string{"--namespace", "x"}, `namespace "x", layout 41-10-12`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.now = time.Now()
			for _, args := range c.before {
				b.check(t, exitOK, "", "", args...)
			}
			for range 2 { // a restart stays where it was
				s := b.serve(t, append([]string{"--only", "snowflake"}, c.args...)...)
				s.ok(t, "/api/snowflake/get/x")
				s.stop()
				got := s.stderr()
				if !strings.Contains(got, c.want) || strings.Contains(got, both) != (name == "both") {
					t.Errorf("serve prints %s\nwant %s", got, c.want)
				}
			}
		})
	}
	t.Run("neither fits", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.check(t, exitOK, "", "", "gen")
		b.check(t, exitOK, "", "", "gen", "--namespace", "serve")
		b.check(t, exitFailure, "", "--namespace", "serve", "--only", "snowflake", "--addr", "127.0.0.1:0")
	})
	t.Run("moved", func(t *testing.T) {
		t.Parallel()
		for _, namespace := range []string{"default", "serve"} {
			b := newBench(t)
			b.now = time.Now()
			file := filepath.Join(t.TempDir(), "ids.db")
			b.env["UID_DSN"] = file
			b.check(t, exitOK, "", "", "gen", "--layout", "leaf", "--namespace", namespace)
			b.check(t, exitOK, "", "", "workers", "move", "--from", file, "--namespace", namespace, "--to", file,
				"--to-namespace", "orders")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			r := b.run(ctx, "serve", "--only", "snowflake", "--addr", "127.0.0.1:0")
			if r.code != exitFailure || !strings.Contains(r.stderr, "were moved to another authority") {
				t.Errorf("serve = %d, %s, want it to say that the ids were moved", r.code, r.stderr)
			}
			s := b.serve(t, "--only", "snowflake", "--namespace", "orders")
			s.ok(t, "/api/snowflake/get/x")
			s.stop()
		}
	})
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.env["UID_DSN"] = servers.MariaDB(t).DSN(servers.MariaDB(t).CreateDB(t))
		var running []*served
		for range 3 {
			running = append(running, b.serve(t, "--only", "snowflake"))
		}
		ids := map[string]bool{}
		for range 100 {
			for _, s := range running {
				id := s.ok(t, "/api/snowflake/get/x")
				if ids[id] {
					t.Errorf("id %s occurs twice", id)
				}
				ids[id] = true
			}
		}
	})
}
