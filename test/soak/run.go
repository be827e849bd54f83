package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/internal/uidcommand"
)

// run starts a server, a service if a process uses it, a proxy to each, and a fleet. It injects
// faults for as long as c says or until ctx ends, and returns what it found. The error says what
// must not have happened, apart from duplicates. The result is nil only if nothing was run.
func run(ctx context.Context, c config, progress io.Writer) (*result, error) {
	a := authorities[c.authority]()
	dir, err := os.MkdirTemp("", "uidring-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command, err := uidcommand.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	srv, err := a.start()
	if srv != nil {
		defer srv.Close()
	}
	if a.end != nil {
		defer a.end()
	}
	if err != nil {
		return nil, err
	}
	var clean cleanup
	defer clean.run()
	var proxy, front *dbtest.Proxy
	var dsn, address string
	if srv == nil {
		dsn = a.dsn(nil, "")
	} else {
		proxy = dbtest.NewProxy(&clean, srv.Addr())
		dsn = a.dsn(srv, proxy.Addr())
	}
	faults, kinds := a.faults, a.kinds[:min(len(a.kinds), c.Processes)]
	if slices.ContainsFunc(kinds, func(k kind) bool { return k.from == served }) {
		addr, closeAll, err := newService(dsn, c.window)
		if err != nil {
			return nil, err
		}
		defer closeAll()
		front = dbtest.NewProxy(&clean, addr)
		address = "http://" + front.Addr()
		faults = slices.Concat(faults, unreliableService())
	}
	f, err := newFleet(a, c.Processes, dsn, address, c.window, c.broken)
	if err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	in := &injector{fleet: f, command: command, srv: srv, proxy: proxy, front: front,
		faults: faults, most: c.Most, random: rand.New(rand.NewPCG(c.Seed, 1)), stop: stop}
	begin := time.Now()
	f.Await("start")
	f.Failure(in.keep())

	var wg sync.WaitGroup
	wg.Go(in.server)
	if c.broken == "" {
		wg.Go(func() { in.processes(rand.New(rand.NewPCG(c.Seed, 2)), stop) })
	}
	watch(ctx, c, begin, in, progress)
	close(stop)
	wg.Wait()

	f.Await("the last fault")
	err = f.Stop()
	f.look(0)
	return newResult(c, begin, in), err
}

const (
	looks = 500 * time.Millisecond // between two checks of what was found

	// lateness is how long windows have to overlap before that counts. A window may be read from
	// its process's pipe earlier than the end of the window before it from another's.
	lateness = 2 * time.Second
)

// watch prints a line of progress now and then, until the time is over, ctx ends, or something is
// found that must not happen. On a slow machine it waits for faults of both sorts.
func watch(ctx context.Context, c config, begin time.Time, in *injector, progress io.Writer) {
	over := func() bool {
		process, other := soak.Split(in.counts.All())
		late := time.Since(begin) - c.Duration
		both := c.broken != "" || process > 0 && other > 0
		return late >= 0 && both || late >= soak.Comeback
	}
	for next := begin.Add(c.Every); !over(); {
		if !soak.Pause(ctx.Done(), looks) {
			return
		}
		found := in.fleet.look(lateness)
		if now := time.Now(); now.Before(next) && !found {
			continue
		}
		next = next.Add(c.Every)
		s := in.fleet.ledger.Sum()
		process, faults := soak.Split(in.counts.All())
		in.fleet.mu.Lock()
		fault := in.fleet.fault
		in.fleet.mu.Unlock()
		fmt.Fprintf(progress, "%6.0fs  %d ids, %d worker ids, %d used again, %d faults, "+
			"%d duplicates, %d incomplete ticks; fault: %s\n",
			time.Since(begin).Seconds(), s.IDs, s.Workers, s.Shared, process+faults, s.Duplicates,
			in.fleet.ledger.Pages(), fault)
		if found {
			return
		}
	}
}
