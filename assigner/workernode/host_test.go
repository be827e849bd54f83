package workernode_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workertable"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	loopback := &net.IPNet{IP: net.IPv4(127, 0, 0, 1)}
	linkLocal := &net.IPNet{IP: net.ParseIP("fe80::1")}
	lan := &net.IPNet{IP: net.IPv4(10, 1, 2, 3)}
	const random = "1700000000123-99999"
	for _, tt := range []struct {
		name               string
		m                  workernode.Machine
		host, port         string // options
		wantHost, wantPort string
		wantType           workertable.NodeType
		wantErr            string
	}{
		{name: "machine", m: workernode.Machine{Addrs: []net.Addr{loopback, lan}},
			wantHost: "10.1.2.3", wantPort: random, wantType: workertable.Actual},
		{name: "link-local last", m: workernode.Machine{Addrs: []net.Addr{linkLocal, lan}},
			wantHost: "10.1.2.3", wantPort: random, wantType: workertable.Actual},
		{name: "only link-local", m: workernode.Machine{Addrs: []net.Addr{loopback, linkLocal}},
			wantHost: "fe80::1", wantPort: random, wantType: workertable.Actual},
		{name: "no network", m: workernode.Machine{Addrs: []net.Addr{loopback}, Name: "box"},
			wantHost: "box", wantPort: random, wantType: workertable.Actual},
		{name: "no answer", m: workernode.Machine{AddrsErr: errors.New("no"), Name: "box"},
			wantHost: "box", wantPort: random, wantType: workertable.Actual},
		{name: "no network and no name", m: workernode.Machine{Name: "half", NameErr: errors.New("no")},
			wantHost: "unknown", wantPort: random, wantType: workertable.Actual},
		{name: "no network and an empty name", wantHost: "unknown", wantPort: random, wantType: workertable.Actual},
		{name: "an address of another kind", m: workernode.Machine{Addrs: []net.Addr{&net.TCPAddr{}, lan}},
			wantHost: "10.1.2.3", wantPort: random, wantType: workertable.Actual},
		{name: "HOSTNAME of a shell is not a container's",
			m:        workernode.Machine{Env: env("HOSTNAME", "box"), Addrs: []net.Addr{lan}},
			wantHost: "10.1.2.3", wantPort: random, wantType: workertable.Actual},
		{name: "jpaas", m: workernode.Machine{Env: env("JPAAS_HOST", "j", "JPAAS_HTTP_PORT", "80",
			"JPAAS_HOST_PORT_8080", "81")},
			wantHost: "j", wantPort: "80", wantType: workertable.Container},
		{name: "jpaas second port", m: workernode.Machine{Env: env("JPAAS_HOST", "j", "JPAAS_HOST_PORT_8080", "81")},
			wantHost: "j", wantPort: "81", wantType: workertable.Container},
		{name: "jpaas without port", m: workernode.Machine{Env: env("JPAAS_HOST", "j")}, wantErr: `JPAAS_HOST is "j"`},
		{name: "jpaas without host", m: workernode.Machine{Env: env("JPAAS_HTTP_PORT", "80")},
			wantErr: "both or neither"},
		{name: "jpaas without host, second port",
			m:       workernode.Machine{Env: env("JPAAS_HOST_PORT_8080", "80")},
			wantErr: "both or neither"},
		{name: "jpaas half set, with options", m: workernode.Machine{Env: env("JPAAS_HOST", "j")},
			host: "h", port: "p", wantErr: "both or neither"},
		{name: "pod ip", m: workernode.Machine{Env: env("POD_IP", "10.9.9.9", "POD_NAME", "web-0", "HOSTNAME", "x")},
			wantHost: "10.9.9.9", wantPort: random, wantType: workertable.Container},
		{name: "pod name", m: workernode.Machine{Env: env("POD_NAME", "web-0")}, wantHost: "web-0",
			wantPort: random, wantType: workertable.Container},
		{name: "kubernetes without the downward API",
			m: workernode.Machine{Env: env("KUBERNETES_SERVICE_HOST", "10.0.0.1",
				"HOSTNAME", "web-0")},
			wantHost: "web-0", wantPort: random, wantType: workertable.Container},
		{name: "docker", m: workernode.Machine{Files: []string{"/.dockerenv"}, Env: env("HOSTNAME", "4f5e")},
			wantHost: "4f5e", wantPort: random, wantType: workertable.Container},
		{name: "podman without HOSTNAME",
			m:        workernode.Machine{Files: []string{"/run/.containerenv"}, Addrs: []net.Addr{lan}},
			wantHost: "10.1.2.3", wantPort: random, wantType: workertable.Container},
		{name: "options first", m: workernode.Machine{Env: env("JPAAS_HOST", "j", "JPAAS_HTTP_PORT",
			"80")}, host: "h", port: "p",
			wantHost: "h", wantPort: "p", wantType: workertable.Container},
		{name: "too long", host: strings.Repeat("x", 65), port: strings.Repeat("1", 64),
			wantHost: strings.Repeat("x", 63) + "~", wantPort: strings.Repeat("1", 64), wantType: workertable.Actual},
		{name: "port too long", host: strings.Repeat("x", 64), port: strings.Repeat("1", 65),
			wantHost: strings.Repeat("x", 64), wantPort: strings.Repeat("1", 63) + "~", wantType: workertable.Actual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, port, kind, err := tt.m.Identity(tt.host, tt.port)
			if tt.wantErr != "" {
				wantError(t, err, tt.wantErr)
				return
			}
			if err != nil || host != tt.wantHost || port != tt.wantPort || kind != tt.wantType {
				t.Errorf("identity = %q, %q, %v, %v, want %q, %q, %v",
					host, port, kind, err, tt.wantHost, tt.wantPort, tt.wantType)
			}
		})
	}
}

// TestThisMachine: the machine's own answers are asked for; one without a network has its name.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if !workernode.Exists(dir) || workernode.Exists(dir+"/none") {
		t.Errorf("%s exists: %v, a file in it: %v, want true and false", dir,
			workernode.Exists(dir), workernode.Exists(dir+"/none"))
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got := workernode.Unconnected(); got != name {
		t.Errorf("host without a network = %q, want %q", got, name)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ full, want string }{
		{"", ""}, {"abc", "abc"}, {"äöü", "äöü"}, {"abcd", "ab~"}, {"äöüß", "äö~"},
		{" ~", " ~"}, {"\x00\x1f", "??"}, {"\x7f", "?"}, {"a\xffb", "a?b"},
	} {
		if got := workernode.Cut(tt.full, 3); got != tt.want {
			t.Errorf("Cut(%q, 3) = %q, want %q", tt.full, got, tt.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("plain", 64)
	f.Add("\x00\xff\n", 3)
	f.Add(strings.Repeat("ü", 100), 64)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 1 + (width & 0xff)
		got := workernode.Cut(s, width)
		if n := utf8.RuneCountInString(got); n > width || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\n") {
			t.Errorf("Cut(%q, %d) = %q, want at most %d printable characters", s, width, got, width)
		}
		if len(s) > 0 && got == "" {
			t.Errorf("Cut(%q, %d) is empty", s, width)
		}
	})
}

func TestNodeType(t *testing.T) {
	t.Parallel()
	for kind, want := range map[workertable.NodeType]string{1: "CONTAINER", 2: "ACTUAL", 7: "NodeType(7)"} {
		if got := kind.String(); got != want {
			t.Errorf("NodeType(%d) = %q, want %q", int(kind), got, want)
		}
	}
}

func env(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}
