package workertable

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// NodeType says what a process runs on. The values are the ones in the column TYPE, which are those
// of the original, so that both may write to one table.
type NodeType int

// The node types.
const (
	Container NodeType = 1
	Actual    NodeType = 2
)

// String returns the name that the original has for the type, and NodeType(n) for a number that it
// does not have.
func (t NodeType) String() string {
	switch t {
	case Container:
		return "CONTAINER"
	case Actual:
		return "ACTUAL"
	}
	return fmt.Sprintf("NodeType(%d)", int(t))
}

// ColumnWidth is the width of HOST_NAME, PORT and NAMESPACE, in characters. A text that does not
// fit is refused by a strict server and cut silently by another, so it is cut here before it is
// sent.
const ColumnWidth = 64

// Machine is what a node is found out from: the environment and the operating system. Tests replace
// its functions. Its methods read and change nothing, so they are safe for concurrent use.
type Machine struct {
	Getenv   func(string) string
	Exists   func(path string) bool
	Addrs    func() ([]net.Addr, error)
	Hostname func() (string, error)
	Now      func() time.Time
	Intn     func(n int) int
}

// This returns the machine that the process runs on. Its answers are read at each Assign, so
// a process that got another address meanwhile shows the new one.
func This() Machine {
	return Machine{
		Getenv:   os.Getenv,
		Exists:   func(path string) bool { _, err := os.Stat(path); return err == nil },
		Addrs:    net.InterfaceAddrs,
		Hostname: os.Hostname,
		Now:      time.Now,
		Intn:     rand.IntN,
	}
}

// Node describes the process that asks for a worker id, as WORKER_NODE shows it. It is for the
// operator who reads the table: no rule depends on it, and two processes may have equal ones.
type Node struct {
	Host, Port string
	Type       NodeType
	Changed    bool // host or port did not fit its column
}

// Node describes this process by the first of these that is there:
//
//	host    host, JPAAS_HOST, POD_IP, POD_NAME, in a container HOSTNAME, the machine's first
//	        address that is not a loopback, its name, "unknown"
//	port    port, JPAAS_HTTP_PORT, JPAAS_HOST_PORT_8080, the time with a random number
//
// JPAAS is the platform of the original. It is an error if it names one of host and port only: the
// original refuses that as well, and half of a setting is a mistake. The time is in milliseconds
// and the random number below 100,000, the original's form, which fits the column and tells two
// starts on one host apart.
func (m Machine) Node(host, port string) (Node, error) {
	jpaasHost := m.Getenv("JPAAS_HOST")
	jpaasPort := cmp.Or(m.Getenv("JPAAS_HTTP_PORT"), m.Getenv("JPAAS_HOST_PORT_8080"))
	// Before anything is cut or replaced, so that the error shows the variables as they are.
	if (jpaasHost == "") != (jpaasPort == "") {
		return Node{}, fmt.Errorf("workernode: JPAAS_HOST is %q and JPAAS_HTTP_PORT or "+
			"JPAAS_HOST_PORT_8080 is %q, want both or neither", jpaasHost, jpaasPort)
	}
	pod := cmp.Or(m.Getenv("POD_IP"), m.Getenv("POD_NAME"))
	n := Node{Host: cmp.Or(host, jpaasHost, pod), Port: cmp.Or(port, jpaasPort), Type: Actual}
	if jpaasHost != "" || pod != "" || m.inContainer() {
		// JPAAS and pods are containers whether or not the files of one are there.
		n.Type = Container
		n.Host = cmp.Or(n.Host, m.Getenv("HOSTNAME"))
	}
	if n.Host == "" {
		n.Host = m.address()
	}
	// A process that serves no port gets the time instead, which also tells its restarts apart.
	if n.Port == "" {
		n.Port = fmt.Sprintf("%d-%d", m.Now().UnixMilli(), m.Intn(100000))
	}
	// Both are cut last, whatever they come from, so the environment cannot make an INSERT fail.
	full := n
	n.Host, n.Port = Cut(n.Host, ColumnWidth), Cut(n.Port, ColumnWidth)
	n.Changed = n != full
	return n, nil
}

// inContainer looks for the variable that Kubernetes sets and the files that Docker and Podman
// make. A container of another kind counts as a machine, which changes nothing but the column TYPE.
func (m Machine) inContainer() bool {
	return m.Getenv("KUBERNETES_SERVICE_HOST") != "" ||
		m.Exists("/.dockerenv") || m.Exists("/run/.containerenv")
}

// address returns the first address that other machines could use, else a link-local one, else the
// machine's name, else "unknown": a host without a network may still have a database.
func (m Machine) address() string {
	addrs, _ := m.Addrs() // an error counts as no addresses
	// Two passes, so that a link-local address is taken only where there is no other.
	for _, linkLocal := range []bool{false, true} {
		for _, a := range addrs {
			ip, ok := a.(*net.IPNet)
			if ok && !ip.IP.IsLoopback() && ip.IP.IsLinkLocalUnicast() == linkLocal {
				return ip.IP.String()
			}
		}
	}
	if name, err := m.Hostname(); err == nil && name != "" {
		return name
	}
	return "unknown"
}

// Cut makes s fit a column of width characters. A text that was cut ends in a tilde. Control
// characters and bytes that are not UTF-8, which not every database stores as text, become question
// marks. It counts runes and not bytes, as the columns do.
func Cut(s string, width int) string {
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

// ASCII replaces the characters that are not in every character set by question marks. The number
// of characters stays, so the text still fits its column.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}
