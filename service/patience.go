package service

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// patience is a request's context with a timeout that starts with the first call of Done or
// Deadline. A call that finds an id without waiting sets no timer.
type patience struct {
	context.Context //nolint:containedctx // the request's; this is a context
	timeout         time.Duration

	mu    sync.Mutex // held by start, the only writer of timed
	timed atomic.Pointer[timed]
}

// timed is the context once its timeout has started.
type timed struct {
	context.Context //nolint:containedctx // this is a context
	cancel          context.CancelFunc
}

// patience returns the context of a call that r makes. The caller must call end.
func (h *handler) patience(r *http.Request) *patience {
	return &patience{Context: r.Context(), timeout: h.Timeout}
}

// start starts the timeout on its first call.
func (p *patience) start() *timed {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.timed.Load()
	if t == nil {
		ctx, cancel := context.WithTimeout(p.Context, p.timeout)
		t = &timed{ctx, cancel}
		p.timed.Store(t)
	}
	return t
}

// end stops the timer, if there is one.
func (p *patience) end() {
	if t := p.timed.Load(); t != nil {
		t.cancel()
	}
}

// Done returns the channel that is closed when the time is up or the client has gone.
func (p *patience) Done() <-chan struct{} { return p.start().Done() }

// Deadline returns when the time is up.
func (p *patience) Deadline() (time.Time, bool) { return p.start().Deadline() }

// Err returns why the context has ended. A timeout that has not started does not end it.
func (p *patience) Err() error {
	if t := p.timed.Load(); t != nil {
		return t.Err()
	}
	return p.Context.Err()
}
