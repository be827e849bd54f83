package dbtest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one client's connection through a Proxy. Two goroutines own a direction each; either ends
// both.
type link struct {
	p              *Proxy
	client, server net.Conn
	cutReply       atomic.Bool // set before the request is passed on whose reply must not pass
	once           sync.Once
	done           chan struct{} // closed by close
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		l.client.Close()
		l.server.Close()
	})
}

// requests passes on what the client sends.
func (l *link) requests() {
	defer l.close()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.client.Read(buf)
		if err != nil || !l.wait() {
			return
		}
		f, changed := l.p.next(buf[:n])
		switch f {
		case Refuse, CutBeforeRequest:
			return
		case CutBeforeReply, CutAfterRequest:
			l.cutReply.Store(true) // a server may answer before this goroutine closes the link
		case BlackHole:
			select {
			case <-changed:
			case <-l.done:
				return
			}
		}
		if _, err := l.server.Write(buf[:n]); err != nil || f == CutAfterRequest {
			return
		}
	}
}

// replies passes on what the server sends.
func (l *link) replies() {
	defer l.close()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		if err != nil || l.cutReply.Load() || !l.wait() {
			return
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// wait holds back what is about to be passed on, for the Proxy's delay and for as long as its black
// hole lasts. It returns false if the link was closed meanwhile.
func (l *link) wait() bool {
	delay, hole, changed := l.p.held()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-l.done:
			return false
		}
	}
	if hole {
		l.p.hits.Add(1)
		select {
		case <-changed:
		case <-l.done:
			return false
		}
		return l.wait()
	}
	return true
}
