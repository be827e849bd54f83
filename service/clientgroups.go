package service

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A server that failed is asked last for restMin, and for twice as long after each further failure
// in a row, up to restMax. So a Client comes back to the servers that it prefers by itself, and one
// that hangs costs it a Timeout a minute.
const (
	restMin = 5 * time.Second
	restMax = time.Minute
)

// rest says until when a server is asked last. Its methods are safe for concurrent use: two results
// that arrive together count as one or as two, which does no harm.
type rest struct {
	until    atomic.Int64 // Unix nanoseconds; 0: not at all
	failures atomic.Int64 // in a row
}

func (r *rest) resting(now time.Time) bool { return now.UnixNano() < r.until.Load() }

// record records the result of asking the server.
func (r *rest) record(failed bool, now time.Time) {
	if !failed {
		r.failures.Store(0)
		r.until.Store(0)
		return
	}
	n := min(r.failures.Add(1), 10)
	r.until.Store(now.Add(min(restMin<<(n-1), restMax)).UnixNano())
}

// setServers sets the servers of all groups. The text of an address may hold a password, so no
// error quotes it.
func (c *Client) setServers(groups [][]string) error {
	for n, group := range groups {
		name, indices := "servers", []int(nil)
		if n > 0 {
			name = fmt.Sprintf("Fallback[%d]", n-1)
		}
		if len(group) == 0 {
			return fmt.Errorf("service: %s is empty, want at least one address", name)
		}
		for i, text := range group {
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
				u.User != nil || u.RawQuery != "" || u.Fragment != "" {
				return fmt.Errorf("service: %s[%d] is not an address, want one such as "+
					"http://HOST:PORT, without user, query and fragment", name, i)
			}
			indices = append(indices, len(c.servers))
			c.servers = append(c.servers, strings.TrimRight(u.String(), "/"))
		}
		c.groups = append(c.groups, indices)
	}
	c.turn, c.rests = rand.Int(), make([]rest, len(c.servers))
	return nil
}

// anyServer is the home of a request that belongs to no server.
const anyServer = -1

// order returns the servers in the order in which they are asked: those that do not rest before
// those that do, and each by group. If home is a server, and not below 0, it comes first.
func (c *Client) order(home int) []int {
	now := time.Now()
	var awake, resting []int
	for _, group := range c.groups {
		first := c.turn % len(group)
		for _, at := range slices.Concat(group[first:], group[:first]) {
			if c.rests[at].resting(now) {
				resting = append(resting, at)
			} else {
				awake = append(awake, at)
			}
		}
	}
	order := append(awake, resting...)
	if home >= 0 {
		order = slices.DeleteFunc(order, func(at int) bool { return at == home })
		order = slices.Insert(order, 0, home)
	}
	return order
}

// answered records that server at has answered. It logs that after a request that none did, and
// when the Client leaves a group of servers for another. A claim's home may be in any group.
func (c *Client) answered(at, home int) {
	c.rests[at].record(false, time.Now())
	if c.away.Load() && c.away.Swap(false) {
		c.logger.Info("service: a server answers again", "server", c.servers[at])
	}
	if home != anyServer {
		return
	}
	group := int64(slices.IndexFunc(c.groups, func(g []int) bool { return slices.Contains(g, at) }))
	switch was := c.group.Swap(group); {
	case group > was:
		c.logger.Warn("service: preferred servers do not answer", "server", c.servers[at])
	case group < was:
		c.logger.Info("service: back at preferred servers", "server", c.servers[at])
	}
}
