package service

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// errUnknownClaim says that this process did not make the claim, or has forgotten it.
var errUnknownClaim = errors.New("this server does not know the claim")

// The bounds on what is remembered.
const (
	rememberFor = time.Hour // how long an unused claim is remembered after the end of its window
	maxClaims   = 1 << 16   // the most claims; they take some 20 MB
)

// claims holds the claims that were made for clients. The zero value is ready to use.
//
// It keeps them in memory only. A client loses a claim that is forgotten, which costs one worker id
// until the window's end and nothing else, because the authority grants no instant of a window
// twice. The server names the claims: two clients that chose the same name would share a worker id.
//
// A window without an end never ends, and its claim may be used at any time. So such a claim is
// remembered until it is given back. When there are too many claims, the one that was not used for
// the longest time is forgotten.
type claims struct {
	mu    sync.Mutex // not held while waiting
	byKey map[string]*claim
	swept time.Time
}

// claim is a claim that was made for a client.
type claim struct {
	assigner.Claim

	turn chan struct{} // of capacity 1, full while a request uses the claim
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
	if len(s.byKey) >= maxClaims {
		s.forgetOldest()
	}
	if s.byKey == nil {
		s.byKey = make(map[string]*claim)
	}
	key = rand.Text()
	s.byKey[key] = &claim{made, make(chan struct{}, 1), now}
	return key
}

// use calls do with the claim of that name and worker id, one request at a time. It goes on for up
// to authorityTimeout when the client has gone, so that a client that asks again finds it done.
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

// detached returns a context that lasts authorityTimeout, whether or not the client goes.
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

// sweep forgets the unused claims whose windows ended rememberFor ago. The caller holds mu.
func (s *claims) sweep(now time.Time) {
	s.swept = now
	for key, c := range s.byKey {
		_, until := c.Window()
		if !until.IsZero() && now.Sub(c.last) > rememberFor && now.Sub(until) > rememberFor {
			delete(s.byKey, key)
		}
	}
}

// forgetOldest forgets the claim that was not used for the longest time. The caller holds mu.
func (s *claims) forgetOldest() {
	oldest := ""
	for key, c := range s.byKey {
		if oldest == "" || c.last.Before(s.byKey[oldest].last) {
			oldest = key
		}
	}
	delete(s.byKey, oldest)
}
