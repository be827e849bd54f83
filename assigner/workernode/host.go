package workernode

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// NodeType says what a process runs on. The values are the ones in the column TYPE.
type NodeType int

// The node types.
const (
	Container NodeType = 1
	Actual    NodeType = 2
)

// String returns the name that the original has for the type.
func (t NodeType) String() string {
	switch t {
	case Container:
		return "CONTAINER"
	case Actual:
		return "ACTUAL"
	}
	return fmt.Sprintf("NodeType(%d)", int(t))
}

// columnWidth is the width of HOST_NAME and PORT, in characters.
const columnWidth = 64

// machine is what a node is found out from: the environment and the operating system. Tests replace
// its functions.
type machine struct {
	getenv   func(string) string
	exists   func(path string) bool
	addrs    func() ([]net.Addr, error)
	hostname func() (string, error)
	now      func() time.Time
	intn     func(n int) int
}

// thisMachine returns the machine that the process runs on.
func thisMachine() machine {
	return machine{
		getenv:   os.Getenv,
		exists:   func(path string) bool { _, err := os.Stat(path); return err == nil },
		addrs:    net.InterfaceAddrs,
		hostname: os.Hostname,
		now:      time.Now,
		intn:     rand.IntN,
	}
}

// node describes the process that asks for a worker id, as WORKER_NODE shows it. It is for the
// operator who reads the table: no rule depends on it, and two processes may have equal ones.
type node struct {
	host, port string
	kind       NodeType
	changed    bool // host or port did not fit its column
}

// node describes this process by the first of these that is there:
//
//	host    host, JPAAS_HOST, POD_IP, POD_NAME, in a container HOSTNAME, the machine's first
//	        address that is not a loopback, its name, "unknown"
//	port    port, JPAAS_HTTP_PORT, JPAAS_HOST_PORT_8080, the time with a random number
//
// JPAAS is the platform of the original. It is an error if it names one of host and port only.
func (m machine) node(host, port string) (node, error) {
	n := node{host: host, port: port, kind: Actual}
	jpaasHost, jpaasPort := m.getenv("JPAAS_HOST"), m.getenv("JPAAS_HTTP_PORT")
	if jpaasPort == "" {
		jpaasPort = m.getenv("JPAAS_HOST_PORT_8080")
	}
	if (jpaasHost == "") != (jpaasPort == "") {
		return node{}, fmt.Errorf("workernode: JPAAS_HOST is %q and JPAAS_HTTP_PORT or "+
			"JPAAS_HOST_PORT_8080 is %q, want both or neither", jpaasHost, jpaasPort)
	}
	pod := first(m.getenv("POD_IP"), m.getenv("POD_NAME"))
	if jpaasHost != "" || pod != "" || m.inContainer() {
		n.kind = Container
	}
	if n.host == "" {
		n.host = first(jpaasHost, pod)
	}
	if n.host == "" && n.kind == Container {
		n.host = m.getenv("HOSTNAME")
	}
	if n.host == "" {
		n.host = m.address()
	}
	if n.port == "" {
		n.port = jpaasPort
	}
	if n.port == "" {
		n.port = fmt.Sprintf("%d-%d", m.now().UnixMilli(), m.intn(100000))
	}
	full := n
	n.host, n.port = cut(n.host, columnWidth), cut(n.port, columnWidth)
	n.changed = n != full
	return n, nil
}

// inContainer looks for the variable that Kubernetes sets and the files that Docker and Podman
// make.
func (m machine) inContainer() bool {
	return m.getenv("KUBERNETES_SERVICE_HOST") != "" ||
		m.exists("/.dockerenv") || m.exists("/run/.containerenv")
}

// address returns the first address that other machines could use, else a link-local one, else the
// machine's name, else "unknown": a host without a network may still have a database.
func (m machine) address() string {
	addrs, _ := m.addrs() // an error counts as no addresses
	for _, linkLocal := range []bool{false, true} {
		for _, a := range addrs {
			ip, ok := a.(*net.IPNet)
			if ok && !ip.IP.IsLoopback() && ip.IP.IsLinkLocalUnicast() == linkLocal {
				return ip.IP.String()
			}
		}
	}
	if name, err := m.hostname(); err == nil && name != "" {
		return name
	}
	return "unknown"
}

// first returns the first of the values that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// cut makes s fit a column of width characters. A text that was cut ends in a tilde. Control
// characters and bytes that are not UTF-8, which not every database stores as text, become question
// marks.
func cut(s string, width int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return string(runes[:width-1]) + "~"
}

// ascii replaces the characters that are not in every character set by question marks.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}
