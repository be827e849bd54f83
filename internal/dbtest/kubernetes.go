package dbtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// APIServer is an API server of Kubernetes and the etcd that it keeps everything in. The methods of
// Server are about the API server; Close closes both.
type APIServer struct {
	*Server

	Etcd *Server
}

// StrangerToken is the token of an account of an APIServer that may do nothing. That of one that
// may do everything is Password.
const StrangerToken = "stranger-may-do-nothing"

// Kubernetes starts an etcd and an API server for one test, or skips the test. The API server is
// the one that "make kube-apiserver" has built. It listens with TLS, checks rights by RBAC, and
// runs without its controllers.
func Kubernetes(tb testing.TB) *APIServer {
	tb.Helper()
	long(tb, kubernetes{})
	s, err := NewKubernetes()
	if err != nil {
		skip(tb, kubernetes{}, err)
	}
	s.closeAfter(tb)
	return s
}

// NewKubernetes is Kubernetes outside of a test, such as in TestMain. The error wraps ErrNoServer
// if a program is missing; the caller calls Close.
func NewKubernetes() (*APIServer, error) {
	if _, err := built(apiServerProgram, apiServerProgram); err != nil {
		return nil, err // before an etcd is started for nothing
	}
	store, err := NewEtcd()
	if err != nil {
		return nil, err
	}
	s, err := start(kubernetes{store.Addr()})
	if err != nil {
		store.Close()
		return nil, err
	}
	s.store = store
	return &APIServer{s, store}, nil
}

// CA returns the path of the certificate that the server's own is to be verified with.
func (s *APIServer) CA() string { return filepath.Join(s.dir, "certs", "apiserver.crt") }

// WriteKubeconfig writes a kubeconfig file for the account that may do everything, at the server's
// address or that of a Proxy, and returns its path. Close removes it.
func (s *APIServer) WriteKubeconfig(addr string) (path string, err error) {
	path = filepath.Join(s.dir, "config-"+strings.ReplaceAll(addr, ":", "-"))
	return path, os.WriteFile(path, s.Kubeconfig(addr, Password), 0o600)
}

// Kubeconfig returns a kubeconfig file for an account's token, in the namespace default.
func (s *APIServer) Kubeconfig(addr, token string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: https://%s
    certificate-authority: %s
contexts:
- name: test
  context:
    cluster: test
    user: test
users:
- name: test
  user:
    token: %s
`, addr, s.CA(), token)
}

// apiServerProgram is the name of the program and of the Makefile's target.
const apiServerProgram = "kube-apiserver"

type kubernetes struct{ etcd string }

func (kubernetes) name() string                { return "Kubernetes" }
func (kubernetes) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (kubernetes) deathSignal() syscall.Signal { return syscall.SIGKILL }

func (kubernetes) install(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"accounts.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		"tokens.csv": []byte(Password + ",admin,admin,system:masters\n" +
			StrangerToken + ",stranger,stranger,strangers\n"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (k kubernetes) command(dir string, port int) (*exec.Cmd, error) {
	server, err := built(apiServerProgram, apiServerProgram)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "accounts.key")
	cmd := exec.Command(server,
		"--etcd-servers=http://"+k.etcd,
		"--secure-port="+strconv.Itoa(port),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--cert-dir="+filepath.Join(dir, "certs"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--authorization-mode=RBAC",
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount",
		"--profiling=false",
	)
	cmd.Dir = dir
	return cmd, nil
}

// ready asks for the server's own opinion.
func (kubernetes) ready(addr string) error {
	_, err := get("https://" + addr + "/readyz")
	return err
}

// get returns the answer to a request of the administrator. Any certificate will do.
func get(url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+Password)
	transport := &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, tail(text))
	}
	return text, err
}

func (kubernetes) dsn(addr, _ string) string { return "https://" + addr }
