package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// injector does harm to a fleet: one goroutine to the server and the network, one to the processes.
type injector struct {
	fleet *fleet
	srv   *dbtest.Server
	proxy *dbtest.Proxy
	db    string        // name of the database
	most  time.Duration // that a fault lasts, or a process is paused

	mu     sync.Mutex
	counts map[string]int64
}

// fault is something that can happen to the server or the network. harm begins it and returns what ends it.
type fault struct {
	name string
	harm func(in *injector, lasts time.Duration) (heal func() error, err error)
}

// faults are all of them.
var faults = []fault{
	{"network: delay of 300 ms", func(in *injector, _ time.Duration) (func() error, error) {
		in.proxy.Delay(300 * time.Millisecond)
		return func() error { in.proxy.Delay(0); return nil }, nil
	}},
	{"network: connections refused", network(dbtest.Refuse, "")},
	{"network: cut before the request", network(dbtest.CutBeforeRequest, "")},
	{"network: cut after the request", network(dbtest.CutAfterRequest, "")},
	{"network: cut before the reply", network(dbtest.CutBeforeReply, "")},
	{"network: black hole", network(dbtest.BlackHole, "")},
	{"network: answers to changes of leases lost", network(dbtest.CutBeforeReply, "WORKER_LEASE SET")},
	{"network: changes of leases arrive late", network(dbtest.BlackHole, "WORKER_LEASE SET")},
	{"server: SIGKILL and restart", func(in *injector, _ time.Duration) (func() error, error) {
		return in.srv.Start, in.srv.Kill()
	}},
	{"server: shutdown and restart", func(in *injector, _ time.Duration) (func() error, error) {
		return in.srv.Start, in.srv.Stop()
	}},
	{"server: SIGSTOP", func(in *injector, _ time.Duration) (func() error, error) {
		return in.srv.Resume, in.srv.Pause()
	}},
	{"server: read-only", func(in *injector, _ time.Duration) (func() error, error) {
		return in.then("SET GLOBAL read_only = OFF"), in.then("SET GLOBAL read_only = ON")()
	}},
	{"tables: locked", func(in *injector, lasts time.Duration) (func() error, error) {
		ended := make(chan error, 1)
		go func() {
			ended <- in.then(fmt.Sprintf("LOCK TABLES WORKER_LEASE WRITE, WORKER_NODE WRITE; DO SLEEP(%.3f)", lasts.Seconds()))()
		}()
		return func() error { return <-ended }, nil
	}},
	{"tables: full (error 1114 from triggers)", func(in *injector, _ time.Duration) (func() error, error) {
		var add, drop []string
		for i, at := range []string{"UPDATE ON WORKER_LEASE", "INSERT ON WORKER_LEASE", "INSERT ON WORKER_NODE"} {
			add = append(add, fmt.Sprintf("CREATE TRIGGER full%d BEFORE %s FOR EACH ROW SIGNAL SQLSTATE 'HY000' "+
				"SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'", i, at))
			drop = append(drop, fmt.Sprintf("DROP TRIGGER IF EXISTS full%d", i))
		}
		return in.then(drop...), in.then(add...)()
	}},
}

// network returns a fault of the proxy's, for every request or for those that have a text in them.
func network(f dbtest.Fault, text string) func(*injector, time.Duration) (func() error, error) {
	return func(in *injector, _ time.Duration) (func() error, error) {
		if text == "" {
			in.proxy.Set(f)
		} else {
			in.proxy.SetMatching(f, func(b []byte) bool { return strings.Contains(string(b), text) })
		}
		return func() error { in.proxy.Set(dbtest.None); return nil }, nil
	}
}

// then returns a function that runs statements, past the proxy.
func (in *injector) then(statements ...string) func() error {
	return func() error {
		var errs []error
		for _, s := range statements {
			_, err := in.srv.TryQuery(in.db, s)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}

// count notes that a fault was done.
func (in *injector) count(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[name]++
}

// server does one fault after the other to the server and the network until stop is closed; each is over, and every generator is
// back, before the next begins. The faults come in an order that is shuffled anew each time all of them were had.
func (in *injector) server(r *rand.Rand, stop <-chan struct{}) {
	for {
		for _, i := range r.Perm(len(faults)) {
			if !pause(stop, between(r, 200*time.Millisecond, time.Second)) {
				return
			}
			f, lasts := faults[i], between(r, in.most/20, in.most)
			in.fleet.during(f.name)
			heal, err := f.harm(in, lasts)
			if err == nil {
				pause(stop, lasts)
				err = heal()
			}
			if err != nil {
				in.fleet.failure(fmt.Errorf("%s: %w", f.name, err))
				return
			}
			in.count(f.name)
			in.fleet.await(f.name)
			in.fleet.during(noFault)
		}
	}
}

// processes kills, pauses and restarts processes until stop is closed; all that are paused then go on.
func (in *injector) processes(r *rand.Rand, stop <-chan struct{}) {
	var paused sync.WaitGroup
	defer paused.Wait()
	for pause(stop, between(r, 200*time.Millisecond, 1500*time.Millisecond)) {
		slot, lasts := in.fleet.any(r), between(r, in.most/20, in.most)
		what, off := r.IntN(8), time.Duration(0)
		p := in.fleet.take(slot)
		if p == nil {
			continue
		}
		switch what {
		case 0, 1, 2:
			in.count("process: SIGSTOP")
			p.pause()
			in.fleet.put(slot, p)
			paused.Go(func() {
				pause(stop, lasts)
				p.resume()
			})
			continue
		case 3, 4, 5:
			in.count("process: SIGKILL and restart")
			p.kill()
		case 6:
			in.count("process: clean restart")
			if err := p.stop(); err != nil {
				in.fleet.failure(err)
			}
		default:
			in.count("process: SIGKILL and restart beside a database clock that is wrong")
			p.kill()
			off = between(r, -6*time.Hour, 6*time.Hour)
		}
		if err := in.fleet.start(slot, off); err != nil {
			in.fleet.failure(err)
			return
		}
	}
}

// between returns a time from least to most, at random.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// pause waits for d, and reports false if stop was closed before.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}

// cleanup stands in for a test where dbtest asks for one. Only what NewProxy calls is there.
type cleanup struct {
	testing.TB
	funcs []func()
}

func (c *cleanup) Helper()                   {}
func (c *cleanup) Cleanup(f func())          { c.funcs = append(c.funcs, f) }
func (c *cleanup) Fatalf(s string, a ...any) { panic(fmt.Sprintf(s, a...)) }

func (c *cleanup) run() {
	for _, f := range c.funcs {
		f()
	}
}
