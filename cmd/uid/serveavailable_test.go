package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// availableEnv is the environment variable that sets for how long the callers of TestServeAvailable
// call. Of ten minutes are the results that docs/service.md shows.
const availableEnv = "UIDRING_AVAILABLE"

// TestServeAvailable: two servers and their database are killed, each in turn, and started again. No
// call of a program that holds ranges and a window fails, and no id occurs twice.
func TestServeAvailable(t *testing.T) {
	dbtest.Long(t, "availability")
	t.Parallel()
	s := dbtest.MariaDB(t, "--innodb-flush-log-at-trx-commit=1")
	kills := 0
	available(t, s.DSN(s.CreateDB(t)), func(down time.Duration) error {
		kills++
		if err := s.Kill(); err != nil {
			return err
		}
		time.Sleep(down)
		return s.Start()
	}, func(down time.Duration) string {
		return fmt.Sprintf("the database %d times for %v and its start each", kills, down)
	})
}

// TestServeAvailableGroup is TestServeAvailable on a group of three with one primary, which is the
// member that is killed in two of three times, and MySQL's own settings of when a member is lost.
func TestServeAvailableGroup(t *testing.T) {
	g := dbtest.GroupReplication(t, false, "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
	for _, q := range []string{
		"CREATE DATABASE ids",
		"CREATE USER app@'%' IDENTIFIED BY '" + dbtest.Password + "'",
		"GRANT SELECT, INSERT, UPDATE, CREATE ON ids.* TO app@'%'",
		"GRANT SELECT ON performance_schema.replication_group_members TO app@'%'",
	} {
		g.Primary().Exec(t, q)
	}
	primaries, secondaries := 0, 0
	var longest, all time.Duration // without a primary
	available(t, "app:"+dbtest.Password+"@tcp("+g.Addrs()+")/ids?timeout=2s&readTimeout=2s",
		func(down time.Duration) error {
			victim, primary := g.Primary(), (primaries+secondaries)%3 != 2
			for i := 0; !primary && victim == g.Primary(); i++ {
				victim = g.Servers[i]
			}
			begin := time.Now()
			if err := victim.Kill(); err != nil {
				return err
			}
			if primary {
				primaries++
				if err := g.FailOver(); err != nil {
					return err
				}
				longest, all = max(longest, time.Since(begin)), all+time.Since(begin)
			} else {
				secondaries++
			}
			time.Sleep(down - time.Since(begin))
			if err := g.Rejoin(victim); err != nil {
				return err
			}
			return g.Whole()
		}, func(time.Duration) string {
			return fmt.Sprintf("the group's primary %d times and another member %d times; without a primary "+
				"for %v, %v at the longest", primaries, secondaries, all.Round(time.Second),
				longest.Round(time.Second))
		})
}

// available runs two servers on a database and kills one of the three in turn: a server while the other
// one answers, and the database, by kill, when it is whole. killed says what that has done.
func available(t *testing.T, dsn string, kill func(down time.Duration) error,
	killed func(down time.Duration) string) {
	t.Helper()
	length := 20 * time.Second
	if text := os.Getenv(availableEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	each := max(2*time.Second, length/60)
	b := newBench(t)
	b.env["UID_DSN"] = dsn
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "100000")
	servers := []*unit{keep(t, dsn), keep(t, dsn)}
	callers := newCallers(t, servers)
	out := t.Output()
	fmt.Fprintf(out, "%s, %d processors, load before: %s", runtime.Version(), runtime.GOMAXPROCS(0), load())
	begin, kills := time.Now(), [2]int{}
	ctx, cancel := context.WithDeadline(t.Context(), begin.Add(length))
	defer cancel()
	var calling, breaking sync.WaitGroup
	for _, c := range callers {
		calling.Go(func() { c.run(ctx) })
	}
	whole := make(chan struct{}, 1)
	whole <- struct{}{}
	for n := 0; backoff.Wait(ctx, each); n++ {
		if at := n % 3; at < 2 {
			if _, err := get(ctx, servers[1-at].url+"/health"); err == nil {
				servers[at].kill()
				kills[at]++
			}
			continue
		}
		select {
		case <-whole:
			breaking.Go(func() {
				if err := kill(each / 2); err != nil {
					t.Error(err)
				}
				whole <- struct{}{}
			})
		default:
		}
	}
	breaking.Wait()
	calling.Wait()
	fmt.Fprintf(out, "%v; killed: server one %d times, server two %d times, %s\nload after: %s",
		length, kills[0], kills[1], killed(each/2), load())
	report(t, out, callers)
}

// load returns the machine's load averages, where the system has them.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known\n"
	}
	return string(text)
}

// unit is a server in a process of its own, which starts again a second after it ended, as under systemd.
// Its methods are safe for concurrent use.
type unit struct {
	url string

	mu  sync.Mutex // guards cmd
	cmd *exec.Cmd
}

// keep starts a server, until the test ends.
func keep(t *testing.T, dsn string) *unit {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	first, _ := command(t, "serve", "--addr", address)
	s := &unit{url: "http://" + address}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			cmd := exec.CommandContext(t.Context(), first.Path, first.Args[1:]...)
			cmd.Env = append(first.Env, "UID_DSN="+dsn)
			s.mu.Lock()
			err := cmd.Start()
			s.cmd = cmd
			s.mu.Unlock()
			if err == nil {
				_ = cmd.Wait() // it was killed, or its database is away
			}
			if !backoff.Wait(t.Context(), time.Second) {
				return
			}
		}
	})
	t.Cleanup(running.Wait)
	return s
}

