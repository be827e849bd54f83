package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/bench/internal/server"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// patience is how long a call may take.
const patience = time.Second

// fleet is the callers.
type fleet struct {
	callers []*caller
	clients []func() error // what closes them
	running sync.WaitGroup
}

// caller takes ids until its ctx ends.
type caller struct {
	kind    string
	burst   int // ids that it takes every 10 ms, one after the other
	next    func(context.Context) (int64, error)
	ids     []int64 // used by its goroutine, and by the report after it has ended
	failed  int
	seconds map[int64]bool // in which a call failed
	longest time.Duration
	last    error
}

// The kinds of callers.
const (
	tags   = "Go programs, ids of a tag"
	times  = "Go programs, time-ordered ids"
	retry  = "HTTP for each id, both servers tried for 1 s"
	single = "HTTP for each id, one server asked once"
)

// newFleet returns the callers of the servers. It waits until the servers answer.
func newFleet(ctx context.Context, addresses []string) (*fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f := &fleet{}
	var urls []string
	for _, a := range addresses {
		urls = append(urls, "http://"+a)
	}
	for range 3 {
		c, err := service.NewClient(urls, nil)
		if err != nil {
			return nil, err
		}
		snow, err := uid.NewCached(ctx, c, &uid.Options{Layout: compat.Twitter()})
		if err != nil {
			return nil, err
		}
		orders, err := segment.New(ctx, c, nil)
		if err != nil {
			return nil, err
		}
		if _, err := orders.Tag(ctx, "order"); err != nil {
			return nil, err
		}
		f.clients = append(f.clients, snow.Close, orders.Close, c.Close)
		f.callers = append(f.callers,
			&caller{kind: tags, burst: 10, next: func(ctx context.Context) (int64, error) {
				return orders.Next(ctx, "order")
			}},
			&caller{kind: times, burst: 10, next: func(ctx context.Context) (int64, error) {
				id, err := snow.Next(ctx)
				return int64(id), err
			}})
	}
	for i := range urls {
		first, second := urls[i], urls[1-i]
		f.callers = append(f.callers,
			&caller{kind: retry, burst: 1, next: func(ctx context.Context) (id int64, err error) {
				for ctx.Err() == nil {
					for _, url := range []string{first, second} {
						if id, err = ask(ctx, url); err == nil {
							return id, nil
						}
					}
					backoff.Wait(ctx, 10*time.Millisecond)
				}
				return 0, err
			}},
			&caller{kind: single, burst: 1, next: func(ctx context.Context) (int64, error) {
				return ask(ctx, first)
			}})
	}
	return f, nil
}

// ask asks a server for an id of the tag.
func ask(ctx context.Context, url string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := server.Get(ctx, url+"/api/segment/get/order")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

// begin starts the callers, which end with ctx.
func (f *fleet) begin(ctx context.Context) {
	for _, c := range f.callers {
		f.running.Go(func() { c.run(ctx) })
	}
}

// end waits for the callers and closes their clients. What those cannot give back is a gap.
func (f *fleet) end() {
	f.running.Wait()
	for _, done := range f.clients {
		_ = done()
	}
}

func (c *caller) run(ctx context.Context) {
	c.seconds = map[int64]bool{}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for range c.burst {
			begin := time.Now()
			one, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			id, err := c.next(one)
			cancel()
			took := time.Since(begin)
			c.longest = max(c.longest, took)
			if err != nil {
				c.failed++
				c.seconds[begin.Unix()] = true
				c.last = err
				continue
			}
			c.ids = append(c.ids, id)
		}
	}
}

// report writes a line for each kind, and returns an error if an id occurs twice. Ids of the tag
// are one universe, whichever way they come.
func (f *fleet) report(out io.Writer) error {
	all := map[bool][]int64{}
	for _, kind := range []string{tags, times, retry, single} {
		calls, failed, seconds, longest := 0, 0, map[int64]bool{}, time.Duration(0)
		var last error
		for _, c := range f.callers {
			if c.kind != kind {
				continue
			}
			calls, failed = calls+len(c.ids)+c.failed, failed+c.failed
			longest = max(longest, c.longest)
			for s := range c.seconds {
				seconds[s] = true
			}
			if c.last != nil {
				last = c.last
			}
			all[kind == times] = append(all[kind == times], c.ids...)
		}
		fmt.Fprintf(out, "%-45s %8d calls, %6d failed, in %3d seconds; %.5f %% available; "+
			"longest call %v\n", kind, calls, failed, len(seconds),
			100*float64(calls-failed)/float64(max(calls, 1)), longest.Round(time.Microsecond))
		if last != nil {
			fmt.Fprintf(out, "    the last failure: %v\n", last)
		}
	}
	for ordered, ids := range all {
		slices.Sort(ids)
		for i := 1; i < len(ids); i++ {
			if ids[i] == ids[i-1] {
				return fmt.Errorf("%w: %d (time-ordered: %v)", errTwice, ids[i], ordered)
			}
		}
		fmt.Fprintf(out, "%d ids, time-ordered: %v, none twice\n", len(ids), ordered)
	}
	return nil
}
