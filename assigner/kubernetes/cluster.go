package kubernetes

import (
	"cmp"
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

// A Cluster says where the API server is, and how requests to it are made. InCluster, Kubeconfig
// and Parse return one. It must not change while an Assigner uses it.
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
			"KUBERNETES_SERVICE_PORT are not set; use Kubeconfig")
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("kubernetes: the pod has no service account "+
			"(automountServiceAccountToken): %w", err)
	}
	a := access{
		server:    "https://" + net.JoinHostPort(host, port),
		namespace: strings.TrimSpace(string(namespace)),
		caFile:    filepath.Join(dir, "ca.crt"),
		tokenFile: filepath.Join(dir, "token"),
	}
	c, err := a.cluster()
	if err != nil {
		return nil, fmt.Errorf("kubernetes: service account: %w", err)
	}
	return c, nil
}

// access is how one account reaches a server. Where both data and a file are set, the data is used.
type access struct {
	server, namespace string
	serverName        string // expected in the server's certificate; empty: the URL's host
	insecure          bool   // the server's certificate is not verified
	ca                []byte // PEM; without ca and caFile, the system's authorities
	caFile            string
	cert, key         []byte // PEM
	certFile, keyFile string
	token, tokenFile  string
}

// cluster returns a Cluster with a client of its own. It reads every file that a names, so that a
// missing one is an error here.
func (a access) cluster() (*Cluster, error) {
	config, err := a.tls()
	if err != nil {
		return nil, err
	}
	if a.token == "" && a.tokenFile != "" {
		if _, err := readToken(a.tokenFile); err != nil {
			return nil, err
		}
	}
	// HTTP/1.1 only. A claim makes one request at a time, and a request that times out closes its
	// connection: the next one gets a new connection, to a server that is alive.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	var transport http.RoundTripper = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, Protocols: &protocols,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}
	if a.token != "" || a.tokenFile != "" {
		transport = bearer{transport, a.token, a.tokenFile}
	}
	c := &Cluster{Server: strings.TrimRight(a.server, "/"), Namespace: a.namespace,
		Client: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
	return c, c.validate()
}

// dialTimeout bounds how long connecting to one address takes, so that one try of a request has
// time for a second address.
const dialTimeout = 3 * time.Second

// noRedirect follows no redirect, so that the token goes to no other server.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// tls returns the settings of TLS connections.
func (a access) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.serverName,
		InsecureSkipVerify: a.insecure} //nolint:gosec // the user's kubeconfig says so
	ca := a.ca
	if len(ca) == 0 && a.caFile != "" {
		var err error
		if ca, err = os.ReadFile(a.caFile); err != nil {
			return nil, err
		}
	}
	if len(ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("the certificate authority (%s) has no certificate in PEM",
				cmp.Or(a.caFile, "certificate-authority-data"))
		}
	}
	hasCert := len(a.cert) > 0 || a.certFile != ""
	hasKey := len(a.key) > 0 || a.keyFile != ""
	if hasCert != hasKey {
		return nil, errors.New("a client certificate and its key go together, and one of them " +
			"is missing")
	}
	if !hasCert {
		return config, nil
	}
	if _, err := a.certificate(nil); err != nil {
		return nil, err
	}
	config.GetClientCertificate = a.certificate
	return config, nil
}

// certificate returns the client certificate. It reads files at each call, because they are
// renewed.
func (a access) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert, key := a.cert, a.key
	var err error
	if len(cert) == 0 {
		if cert, err = os.ReadFile(a.certFile); err != nil {
			return nil, err
		}
	}
	if len(key) == 0 {
		if key, err = os.ReadFile(a.keyFile); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	return &pair, nil
}

// bearer adds a token to each request: token, or if that is empty what file holds.
type bearer struct {
	next        http.RoundTripper
	token, file string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token := b.token
	if token == "" {
		var err error
		if token, err = readToken(b.file); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (b bearer) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// readToken returns the token in a file.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("token file %s is empty", path)
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
