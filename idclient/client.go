package idclient

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Client asks the servers of an id service. It starts no goroutine but those that net/http has for
// open connections, which Close ends. Its methods are safe for concurrent use.
type Client struct {
	servers []string // their addresses, without a slash at the end
	timeout time.Duration
	http    http.Client
	own     *http.Transport // nil: the caller's is used
	token   string

	first atomic.Int64 // index of the server that is asked first
}

// Options are the options of New. nil and zero fields mean the defaults.
type Options struct {
	// Token is what the servers want as a bearer token: visible ASCII characters. It goes over the
	// network as it is, so an http address is for loopback and networks that you trust. No error
	// shows it.
	Token string

	// Timeout bounds a request to one server, above 0; 5 s by default. A server bounds its own
	// question to the database by 4 s, so a shorter one gives up answers that are on their way.
	Timeout time.Duration

	// Transport carries the requests out. By default it is one of the Client's own, which follows
	// the proxy settings of the environment and gives a connection up that is not there after 2 s.
	Transport http.RoundTripper

	_ struct{} // keeps literals keyed
}

// New returns a Client of servers, each an address such as "http://ids-1:8080" or
// "https://example.com/ids". It does no I/O. Name each server by an address of its own: behind one
// address that several share, a claim on a worker id is not found again and is replaced.
func New(servers []string, options *Options) (*Client, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if len(servers) == 0 {
		return nil, errors.New("idclient: servers is empty, want the address of one at least")
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("idclient: Timeout is %v, want above 0", o.Timeout)
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("idclient: Token has a character that is not visible ASCII, want none")
	}
	c := &Client{timeout: o.Timeout, token: o.Token}
	for i, text := range servers {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" { // the text may hold a password
			return nil, fmt.Errorf("idclient: servers[%d] is no address such as http://HOST:PORT, "+
				"without a user, a query and a fragment", i)
		}
		c.servers = append(c.servers, strings.TrimRight(u.String(), "/"))
	}
	c.http.Transport = o.Transport
	if o.Transport == nil {
		c.own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   2 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: o.Timeout,
		}
		c.http.Transport = c.own
	}
	// What a server would send the client to is not one of the servers, and must not see the token.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.first.Store(rand.Int64N(int64(len(servers)))) // so that clients spread over them
	return c, nil
}

// Close closes the connections that are idle. The Client may be used again. It returns nil.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
