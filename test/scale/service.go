package main

import (
	"database/sql"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/test/internal/idservice"
)

// idService is a source of worker ids that a server hands out over HTTP, as uid serve does, from
// the tables of package workernode. The server runs in this process.
type idService struct {
	mariaDB

	http *idservice.Service
	pool *sql.DB // the service's; nil before the first reset
}

func newService(db mariaDB) (*idService, error) {
	s, err := idservice.Start()
	return &idService{mariaDB: db, http: s}, err
}

func (s *idService) job(kind string) job { return job{Kind: kind, DSN: "http://" + s.http.Addr} }

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
	return s.http.Restart(workernode.Leased(db, nil))
}

// stop ends the service and leaves its database alone. The processes have ended.
func (s *idService) stop() {
	s.http.Close()
	if s.pool != nil {
		s.pool.Close()
	}
}

// Close ends the service and its database.
func (s *idService) Close() {
	s.stop()
	s.mariaDB.Close()
}
