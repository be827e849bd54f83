package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// The account of the worker processes, with the privileges that the library's documents ask for and none that a read-only
// server does not bind.
const (
	database = "soak"
	account  = "app"
)

// run starts a server, a proxy and a fleet, does harm to them for as long as c says or until ctx ends, and returns what came of it. The error says
// what must not have happened, apart from duplicates; the result is nil only if nothing was run.
func run(ctx context.Context, c config, progress io.Writer) (*result, error) {
	srv, err := dbtest.NewMariaDB()
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var clean cleanup
	defer clean.run()
	proxy := dbtest.NewProxy(&clean, srv.Addr())
	if err := prepare(srv); err != nil {
		return nil, err
	}
	dsn := strings.Replace(srv.DSNVia(proxy.Addr(), database), dbtest.User+":", account+":", 1) + "&timeout=2s&readTimeout=2s"
	f, err := newFleet(c.processes, dsn, c.window, c.broken)
	if err != nil {
		return nil, err
	}
	in := &injector{fleet: f, srv: srv, proxy: proxy, db: database, most: c.most, counts: map[string]int64{}}
	begin := time.Now()
	f.await("start")

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { in.server(rand.New(rand.NewPCG(c.seed, 1)), stop) })
	wg.Go(func() { in.processes(rand.New(rand.NewPCG(c.seed, 2)), stop) })
	watch(ctx, c, begin, in, progress)
	close(stop)
	wg.Wait()

	f.await("the last fault")
	err = f.stop()
	return newResult(c, begin, in), err
}

// prepare makes the database, its tables and the account.
func prepare(srv *dbtest.Server) error {
	for _, q := range []string{
		"CREATE DATABASE " + database,
		"CREATE USER " + account + "@'%' IDENTIFIED BY '" + dbtest.Password + "'",
		"GRANT SELECT, INSERT, UPDATE ON " + database + ".* TO " + account + "@'%'",
	} {
		if _, err := srv.TryQuery("", q); err != nil {
			return err
		}
	}
	db, err := workernode.OpenMySQL(srv.DSN(database))
	if err != nil {
		return err
	}
	if pool, err := db.DB(); err == nil {
		defer pool.Close()
	}
	return workernode.Migrate(context.Background(), db)
}

// watch prints a line of progress now and then until the time is over, ctx ends, or something has failed.
func watch(ctx context.Context, c config, begin time.Time, in *injector, progress io.Writer) {
	for time.Since(begin) < c.duration {
		if !pause(ctx.Done(), min(c.every, c.duration-time.Since(begin))) {
			return
		}
		s := in.fleet.ledger.Sum()
		in.mu.Lock()
		var faults int64
		for _, n := range in.counts {
			faults += n
		}
		in.mu.Unlock()
		in.fleet.mu.Lock()
		fault, failures := in.fleet.fault, len(in.fleet.bad)
		in.fleet.mu.Unlock()
		fmt.Fprintf(progress, "%6.0fs  %d ids, %d worker ids, %d used again, %d faults, %d duplicates, %d incomplete ticks; fault: %s\n",
			time.Since(begin).Seconds(), s.IDs, s.Workers, s.Shared, faults, s.Duplicates, in.fleet.ledger.Pages(), fault)
		if s.Duplicates > 0 || failures > 0 {
			return
		}
	}
}
