package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// hostTimeout bounds how long one of several hosts may take to accept a connection and to say
	// whether it can be written to.
	hostTimeout = 2 * time.Second

	// hostPatience is how long one may take until the next one is tried as well.
	hostPatience = 500 * time.Millisecond
)

// ErrNoHost is the error of Hosts where none fits.
var ErrNoHost = errors.New("no host can be written to")

// Hosts is a driver.Connector for several servers, such as the members of a group, of which one at
// a time can be written to. It connects to that one and to no other. It is safe for concurrent use.
type Hosts struct {
	hosts  []Host
	last   atomic.Int64 // index of the host that was connected to last, or has taken over since
	moves  atomic.Int64 // how often last has changed
	asking sync.Mutex   // held by the goroutine of takenOver that asks the hosts
}

// Host is one of several servers.
type Host struct {
	Addr      string
	Connector driver.Connector

	// Writable returns why the server of a new connection may not be written to; nil: the Connector
	// connects to no such server.
	Writable func(context.Context, driver.Conn) error
}

// NewHosts returns the connector for hosts, of which there is one at the least.
func NewHosts(hosts []Host) *Hosts { return &Hosts{hosts: hosts} }

// MySQLHosts returns the connector for a configuration with each of the addresses in turn.
func MySQLHosts(cfg *mysql.Config, addrs []string) (*Hosts, error) {
	var hosts []Host
	for _, addr := range addrs {
		one := cfg.Clone()
		one.Addr = addr
		c, err := mysql.NewConnector(one)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, Host{addr, c, writable})
	}
	return NewHosts(hosts), nil
}

// Connect connects to the host that can be written to. It begins with the one that it connected to
// last, and goes on with the next one when that fails or has taken hostPatience: a server that is
// stopped accepts connections and does not answer. While it waits for such a server it asks the
// others again, because one of them may take over meanwhile. The first that can be written to is
// taken. Each has hostTimeout. The error has the last reason of each host.
func (h *Hosts) Connect(ctx context.Context) (driver.Conn, error) {
	type answer struct {
		n, round int
		conn     driver.Conn
		err      error
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer)
	var conn driver.Conn
	out, reasons := 0, make([]error, len(h.hosts))
	ask := func(n, round int) {
		out++
		go func() {
			c, err := h.hosts[n].connect(within)
			answers <- answer{n, round, c, err}
		}()
	}
	first, tried, silent := int(h.last.Load()), 0, 0 // silent: asked first, and without an answer
	var failed []int
	patience := time.NewTimer(0) // for the first host
	defer patience.Stop()
	for out > 0 || tried < len(h.hosts) && conn == nil && ctx.Err() == nil {
		select {
		case <-patience.C:
			switch {
			case conn != nil || ctx.Err() != nil:
			case tried < len(h.hosts):
				ask((first+tried)%len(h.hosts), 0)
				tried++
				silent++
				patience.Reset(hostPatience)
			case silent > 0:
				for _, n := range failed {
					ask(n, 1)
				}
				failed = nil
				patience.Reset(hostPatience)
			}
		case a := <-answers:
			out--
			if a.round == 0 {
				silent--
			}
			switch {
			case a.err != nil:
				reasons[a.n] = fmt.Errorf("%s: %w", h.hosts[a.n].Addr, a.err)
				failed = append(failed, a.n)
				if tried < len(h.hosts) {
					patience.Reset(0)
				}
			case conn != nil:
				_ = a.conn.Close() // a second one that can be written to
			default:
				conn = a.conn
				h.move(a.n)
				cancel() // the others
			}
		}
	}
	if conn != nil {
		return conn, nil
	}
	if err := errors.Join(reasons...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	return nil, ctx.Err()
}

func (h Host) connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	c, err := h.Connector.Connect(ctx)
	if err != nil || h.Writable == nil {
		return c, err
	}
	if err := h.Writable(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// writable returns why a server may not be written to, or nil. A member of a group has to be its
// primary, and the group to have a majority: a member that was restarted outside of its group says
// that it can be written to, and without a majority every COMMIT hangs.
func writable(ctx context.Context, c driver.Conn) error {
	settings, err := rows(ctx, c, "SHOW GLOBAL VARIABLES WHERE Variable_name IN "+
		"('read_only', 'super_read_only', 'group_replication_group_name')")
	if err != nil {
		return err
	}
	group := false
	for _, s := range settings {
		switch name, value := s[0], s[1]; {
		case name == "group_replication_group_name":
			group = value != ""
		case value != "OFF" && value != "0":
			return fmt.Errorf("the server is read-only: %s is %s", name, value)
		}
	}
	if !group {
		return nil
	}
	members, err := rows(ctx, c, "SELECT MEMBER_ID = @@server_uuid, MEMBER_STATE, MEMBER_ROLE "+
		"FROM performance_schema.replication_group_members")
	if err != nil {
		return fmt.Errorf("the state of its group: %w", err)
	}
	own, reached := "outside of its group", 0
	for _, m := range members {
		if m[1] != "UNREACHABLE" {
			reached++
		}
		if m[0] == "1" {
			own = m[1] + " " + m[2]
		}
	}
	switch {
	case own != "ONLINE PRIMARY":
		return fmt.Errorf("the member is %s, want ONLINE PRIMARY", strings.TrimSpace(own))
	case 2*reached <= len(members):
		return fmt.Errorf("the member reaches %d of %d of its group, want a majority", reached,
			len(members))
	}
	return nil
}

// rows returns the rows of a query without arguments as texts.
func rows(ctx context.Context, c driver.Conn, query string) (all [][]string, err error) {
	q, ok := c.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T, want that of MySQL's driver", c)
	}
	r, err := q.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	values := make([]driver.Value, len(r.Columns()))
	for {
		err := r.Next(values)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(values))
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			texts[i] = fmt.Sprint(v)
		}
		all = append(all, texts)
	}
}
