package workernode

import (
	"net"
	"reflect"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
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

func (m Machine) machine() workertable.Machine {
	return workertable.Machine{
		Getenv:   func(k string) string { return m.Env[k] },
		Exists:   func(path string) bool { return slices.Contains(m.Files, path) },
		Addrs:    func() ([]net.Addr, error) { return m.Addrs, m.AddrsErr },
		Hostname: func() (string, error) { return m.Name, m.NameErr },
		Now:      func() time.Time { return time.UnixMilli(1700000000123) },
		Intn:     func(n int) int { return n - 1 },
	}
}

// Identity returns the host, port and type that a process on m is listed with.
func (m Machine) Identity(host, port string) (string, string, workertable.NodeType, error) {
	n, err := m.machine().Node(host, port)
	return n.Host, n.Port, n.Type, err
}

// Exists reports whether this machine has a file.
func Exists(path string) bool { return workertable.This().Exists(path) }

// Unconnected returns how this machine is listed if it has no address.
func Unconnected() string {
	m := workertable.This()
	m.Getenv = func(string) string { return "" }
	m.Exists = func(string) bool { return false }
	m.Addrs = func() ([]net.Addr, error) { return nil, nil }
	n, _ := m.Node("", "")
	return n.Host
}

// On makes a Disposable believe that it runs on m.
func On(a assigner.Assigner, m Machine) assigner.Assigner {
	a.(*disposable).machine = m.machine()
	return a
}

// LeasedOn returns a Leased that believes that it runs on m.
func LeasedOn(m Machine, db *gorm.DB, o LeasedOptions) *lease.Assigner {
	return newLeased(db, o, m.machine())
}

// At makes a leased Assigner believe that now is the local clock.
func At(a *lease.Assigner, now func() time.Time) *lease.Assigner {
	// The engine has no door for tests of other packages. The field is a func() time.Time.
	local := reflect.ValueOf(a).Elem().FieldByName("space").FieldByName("local")
	*(*func() time.Time)(local.Addr().UnsafePointer()) = now
	return a
}

// Cut makes a text fit a column.
func Cut(s string, width int) string { return workertable.Cut(s, width) }
