package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestPassword: a user with rights on the prefix gets worker ids, also after a token has expired. A
// user without these rights, or with a wrong password, gets a refusal that does not show the
// password.
func TestPassword(t *testing.T) {
	t.Parallel()
	// The server gives a request up after 5 s and two election timeouts. A busy machine may need
	// longer than the default election timeout allows.
	s := dbtest.Etcd(t, "--auth-token-ttl=1", "--election-timeout=10000")
	c := client(t, s)
	ctx := t.Context()
	ok := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(user string) {
		ok(c.UserAdd(ctx, user, dbtest.Password))
		ok(c.RoleAdd(ctx, user))
		ok(c.UserGrantRole(ctx, user, user))
	}
	add("root")
	add(dbtest.User)
	add("stranger")
	ok(c.RoleGrantPermission(ctx, dbtest.User, "/ids/", clientv3.GetPrefixRangeEnd("/ids/"),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	ok(c.AuthEnable(ctx))

	as := func(user, password string) *lease.Assigner {
		c := at(s.Addr())
		c.Username, c.Password = user, password
		a, err := etcd.Open(c, &etcd.Options{Namespace: "/ids"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	a := as(dbtest.User, dbtest.Password)
	claim := assign(t, a)
	time.Sleep(3 * time.Second) // the token expires
	extend(t, claim, time.Minute)

	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, lease.ErrRefused) || strings.Contains(err.Error(), dbtest.Password) {
			t.Errorf("%s: %v, want ErrRefused without the password", what, err)
		}
	}
	_, err := as("stranger", dbtest.Password).Assign(within(t, 20*time.Second), maxWorker)
	refused("Assign without rights", err)
	_, err = as(dbtest.User, "not-"+dbtest.Password).Assign(within(t, 20*time.Second), maxWorker)
	refused("a wrong password", err)
	_, err = open(t, s.Addr(), "ids", lease.Options{}).Assign(within(t, 20*time.Second), maxWorker)
	refused("no password", err)
}

// TestTLS: the connection is made with the client's certificate, and fails without it or without trust
// in the server's.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, file := newCA(t, dir), func(name string) string { return filepath.Join(dir, name) }
	ca.issue(t, "server")
	ca.issue(t, "client")
	s := dbtest.Etcd(t, "--cert-file="+file("server.pem"), "--key-file="+file("server.key"),
		"--trusted-ca-file="+file("ca.pem"), "--client-cert-auth")
	text, err := os.ReadFile(file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	pair, err := tls.LoadX509KeyPair(file("client.pem"), file("client.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		tls  *tls.Config
		want bool
	}{
		{"a certificate", &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, true},
		{"no certificate", &tls.Config{RootCAs: pool}, false}, // the server asks for the client's
		{"no trust", &tls.Config{Certificates: []tls.Certificate{pair}}, false},
		{"no TLS", nil, false},
	} {
		c := at(s.Addr())
		c.TLS = tt.tls
		a, err := etcd.Open(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		timeout := 30 * time.Second
		if !tt.want {
			timeout = 500 * time.Millisecond
		}
		_, err = a.Assign(within(t, timeout), maxWorker)
		if tt.want && err != nil || !tt.want && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Assign with %s = %v, want a claim: %v", tt.name, err, tt.want)
		}
		a.Close()
	}
}

// authority is a certificate authority that writes what it issues into a folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T, dir string) *authority {
	t.Helper()
	a := &authority{dir: dir}
	a.cert, a.key = a.write(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes a certificate for loopback, for servers and clients, and its key.
func (a *authority) issue(t *testing.T, name string) {
	t.Helper()
	a.write(t, name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
}

func (a *authority) write(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for ext, block := range map[string]*pem.Block{
		".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(a.dir, name+ext), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
