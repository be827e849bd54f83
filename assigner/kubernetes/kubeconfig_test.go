package kubernetes_test

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
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
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// caOf returns the certificate of a TLS server in PEM.
func caOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// forms are kubeconfig files as tools write them. %[1]s is the server, %[2]s its certificate in
// base64, %[3]s the token.
var forms = map[string]string{
	"kubectl": `apiVersion: v1
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
current-context: me@test
kind: Config
preferences: {}
users:
- name: nobody
  user: {}
- name: me
  user:
    token: %[3]s
`,
	"indented, quoted, with comments": `---
# made by hand
apiVersion: "v1"
kind: Config
current-context: 'here'   # the only one

clusters:
  - name: "c: 1"
    cluster:
      server: "%[1]s"
      certificate-authority-data: '%[2]s'
      insecure-skip-tls-verify: false
      extensions:
        - name: x
          extension:
            last-update: Sat, 21 Nov 2026 10:00:00 UTC
contexts:
  -
    name: here
    context: {}
  - name: 'it''s'
    context:
      cluster: x
      user: y
users: []
extra: ~
`,
	"json": `{"apiVersion":"v1","current-context":"c","clusters":[{"name":"c","cluster":{"server":"%[1]s",
"certificate-authority-data":"%[2]s","insecure-skip-tls-verify":false}}],"contexts":[{"name":"c",
"context":{"cluster":"c","user":"u","namespace":"team"}}],"users":[{"name":"u","user":{"token":"%[3]s"}}]}`,
}

// TestKubeconfig makes a claim with a kubeconfig in YAML and in JSON, at a server that asks for the
// token.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"kubectl", "json"} {
		f := newFake(t)
		f.token = secret
		s := httptest.NewTLSServer(f)
		t.Cleanup(s.Close)
		text := fmt.Sprintf(forms[form], s.URL, base64.StdEncoding.EncodeToString([]byte(caOf(s))), secret)
		c, err := kubernetes.Kubeconfig(write(t, t.TempDir(), "config", text), "")
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if c.Namespace != "team" {
			t.Errorf("%s: namespace %q, want team", form, c.Namespace)
		}
		if claim := assign(t, c, nil); claim.Worker() != 0 {
			t.Errorf("%s: worker %d, want 0", form, claim.Worker())
		}
		c.Client.CloseIdleConnections()
	}
}

func TestKubeconfigErrors(t *testing.T) {
	t.Parallel()
	user := func(lines string) string {
		return strings.Replace(forms["kubectl"], "    token: %[3]s\n", lines, 1)
	}
	for _, tt := range []struct{ name, text, context, want string }{
		{"no context", forms["indented, quoted, with comments"], "nowhere", `no context "nowhere"`},
		{"no cluster", forms["indented, quoted, with comments"], "", `no cluster ""`},
		{"no cluster x", forms["indented, quoted, with comments"], "it's", `no cluster "x"`},
		{"exec", user("    exec:\n      command: aws\n      args:\n      - --token\n      - " +
			secret + "\n"), "", "has exec"},
		{"provider", user("    auth-provider:\n      name: gcp\n"), "", "has auth-provider"},
		{"password", user("    username: me\n    password: " + secret + "\n"), "", "has username"},
		{"impersonation", user("    token: " + secret + "\n    as: root\n"), "", "has as"},
		{"half a certificate", user("    client-certificate-data: " + secret[:7] + "=\n"), "", "go together"},
		{"no base64", user("    client-key-data: \"" + secret + "\"\n"), "", "client-key-data"},
		{"no such token", user("    tokenFile: nowhere\n"), "", "nowhere"},
		{"proxy", strings.Replace(forms["kubectl"], "    server: %[1]s",
			"    proxy-url: x\n    server: %[1]s", 1), "", "proxy-url"},
		{"flow", "users: [{token: " + secret + "}]\n", "", "line 1"},
		{"block scalar", "a: b\ntoken: |\n  " + secret + "\n", "", "line 2"},
		{"anchor", "a: &x " + secret, "", "line 1"},
		{"no key", "a: b\n" + secret + "\n", "", "line 2"},
		{"indent", "a:\n    b: c\n  d: " + secret + "\n", "", "line 3"},
		{"tab", "a:\n\tb: " + secret + "\n", "", "line 2"},
		{"twice", "a: b\na: " + secret + "\n", "", "line 2"},
		{"quote", "a: \"" + secret + "\n", "", "line 1"},
		{"single quote", "a: '" + secret + "\n", "", "line 1"},
		{"after a quote", "a: 'b' " + secret + "\n", "", "line 1"},
		{"empty", "# nothing\n", "", "empty"},
		{"another shape", "users: " + secret + "\n", "", "not in the form"},
		{"json", `{"users": "` + secret + `"`, "", "not in the form"},
	} {
		text := tt.text
		if strings.Contains(text, "%[1]s") {
			text = fmt.Sprintf(text, "https://127.0.0.1:1", "", "x")
			text, _, _ = strings.Cut(text, "%!(EXTRA")
		}
		_, err := kubernetes.Kubeconfig(write(t, t.TempDir(), "config", text), tt.context)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the secret: %v", tt.name, err)
		}
	}
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
		"PEM":                func() { write(t, dir, "ca.crt", secret) },
		"is empty":           func() { write(t, dir, "token", "\n") },
		"this is no pod":     func() { env = nil },
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
	text := fmt.Sprintf(forms["kubectl"], s.URL, "", secret)
	c, err := kubernetes.Kubeconfig(write(t, t.TempDir(), "config", text), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // on a busy machine a handshake may time out
		var r *http.Request
		r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		var resp *http.Response
		if resp, err = c.Client.Do(r); err == nil {
			resp.Body.Close()
		}
		var slow net.Error
		if !errors.As(err, &slow) || !slow.Timeout() {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one about the certificate", err)
	}
	if n := len(f.requests); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
}

// TestOpen: Open takes addresses of its form, and refuses others without showing a secret.
func TestOpen(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "config", fmt.Sprintf(forms["kubectl"], "https://127.0.0.1:1", "", "x"))
	for _, text := range []string{
		"kubernetes:?kubeconfig=" + path, "kubernetes:orders?kubeconfig=" + path,
		"kubernetes:team-a/orders?kubeconfig=" + path + "&context=me@test",
	} {
		if _, err := kubernetes.Open(text, nil); err != nil {
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
		_, err := kubernetes.Open(text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
