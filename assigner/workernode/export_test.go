package workernode

import (
	"net"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Machine is what tests put in place of the machine they run on.
type Machine struct {
	Env      map[string]string
	Files    []string
	Addrs    []net.Addr
	AddrsErr error
	Name     string
	NameErr  error
}

func (m Machine) machine() machine {
	return machine{
		getenv:   func(k string) string { return m.Env[k] },
		exists:   func(path string) bool { return slices.Contains(m.Files, path) },
		addrs:    func() ([]net.Addr, error) { return m.Addrs, m.AddrsErr },
		hostname: func() (string, error) { return m.Name, m.NameErr },
		now:      func() time.Time { return time.UnixMilli(1700000000123) },
		intn:     func(n int) int { return n - 1 },
	}
}

// Identity returns the host, port and type that a process on m is listed with.
func (m Machine) Identity(host, port string) (string, string, NodeType, error) {
	n, err := m.machine().node(host, port)
	return n.host, n.port, n.kind, err
}

// NewNonce draws a nonce.
func NewNonce() int64 { return newNonce() }

// Exists reports whether this machine has a file.
func Exists(path string) bool { return thisMachine().exists(path) }

// Unconnected returns how this machine is listed if it has no address.
func Unconnected() string {
	m := thisMachine()
	m.addrs = func() ([]net.Addr, error) { return nil, nil }
	return m.address()
}

// On makes an Assigner of this package believe that it runs on m.
func On(a assigner.Assigner, m Machine) assigner.Assigner {
	switch a := a.(type) {
	case *disposable:
		a.machine = m.machine()
	case *leased:
		a.machine = m.machine()
	}
	return a
}

// At makes a leased Assigner believe that now is the local clock.
func At(a assigner.Assigner, now func() time.Time) assigner.Assigner {
	a.(*leased).now = now
	return a
}

// Patient makes a leased Assigner wait for a locked row for d at first.
func Patient(a assigner.Assigner, d time.Duration) assigner.Assigner {
	a.(*leased).patience = d
	return a
}

// Cut makes a text fit a column.
func Cut(s string, width int) string { return cut(s, width) }

// Clone returns a copy of a leased claim, as a copy of its process's memory would hold it.
func Clone(c assigner.Claim) assigner.Claim {
	l := c.(*leasedClaim)
	d := &leasedClaim{table: l.table, worker: l.worker, window: l.window, from: l.from, row: l.row}
	d.until.Store(l.until.Load())
	return d
}

// Memory is what the claims of one Assigner know of the table together.
type Memory struct{ m memory }

func (m *Memory) Forgot(end int64)       { m.m.forgot(end) }
func (m *Memory) Begin() int64           { return m.m.begin() }
func (m *Memory) KeepSpare(worker int64) { m.m.keepSpare(spare{worker: worker}) }

// Note takes note of a row.
func (m *Memory) Note(worker, token, nonce, until int64) {
	m.m.note(row{worker: worker, token: token, nonce: nonce, until: until})
}

// Lower takes note that the claim on a row stamps no further than end.
func (m *Memory) Lower(worker, token, nonce, end int64) {
	m.m.lower(row{worker: worker, token: token, nonce: nonce}, end)
}

// Until returns the end of a worker id's window, as far as the Assigner knows.
func (m *Memory) Until(worker int64) int64 {
	r, _ := m.m.row(worker)
	return r.until
}

// TakeSpare returns the worker id that was kept.
func (m *Memory) TakeSpare(last int64) (worker int64, ok bool) {
	s, ok := m.m.takeSpare(last)
	return s.worker, ok
}
