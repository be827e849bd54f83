package kubernetes_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/kubernetes"
)

const secret = "hunter2-never-shown"

// write writes a file into the test's folder and returns its path.
func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// caOf returns the certificate of a TLS server in PEM.
func caOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// TestServiceAccount: a pod's token is read for each request, because it is renewed, and the
// server's certificate is verified.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.token = "first"
	s := httptest.NewTLSServer(f)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	write(t, dir, "token", "first\n")
	write(t, dir, "namespace", "team\n")
	write(t, dir, "ca.crt", caOf(s))
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	c, err := kubernetes.InClusterAt(dir, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Client.CloseIdleConnections()
	claim := assign(t, c, nil)
	f.set(func(f *fake) { f.token = "second" })
	write(t, dir, "token", "second\n")
	_, until := claim.Window()
	if _, err := claim.Extend(t.Context(), until.Add(1)); err != nil {
		t.Errorf("Extend after the token was renewed: %v", err)
	}

	for name, harm := range map[string]func(){
		"no service account": func() { os.Remove(filepath.Join(dir, "namespace")) },
		"ca.crt: no such":    func() { os.Remove(filepath.Join(dir, "ca.crt")) },
		"PEM":                func() { write(t, dir, "ca.crt", secret) },
		"is empty":           func() { write(t, dir, "token", "\n") },
		"this is no pod":     func() { env = nil },
		"HOST and":           func() { env = map[string]string{"KUBERNETES_SERVICE_HOST": host} },
		"PORT are not set":   func() { env = map[string]string{"KUBERNETES_SERVICE_PORT": port} },
	} {
		t.Run(name, func(t *testing.T) {
			before := env
			write(t, dir, "token", "second")
			write(t, dir, "namespace", "team")
			write(t, dir, "ca.crt", caOf(s))
			harm()
			_, err := kubernetes.InClusterAt(dir, func(name string) string { return env[name] })
			env = before
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v, want one with %q", err, name)
			}
		})
	}
}

// TestUnknownAuthority: a server whose certificate comes from an unknown authority gets no token.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c := inCluster(t, s.Listener.Addr().String(), secret, otherAuthority(t))
	for range 5 { // on a busy machine a handshake may time out
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		var slow net.Error
		if errors.As(err, &slow) && slow.Timeout() {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("error %v, want one about the certificate", err)
		}
		break
	}
	if n := len(f.requests); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
}

// otherAuthority returns a certificate in PEM that no server here has.
func otherAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// inCluster returns the Cluster of a pod whose API server is at addr.
func inCluster(tb testing.TB, addr, token, authority string) *kubernetes.Cluster {
	tb.Helper()
	dir := tb.TempDir()
	write(tb, dir, "token", token)
	write(tb, dir, "namespace", "default")
	write(tb, dir, "ca.crt", authority)
	host, port, _ := strings.Cut(addr, ":")
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	c, err := kubernetes.InClusterAt(dir, func(name string) string { return env[name] })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Client.CloseIdleConnections)
	return c
}
