package idhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// errUnknownClaim says that a claim is not among those that this process has made and remembers.
var errUnknownClaim = errors.New("this server does not know the claim")

// rememberFor is how long a claim is remembered that nobody uses any more, after its window's end.
const rememberFor = time.Hour

// claims are those that were made for clients. The zero value is ready to use.
//
// A claim that is not known is lost to its client, which costs a worker id until the window's end
// and nothing else: the authority grants no instant of a window twice. So they are kept in memory.
// Their names are made here: two programs that use one name by mistake would share a worker id.
type claims struct {
	mu    sync.Mutex // nothing is waited for while it is held
	byKey map[string]*claim
	swept time.Time
}

// claim is a claim that was made for a client.
type claim struct {
	assigner.Claim

	turn chan struct{} // holds a token while somebody extends or releases the claim
	last time.Time     // when it was last used; guarded by claims.mu
}

// add remembers a claim and returns its name.
func (s *claims) add(made assigner.Claim) (key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.swept) > rememberFor/10 {
		s.sweep(now)
	}
	if s.byKey == nil {
		s.byKey = make(map[string]*claim)
	}
	key = rand.Text()
	s.byKey[key] = &claim{made, make(chan struct{}, 1), now}
	return key
}

// use calls do with the claim of a name and a worker id, one caller at a time. It goes on when the
// client has gone, so that what was asked for is found when it is asked for again, for
// authorityTimeout at most.
func (s *claims) use(
	r *http.Request, key string, worker int64, do func(context.Context, assigner.Claim) error,
) error {
	ctx, cancel := detached(r)
	defer cancel()
	c := s.find(key)
	if c == nil || c.Worker() != worker {
		return errUnknownClaim
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	return do(ctx, c.Claim)
}

// detached returns a context that outlives the client.
func detached(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), authorityTimeout)
}

// find returns the claim of a name, or nil.
func (s *claims) find(key string) *claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byKey[key]
	if c != nil {
		c.last = time.Now()
	}
	return c
}

// forget forgets a claim.
func (s *claims) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
}

// sweep forgets the claims that nobody uses and whose windows have ended. The caller holds mu.
func (s *claims) sweep(now time.Time) {
	s.swept = now
	for key, c := range s.byKey {
		_, until := c.Window()
		if now.Sub(c.last) > rememberFor && now.Sub(until) > rememberFor { // until is zero without an end
			delete(s.byKey, key)
		}
	}
}
