package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Cluster says where the API server is, and how requests to it are made. InCluster returns one,
// and package kubeconfig, which is a module of its own. It must not change while an Assigner uses
// it.
type Cluster struct {
	// Server is the API server's URL, such as https://10.96.0.1:443, http or https. Required.
	Server string

	// Namespace is the namespace of the Lease objects. Required.
	Namespace string

	// Client makes the requests. It provides what the server asks for: certificates in its
	// Transport, and a RoundTripper that sets the Authorization header where that is needed. It
	// must be safe for concurrent use. Default: http.DefaultClient.
	Client *http.Client

	_ struct{} // keeps literals keyed
}

// validate says which field is missing or out of range.
func (c *Cluster) validate() error {
	u, err := url.Parse(c.Server)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "",
		u.Fragment != "", u.User != nil:
		// The text is not shown: it may hold a password.
		return errors.New("kubernetes: Cluster.Server is no URL of the form https://host:port")
	case !isLabel(c.Namespace, maxLabel):
		return fmt.Errorf("kubernetes: Cluster.Namespace is %q, want 1 to %d lower-case letters, "+
			"digits and hyphens", c.Namespace, maxLabel)
	}
	return nil
}

// accountFolder is where a pod finds its service account.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the cluster that the program's pod runs in, with the pod's namespace and its
// service account. The token is read for each request, because Kubernetes renews it. The
// authority's certificate is read once. InCluster fails outside a pod, and in a pod without a
// service account's token.
func InCluster() (*Cluster, error) {
	return inCluster(accountFolder, os.Getenv)
}

func inCluster(dir string, getenv func(string) string) (*Cluster, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("kubernetes: this is no pod: KUBERNETES_SERVICE_HOST and " +
			"KUBERNETES_SERVICE_PORT are not set; see package kubeconfig")
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("kubernetes: the pod has no service account "+
			"(automountServiceAccountToken): %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("kubernetes: service account: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New("kubernetes: service account: ca.crt has no certificate in PEM")
	}
	account := bearer{file: filepath.Join(dir, "token")}
	if _, err := account.token(); err != nil {
		return nil, fmt.Errorf("kubernetes: service account: %w", err)
	}
	// HTTP/1.1 only. A claim makes one request at a time, and a request that times out closes its
	// connection: the next one gets a new connection, to a server that is alive.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	account.next = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, Protocols: &protocols,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}
	c := &Cluster{Server: "https://" + net.JoinHostPort(host, port),
		Namespace: strings.TrimSpace(string(namespace)),
		Client:    &http.Client{Transport: account, CheckRedirect: noRedirect}}
	return c, c.validate()
}

// dialTimeout bounds how long connecting to one address takes, so that one try of a request has
// time for a second address.
const dialTimeout = 3 * time.Second

// noRedirect follows no redirect, so that the token goes to no other server.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bearer adds the token in a file to each request.
type bearer struct {
	next *http.Transport
	file string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token()
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (b bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }

// token reads the token.
func (b bearer) token() (string, error) {
	text, err := os.ReadFile(b.file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("token file %s is empty", b.file)
	}
	return token, nil
}

// maxLabel is the length of the longest DNS label.
const maxLabel = 63

// isLabel reports whether s is a DNS label as Kubernetes demands it for names, of at most n
// characters.
func isLabel(s string, n int) bool {
	if s == "" || len(s) > n || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
