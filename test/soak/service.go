package main

import (
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/test/internal/idservice"
	"github.com/uidring/uidring/test/internal/soak"
)

// forgetEvery is how often the service forgets the claims that it made, as a restart would.
const forgetEvery = 5 * time.Second

// newService starts a service that hands out the worker ids of a database. The caller calls
// closeAll.
func newService(dsn string, window time.Duration) (addr string, closeAll func(), err error) {
	db, err := openSQL(dsn)
	if err != nil {
		return "", nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return "", nil, err
	}
	workers := workernode.Leased(db, &workernode.LeasedOptions{Window: window,
		Reach: reach(window)})
	s, err := idservice.Start()
	if err != nil {
		return "", nil, err
	}
	if err := s.Restart(workers); err != nil {
		s.Close()
		return "", nil, err
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for soak.Pause(stop, forgetEvery) {
			_ = s.Restart(workers) // cannot fail: it succeeded with the same options
		}
	})
	return s.Addr, func() {
		close(stop)
		wg.Wait()
		s.Close()
		_ = pool.Close()
	}, nil
}