// kill kills the process.
func (s *unit) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
	}
}

// get returns what a server answers within patience. A status other than 200 is an error.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return string(text), err
}

// patience is how long a call may take.
const patience = time.Second

// caller takes ids until its ctx ends.
type caller struct {
	kind  string
	burst int // ids that it takes every 10 ms, one after the other
	next  func(context.Context) (int64, error)

	// What became of its calls, for the report after its end.
	ids     []int64
	failed  int
	seconds []int64 // in which a call failed
	longest time.Duration
	last    error
}

// The kinds of callers. Ids of the tag are one universe, whichever way they come.
const (
	ofTag   = "Go programs, ids of a tag"
	ofTime  = "Go programs, time-ordered ids"
	askBoth = "HTTP for each id, both servers tried for 1 s"
	askOne  = "HTTP for each id, one server asked once"
)

// newCallers returns the callers of two servers: three Go programs that take both kinds of ids, and one
// of each kind that asks for each id. It waits until the servers answer.
func newCallers(t *testing.T, servers []*unit) (all []*caller) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 {
		c, err := service.NewClient([]string{servers[0].url, servers[1].url}, nil)
		if err != nil {
			t.Fatal(err)
		}
		snow, err := uid.NewCached(ctx, c, &uid.Options{Layout: compat.Twitter()})
		if err != nil {
			t.Fatal(err)
		}
		orders, err := segment.New(ctx, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { snow.Close(); orders.Close(); c.Close() })
		if _, err := orders.Tag(ctx, "order"); err != nil {
			t.Fatal(err)
		}
		all = append(all, &caller{kind: ofTag, burst: 10, next: func(ctx context.Context) (int64, error) {
			return orders.Next(ctx, "order")
		}}, &caller{kind: ofTime, burst: 10, next: func(ctx context.Context) (int64, error) {
			id, err := snow.Next(ctx)
			return int64(id), err
		}})
	}
	for i := range servers {
		one, other := servers[i], servers[1-i]
		ask := func(ctx context.Context, s *unit) (int64, error) {
			text, err := get(ctx, s.url+"/api/segment/get/order")
			if err != nil {
				return 0, err
			}
			return strconv.ParseInt(text, 10, 64)
		}
		all = append(all, &caller{kind: askBoth, burst: 1, next: func(ctx context.Context) (id int64, err error) {
			for ctx.Err() == nil {
				for _, s := range []*unit{one, other} {
					if id, err = ask(ctx, s); err == nil {
						return id, nil
					}
				}
				backoff.Wait(ctx, 10*time.Millisecond)
			}
			return 0, err
		}}, &caller{kind: askOne, burst: 1, next: func(ctx context.Context) (int64, error) {
			return ask(ctx, one)
		}})
	}
	return all
}

func (c *caller) run(ctx context.Context) {
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
			c.longest = max(c.longest, time.Since(begin))
			if err != nil {
				c.failed, c.last = c.failed+1, err
				c.seconds = append(c.seconds, begin.Unix())
				continue
			}
			c.ids = append(c.ids, id)
		}
	}
}

// report writes a line for each kind of callers, and checks what they got.
func report(t *testing.T, out io.Writer, callers []*caller) {
	t.Helper()
	ids := map[bool][]int64{} // by whether they are time-ordered
	for _, kind := range []string{ofTag, ofTime, askBoth, askOne} {
		all := &caller{}
		for _, c := range callers {
			if c.kind == kind {
				all.ids, all.seconds = append(all.ids, c.ids...), append(all.seconds, c.seconds...)
				all.failed += c.failed
				all.longest = max(all.longest, c.longest)
				if c.last != nil {
					all.last = c.last
				}
			}
		}
		ids[kind == ofTime] = append(ids[kind == ofTime], all.ids...)
		slices.Sort(all.seconds)
		calls := len(all.ids) + all.failed
		fmt.Fprintf(out, "%-45s %8d calls, %6d failed, in %3d seconds; %.5f %% available; longest call %v\n",
			kind, calls, all.failed, len(slices.Compact(all.seconds)),
			100*float64(len(all.ids))/float64(max(calls, 1)), all.longest.Round(time.Microsecond))
		if all.last != nil {
			fmt.Fprintf(out, "    the last failure: %v\n", all.last)
		}
		if len(all.ids) == 0 || all.failed > 0 && (kind == ofTag || kind == ofTime) {
			t.Errorf("%s: %d ids, and %d calls failed, such as with %v", kind, len(all.ids), all.failed, all.last)
		}
	}
	for ordered, ids := range ids {
		slices.Sort(ids)
		if n := len(ids); len(slices.Compact(slices.Clone(ids))) != n {
			t.Errorf("of %d ids, time-ordered: %v, some occur twice", n, ordered)
			continue
		}
		fmt.Fprintf(out, "%d ids, time-ordered: %v, none twice\n", len(ids), ordered)
	}
}
