// Package idservice hands out worker ids over HTTP, as uid serve does, in the process that uses it.
package idservice

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/service"
)

// Service is a service on loopback. Its methods are safe for concurrent use.
type Service struct {
	Addr string // host:port

	server  http.Server
	handler atomic.Pointer[http.Handler]
}

// Start starts a service, which the caller closes. It serves no request before Restart.
func Start() (*Service, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Service{Addr: l.Addr().String()}
	s.server.ReadHeaderTimeout = 10 * time.Second
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*s.handler.Load()).ServeHTTP(w, r)
	})
	go func() { _ = s.server.Serve(l) }() // until it is closed
	return s, nil
}

// Restart forgets the claims that were made, as a restart does, and hands out those of workers from
// here on.
func (s *Service) Restart(workers assigner.Assigner) error {
	h, err := service.NewHandler(&service.HandlerOptions{Workers: workers})
	if err == nil {
		s.handler.Store(&h)
	}
	return err
}

// Close ends the service.
func (s *Service) Close() { _ = s.server.Close() } // its clients have ended
