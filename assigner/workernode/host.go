package workernode

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// NodeType says what a process runs on. The values are the ones in the column TYPE.
type NodeType int

// The node types.
const (
	Container NodeType = 1
	Actual    NodeType = 2
)

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

// machine is what the environment is asked; tests have their own.
type machine struct {
	getenv   func(string) string
	exists   func(path string) bool
	addrs    func() ([]net.Addr, error)
	hostname func() (string, error)
	now      func() time.Time
	intn     func(n int) int
}

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

// node is who asks for a worker id, as WORKER_NODE shows it. Nothing depends on it but the eyes of the operator.
type node struct {
	host, port string
	kind       NodeType
	changed    bool // host or port did not fit its column
}

// node finds out who asks: host and port as given; else from JPAAS_HOST with JPAAS_HTTP_PORT or JPAAS_HOST_PORT_8080; else
// Kubernetes' POD_IP or POD_NAME, or in any container its HOSTNAME; else the machine's first address that is not a
// loopback, else its name. A port that nothing names is the time in milliseconds and a random number.
func (m machine) node(host, port string) (node, error) {
	n := node{host: host, port: port, kind: Actual}
	jpaasHost, jpaasPort := m.getenv("JPAAS_HOST"), m.getenv("JPAAS_HTTP_PORT")
	if jpaasPort == "" {
		jpaasPort = m.getenv("JPAAS_HOST_PORT_8080")
	}
	if (jpaasHost == "") != (jpaasPort == "") {
		return node{}, fmt.Errorf("workernode: JPAAS_HOST is %q and JPAAS_HTTP_PORT or JPAAS_HOST_PORT_8080 is %q, want both or neither",
			jpaasHost, jpaasPort)
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

// inContainer looks for the marks that Kubernetes, Docker and Podman leave.
func (m machine) inContainer() bool {
	return m.getenv("KUBERNETES_SERVICE_HOST") != "" || m.exists("/.dockerenv") || m.exists("/run/.containerenv")
}

// address returns the first address that other machines could use, the machine's name if it has none, and a word if it has
// not even that: a host without a network may still have a database.
func (m machine) address() string {
	addrs, _ := m.addrs() // a machine that does not tell is one without addresses
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

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// cut makes s fit a column of width characters. What was cut ends in a tilde; what no database would store as text is replaced.
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
