package hosturl

import (
	"slices"
	"testing"
)

// TestParse: all parts of a URL, and the defaults of those that are left out. Package etcd has the
// URLs that are refused, and connects with certificates.
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
