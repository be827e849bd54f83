package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/test/internal/soak"
)

// forgetEvery is how often the service forgets the claims that it made, as a restart would.
const forgetEvery = 5 * time.Second

// service hands out the worker ids of a database over HTTP, as uid serve does.
type idService struct {
	addr    string                       // host:port
	handler atomic.Pointer[http.Handler] // replaced by a new one every forgetEvery
	close   func()
}

// newService starts a service on loopback. The caller closes it.
func newService(dsn string, window time.Duration) (*idService, error) {
	db, err := openSQL(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	workers := workernode.Leased(db, &workernode.LeasedOptions{Window: window,
		Reach: reach(window)})
	s := &idService{}
	forget := func() error {
		h, err := service.NewHandler(&service.HandlerOptions{Workers: workers})
		if err == nil {
			s.handler.Store(&h)
		}
		return err
	}
	if err := forget(); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) }) // until it is closed
	wg.Go(func() {
		for soak.Pause(stop, forgetEvery) {
			_ = forget() // cannot fail: it succeeded with the same options
		}
	})
	s.close = func() {
		close(stop)
		_ = server.Close() // the processes have ended
		wg.Wait()
		_ = pool.Close()
	}
	return s, nil
}

func (s *idService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.handler.Load()).ServeHTTP(w, r)
}
