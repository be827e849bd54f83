package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// hostTimeout bounds how long one of several hosts may take to accept a connection and to say
// whether it can be written to.
const hostTimeout = 2 * time.Second

// Hosts is a driver.Connector for several MySQL servers, such as the members of a group, of which
// one at a time can be written to. It connects to that one and to no other. It is safe for
// concurrent use.
type Hosts struct {
	driver.Connector // of the first host
	hosts            []host
	last             atomic.Int64 // index of the host that was connected to last
}

type host struct {
	addr      string
	connector driver.Connector
}

// NewHosts returns the connector for a configuration with each of the addresses in turn.
func NewHosts(cfg *mysql.Config, addrs []string) (*Hosts, error) {
	h := &Hosts{}
	for _, addr := range addrs {
		one := cfg.Clone()
		one.Addr = addr
		c, err := mysql.NewConnector(one)
		if err != nil {
			return nil, err
		}
		h.hosts = append(h.hosts, host{addr, c})
	}
	h.Connector = h.hosts[0].connector
	return h, nil
}

// Connect connects to the host that can be written to. It begins with the one that it connected to
// last and bounds each by hostTimeout, because a server that is stopped accepts connections and
// does not answer. The error has a reason for each host.
func (h *Hosts) Connect(ctx context.Context) (driver.Conn, error) {
	first := int(h.last.Load())
	reasons := make([]error, 0, len(h.hosts))
	for i := range h.hosts {
		n := (first + i) % len(h.hosts)
		c, err := h.hosts[n].connect(ctx)
		if err == nil {
			h.last.Store(int64(n))
			return c, nil
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", h.hosts[n].addr, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("no host can be written to: %w", errors.Join(reasons...))
}

func (h host) connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	c, err := h.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := writable(ctx, c); err != nil {
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
