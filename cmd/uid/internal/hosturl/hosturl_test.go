package hosturl

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestParse: all parts of a URL, and the defaults of those that are left out.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]URL{
		"x://a":                    {Hosts: []string{"a:7"}},
		"x://a:1,[::1],[::2]:3/":   {Hosts: []string{"a:1", "[::1]:7", "[::2]:3"}},
		"x://u:p%3A%40@a/ids/b?":   {Hosts: []string{"a:7"}, User: "u", Password: "p:@", Path: "/ids/b"},
		"x://a/ids/%20/?tls=false": {Hosts: []string{"a:7"}, Path: "/ids/ "},
	} {
		got, err := Parse("x", "7", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !slices.Equal(got.Hosts, want.Hosts) || got.User != want.User || got.Password != want.Password ||
			got.Path != want.Path || got.TLS != nil {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	if u, err := Parse("x", "7", "x://a?tls=true"); err != nil || u.TLS == nil || u.TLS.RootCAs != nil {
		t.Errorf("tls=true: %+v, %v, want TLS with the system's certificates", u, err)
	}
}

// TestRefused: a wrong URL is an error that says so and does not show the password.
func TestRefused(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for text, want := range map[string]string{
		"http://host":                        "no URL of x",
		"x://":                               "no URL of x",
		"x://user:" + password + "@":         "no URL of x",
		"x://user:" + password + "%@host":    "no URL of x",
		"x://user:" + password + "@host:1:2": "no URL of x",
		"x://user@host":                      "no URL of x",
		"x://host?password=" + password:      "no URL of x",
		"x://host/a?tls=1":                   "wants true or false",
		"x://host/a?cert=x":                  "want both",
		"x://host/a?ca=/nowhere":             "/nowhere",
		"x://host/a?cert=/nowhere&key=/x":    "/nowhere",
	} {
		if _, err := Parse("x", "7", text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("Parse(%q) = %v, want an error with %q and no password", text, err, want)
		}
	}
}

// TestFiles: the files that a URL names are those that a server with certificates takes, and it takes no
// connection with fewer.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := s.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := write("cert.pem", "CERTIFICATE", own.Certificate[0])
	key := write("key.pem", "PRIVATE KEY", secret)
	for query, want := range map[string]bool{
		"ca=" + cert + "&cert=" + cert + "&key=" + key: true,
		"ca=" + cert:                   false, // the server asks for the client's certificate
		"cert=" + cert + "&key=" + key: false, // the system does not trust the server's
		"tls=true":                     false,
	} {
		u, err := Parse("x", "7", "x://a?"+query)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: u.TLS, DisableKeepAlives: true}}
		resp, err := c.Get(s.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != want {
			t.Errorf("with %q: %v, want a connection: %v", query, err, want)
		}
	}
	if _, err := Parse("x", "7", "x://a?ca="+key); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a key as ca: %v, want that it holds no certificate", err)
	}
}
