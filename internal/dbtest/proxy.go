package dbtest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a Proxy does to a request: to what a client sends in one go.
type Fault int

const (
	// None passes everything on.
	None Fault = iota

	// Refuse closes the open connections, and every new one as soon as it is made.
	Refuse

	// CutBeforeRequest closes the connection instead of passing the request on: the server never
	// sees it.
	CutBeforeRequest

	// CutAfterRequest passes the request on and closes the connection at once. The server may or
	// may not act on it.
	CutAfterRequest

	// CutBeforeReply passes the request on, waits for the reply and closes the connection instead
	// of passing that on: the server has done what it was asked and the client does not know.
	CutBeforeReply

	// BlackHole keeps the connections open and passes nothing on, in either direction, until the
	// fault changes; what was sent meanwhile then arrives late.
	BlackHole
)

// Proxy is a TCP proxy between a client and one server, which injects faults on request. A Proxy
// runs goroutines until Close, which NewProxy arranges for. Its methods are safe for concurrent
// use.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup
	hits     atomic.Int64

	mu      sync.Mutex
	fault   Fault
	match   func(request []byte) bool // nil: every request
	once    bool                      // the fault is over with its first hit
	delay   time.Duration
	changed chan struct{} // closed and replaced when the fault changes
	conns   map[*link]struct{}
	closed  bool
}

// NewProxy starts a Proxy to target, host:port, without a fault. It is closed when the test ends.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("proxy: %v", err)
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}),
		conns: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	tb.Cleanup(p.Close)
	return p
}

// Addr returns the address to connect to, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set does f to every request from here on. Set(None) heals the network.
func (p *Proxy) Set(f Fault) { p.set(f, nil, false) }

// SetOnce does f to the next request for which match is true, and then nothing any more. A nil
// match matches every request. match sees the bytes as they are on the wire and must not keep them.
func (p *Proxy) SetOnce(f Fault, match func(request []byte) bool) { p.set(f, match, true) }

// SetMatching does f to every request for which match is true.
func (p *Proxy) SetMatching(f Fault, match func(request []byte) bool) { p.set(f, match, false) }

// Delay holds back everything in both directions by d, on top of the fault.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Hits returns how many requests and connections a fault was done to since the Proxy was made.
func (p *Proxy) Hits() int64 { return p.hits.Load() }

// Cut closes the open connections, once, and leaves the fault as it is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// Close closes all connections and ends the Proxy. Closing twice does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.listener.Close()
		p.cut()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) set(f Fault, match func([]byte) bool, once bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.match, p.once = f, match, once
	close(p.changed)
	p.changed = make(chan struct{})
	if f == Refuse {
		p.cut()
	}
}

// cut needs p.mu held.
func (p *Proxy) cut() {
	for l := range p.conns {
		l.close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	if p.is(Refuse) {
		p.hits.Add(1)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	l := &link{p: p, client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	p.conns[l] = struct{}{}
	if p.closed {
		l.close()
	}
	p.mu.Unlock()
	p.wg.Go(l.replies)
	l.requests()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

func (p *Proxy) is(f Fault) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault == f
}

// next returns what is to be done to a request, and the channel that is closed when that changes.
func (p *Proxy) next(request []byte) (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	if f == None || p.match != nil && !p.match(request) {
		return None, p.changed
	}
	p.hits.Add(1)
	// A black hole applies to every request until another fault is set.
	if p.once && f != BlackHole {
		p.fault = None
	}
	return f, p.changed
}

// held returns how long to hold something back, and whether nothing passes at all before the
// channel is closed.
func (p *Proxy) held() (time.Duration, bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay, p.fault == BlackHole && p.match == nil, p.changed
}
