package service

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Client asks the servers of an id service. It starts no goroutine other than those of net/http for
// open connections, which Close ends. Its methods are safe for concurrent use. It keeps no id and
// no range: what it fetches belongs to the generators on it.
type Client struct {
	servers []string // their addresses, without a slash at the end
	timeout time.Duration
	http    http.Client
	own     *http.Transport // nil: ClientOptions.Transport is used
	token   string
	owner   string
	cyclic  bool
	logger  *slog.Logger

	groups [][]int      // indices of servers, by preference; read-only
	turn   int          // where this Client begins in each group; read-only
	rests  []rest       // by server
	group  atomic.Int64 // of the server that answered last
	away   atomic.Bool  // no server answered the last request
}

// ClientOptions are the options of NewClient. nil and zero fields mean the defaults.
type ClientOptions struct {
	// Token is the bearer token that the servers require, in visible ASCII characters. It is sent
	// as it is, so use http addresses only on loopback and on networks that you trust. No error
	// shows it.
	Token string

	// Fallback are further groups of servers, by preference: those of the same region, say, and
	// then all others, where the servers of NewClient are those of the own room. A group is asked
	// only while no server of the groups before it answers, and for a minute afterwards at most.
	// All servers must use the same database, as those of NewClient.
	Fallback [][]string

	// Timeout bounds a request to one server, above 0; 5 s by default. A server waits up to 4 s for
	// its database, so a shorter Timeout gives up answers that are on their way.
	Timeout time.Duration

	// Cyclic accepts ranges of counters that begin again when they are used up, such as those of
	// sqlsource.Sequence with Cycle. Their ids repeat, and no range of such a counter is compared
	// with earlier ones. By default such a range is refused: a server cannot turn the comparison
	// off.
	Cyclic bool

	// Owner describes the process to the operator who reads the claims on worker ids. The server
	// cuts it to 191 characters. Default: host, process id and the program's name.
	Owner string

	// Logger gets a line when no server answers any more and one when a server answers again.
	// Silent by default.
	Logger *slog.Logger

	// Transport sends the requests. By default the Client makes its own, which follows the proxy
	// settings of the environment and gives up connecting after 2 s.
	Transport http.RoundTripper

	_ struct{} // keeps literals keyed
}

// NewClient returns a Client of servers, each an address such as "http://ids-1:8080" or
// "https://example.com/ids". It does no I/O. Give each server an address of its own: behind an
// address that several servers share, a claim on a worker id is not found again and is replaced.
// Each Client begins with a server at random, so that many spread over them, and asks another one
// while that does not answer. ClientOptions.Fallback has servers that are farther away.
//
// All servers must use the same database. Each database counts for itself, so two of them hand out
// equal worker ids and equal ranges, and the Client cannot tell.
func NewClient(servers []string, options *ClientOptions) (*Client, error) {
	var o ClientOptions
	if options != nil {
		o = *options
	}
	if len(servers) == 0 {
		return nil, errors.New("service: servers is empty, want at least one address")
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("service: Timeout is %v, want above 0", o.Timeout)
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("service: Token has a character that is not visible ASCII, " +
			"want none")
	}
	if o.Owner == "" {
		host, _ := os.Hostname() // for the operator only
		o.Owner = fmt.Sprintf("%s pid %d %s", host, os.Getpid(), filepath.Base(os.Args[0]))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{timeout: o.Timeout, token: o.Token, cyclic: o.Cyclic,
		owner: strings.ToValidUTF8(o.Owner, "?"), logger: o.Logger}
	if err := c.setServers(append([][]string{servers}, o.Fallback...)); err != nil {
		return nil, err
	}
	c.http.Transport = o.Transport
	if o.Transport == nil {
		dialer := &net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}
		c.own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   2 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: o.Timeout,

			MaxResponseHeaderBytes: maxAnswer, // net/http's default is 1 MiB
		}
		c.http.Transport = c.own
	}
	// The target of a redirect is not one of the servers and must not see the token.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return c, nil
}

// String returns the addresses of the servers. NewClient takes none with a user or a password in
// it.
func (c *Client) String() string { return "the id service at " + strings.Join(c.servers, ",") }

// Close closes the idle connections, unless they belong to ClientOptions.Transport. The Client may
// be used again. Close returns nil.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
