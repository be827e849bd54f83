package kubeconfig_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
)

const secret = "hunter2-never-shown"

// file is a kubeconfig as kubectl writes it. %[1]s is the server, %[2]s its certificate in base64,
// %[3]s the user.
const file = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %[2]s
    server: %[1]s
  name: test
- cluster:
    server: https://elsewhere:6443
  name: other
contexts:
- context:
    cluster: test
    namespace: team
    user: me
  name: me@test
- context: {cluster: nowhere, user: me}
  name: broken
current-context: me@test
kind: Config
preferences: {}
users:
- name: me
  user:
    %[3]s
`

// write writes a kubeconfig and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate returns that of a server, in base64 as kubeconfig has it.
func certificate(s *httptest.Server) string {
	return base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// TestLoad: requests carry the token to the server that the file names, over HTTP/1.1, and to no
// other one, whose certificate is unknown or to which the server sends them.
func TestLoad(t *testing.T) {
	t.Parallel()
	var strayed bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed = true }))
	defer other.Close()
	var got string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got += fmt.Sprintln(r.Proto, r.URL.Path, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for _, tt := range []struct {
		name, authority string
		fails           string
		want            string
	}{
		{"known", certificate(s), "", "HTTP/1.1 /x Bearer " + secret + "\n"},
		{"unknown", "", "certificate", ""},
	} {
		got = ""
		c, err := kubeconfig.Load(write(t, fmt.Sprintf(file, s.URL, tt.authority, "token: "+secret)), "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Client.CloseIdleConnections()
		if c.Server != s.URL || c.Namespace != "team" {
			t.Errorf("%s: %s, namespace %q, want %s and team", tt.name, c.Server, c.Namespace, s.URL)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Server+"/x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) ||
			got != tt.want || strayed {
			t.Errorf("%s: error %v, requests %q, elsewhere: %v, want %q", tt.name, err, got, strayed, tt.want)
		}
	}
}

// TestErrors: what is wrong with a file is an error that shows nothing secret.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, user, context, want string }{
		{"no context", "token: " + secret, "nowhere", "context: nowhere"},
		{"no cluster", "token: " + secret, "broken", "no configuration has been provided"},
		{"half a certificate", "client-certificate-data: aGFsZg==", "", "client-key"},
		{"no such token", "tokenFile: nowhere", "", "nowhere"},
		{"quote", `token: "` + secret, "", "yaml"},
		{"another shape", "token: [" + secret + "]", "", "token"},
	} {
		path := write(t, fmt.Sprintf(file, "https://127.0.0.1:1", "", tt.user))
		_, err := kubeconfig.Load(path, tt.context)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the secret: %v", tt.name, err)
		}
	}
}

// TestNoFile: without a file nothing is guessed.
func TestNoFile(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := kubeconfig.Load("", ""); err == nil || !strings.Contains(err.Error(), "no file with a context") {
		t.Errorf("error %v, want one that asks for a file", err)
	}
}

// TestOpen: Open takes addresses of its form, and refuses others without showing a secret.
func TestOpen(t *testing.T) {
	t.Parallel()
	path := write(t, fmt.Sprintf(file, "https://127.0.0.1:1", "", "token: x"))
	for _, text := range []string{
		"kubernetes:?kubeconfig=" + path, "kubernetes:orders?kubeconfig=" + path,
		"kubernetes:team-a/orders?kubeconfig=" + path + "&context=me@test",
	} {
		if _, err := kubeconfig.Open(text, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"orders":                                 "not of the form",
		"kubernetes:orders?%zz":                  "not of the form",
		"kubernetes:orders?password=" + secret:   `"password"`,
		"kubernetes:Orders?kubeconfig=" + path:   "Options.Namespace",
		"kubernetes:A/orders?kubeconfig=" + path: "Cluster.Namespace",
		"kubernetes:x?kubeconfig=/nowhere/else":  "/nowhere/else",
	} {
		_, err := kubeconfig.Open(text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
