package main

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/service"
)

// idService is a source of worker ids that a server hands out over HTTP, as uid serve does, from
// the tables of package workernode. The server runs in this process.
type idService struct {
	mariaDB

	server  *http.Server
	addr    string
	handler atomic.Pointer[http.Handler]
	pool    *sql.DB // the handler's; nil before the first reset
}

func newService(db mariaDB) (*idService, error) {
	s := &idService{mariaDB: db}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) })}
	go func() { _ = s.server.Serve(l) }() // until it is closed
	return s, nil
}

func (s *idService) job(kind string) job { return job{Kind: kind, DSN: "http://" + s.addr} }

// reset makes the tables anew, for a handler that knows nothing.
func (s *idService) reset() error {
	if err := s.mariaDB.reset(); err != nil {
		return err
	}
	return s.restart()
}

// pass moves the ends of all windows into the past. The handler forgets the claims that it made.
func (s *idService) pass() error {
	if err := s.mariaDB.pass(); err != nil {
		return err
	}
	return s.restart()
}

// restart replaces the handler.
func (s *idService) restart() error {
	if s.pool != nil {
		s.pool.Close()
	}
	db, err := workernode.OpenMySQL(s.DSN(database))
	if err != nil {
		return err
	}
	if s.pool, err = db.DB(); err != nil {
		return err
	}
	h, err := service.NewHandler(&service.HandlerOptions{Workers: workernode.Leased(db, nil)})
	if err == nil {
		s.handler.Store(&h)
	}
	return err
}

// stop ends the service and leaves its database alone. The processes have ended.
func (s *idService) stop() {
	_ = s.server.Close()
	if s.pool != nil {
		s.pool.Close()
	}
}

// Close ends the service and its database.
func (s *idService) Close() {
	s.stop()
	s.mariaDB.Close()
}
