// Available measures how often callers of an id service get an id while its two servers and their
// database are killed, each in turn, and started again.
//
//	go build -o /tmp/uid ./cmd/uid && go run ./bench/cmd/available -uid /tmp/uid -for 10m
//
// It starts a MariaDB that flushes each commit to the disk, or with -group a MySQL Group
// Replication of three, of which one member at a time is killed, the primary in two of three times.
// It starts two processes of uid serve, which come back after a kill as under systemd. A server is
// killed only while the other one answers. Three kinds of callers take ids all the time: Go
// programs with a service.Client, which hold ranges and a window; and programs that ask for each id
// over HTTP, one that tries both servers until a second is over, and one that asks a server once
// and counts as failed what that does not answer. Every id is recorded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

func main() {
	uid := flag.String("uid", "", "the command uid, built")
	length := flag.Duration("for", 10*time.Minute, "how long")
	each := flag.Duration("each", 10*time.Second, "from one kill to the next")
	group := flag.Bool("group", false, "a MySQL group, whose members are killed")
	flag.Parse()
	newDatabase := newMariaDB
	if *group {
		newDatabase = newMySQLGroup
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, newDatabase, *uid, *length, *each, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "available:", err)
		stop()
		os.Exit(1)
	}
}

// run starts everything, kills it for a while, and writes what the callers saw.
func run(
	ctx context.Context, newDatabase func() (database, error), uid string,
	length, each time.Duration, out io.Writer,
) error {
	db, err := newDatabase()
	if err != nil {
		return err
	}
	defer db.Close()
	env := append(os.Environ(), "UID_DSN="+db.dsn())
	for _, args := range [][]string{
		{"segment", "init"}, {"segment", "set", "order", "--step", "100000"},
	} {
		cmd := exec.CommandContext(ctx, uid, args...)
		cmd.Env = env
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("uid %v: %w: %s", args, err, text)
		}
	}
	var servers []*server
	for range 2 {
		s, err := keep(ctx, uid, env)
		if err != nil {
			return err
		}
		defer s.close()
		servers = append(servers, s)
	}
	f, err := newFleet(ctx, []string{servers[0].address, servers[1].address})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %d processors, commit %s, load before: %s\n", runtime.Version(),
		runtime.NumCPU(), commit(), load())
	begin := time.Now()
	calling, end := context.WithDeadline(ctx, begin.Add(length))
	defer end()
	f.begin(calling)
	kills := [2]int{}
	var breaking sync.WaitGroup
	var broken error // guarded by breaking
	idle := make(chan struct{}, 1)
	idle <- struct{}{}
	for n := 0; sleep(calling, each); n++ {
		if at := n % 3; at < 2 {
			if servers[1-at].answers(calling) {
				servers[at].kill()
				kills[at]++
			}
			continue
		}
		select {
		case <-idle: // the database is whole
			breaking.Go(func() {
				broken = errors.Join(broken, db.kill(calling))
				idle <- struct{}{}
			})
		default:
		}
	}
	breaking.Wait()
	if broken != nil {
		return broken
	}
	fmt.Fprintf(out, "%v; killed: server one %d times, server two %d times, %s\n",
		time.Since(begin).Round(time.Second), kills[0], kills[1], db)
	f.end()
	fmt.Fprintf(out, "load after: %s\n", load())
	return f.report(out)
}

// sleep waits, and returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// server is a process that is started again a second after it ended.
type server struct {
	address string
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu  sync.Mutex // guards cmd
	cmd *exec.Cmd
}

// keep starts a server and keeps it running until close.
func keep(ctx context.Context, uid string, env []string) (*server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &server{address: l.Addr().String(), stop: stop}
	l.Close()
	s.done.Go(func() {
		for {
			cmd := exec.CommandContext(ctx, uid, "serve", "--addr", s.address)
			cmd.Env = env
			s.mu.Lock()
			if ctx.Err() != nil {
				s.mu.Unlock()
				return
			}
			err := cmd.Start()
			s.cmd = cmd
			s.mu.Unlock()
			if err == nil {
				_ = cmd.Wait() // it was killed, or its database is away
			}
			if !sleep(ctx, time.Second) {
				return
			}
		}
	})
	return s, nil
}

// answers reports whether the server is ready.
func (s *server) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/health",
		http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
	}
}

func (s *server) close() {
	s.stop()
	s.kill()
	s.done.Wait()
}

// load returns the machine's load averages, where the system has them.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// commit returns the commit that this program was built from.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "not known"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "not known"
}

var errTwice = errors.New("an id occurs twice")
