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
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/uidring/uidring/bench/internal/server"
	"github.com/uidring/uidring/internal/backoff"
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
		if err := server.Run(ctx, env, uid, args...); err != nil {
			return err
		}
	}
	var servers []*server.Server
	for range 2 {
		s, err := server.Start(ctx, env, uid, "serve", "--addr", "ADDRESS")
		if err != nil {
			return err
		}
		defer s.Close()
		servers = append(servers, s)
	}
	f, err := newFleet(ctx, []string{servers[0].Address, servers[1].Address})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, server.Conditions(ctx))
	begin := time.Now()
	calling, end := context.WithDeadline(ctx, begin.Add(length))
	defer end()
	f.begin(calling)
	kills := [2]int{}
	var breaking sync.WaitGroup
	var broken error // guarded by breaking
	idle := make(chan struct{}, 1)
	idle <- struct{}{}
	for n := 0; backoff.Wait(calling, each); n++ {
		if at := n % 3; at < 2 {
			if answers(calling, servers[1-at]) {
				servers[at].Kill()
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
	fmt.Fprintf(out, "load after: %s\n", server.Load())
	return f.report(out)
}

// answers reports whether a server is ready.
func answers(ctx context.Context, s *server.Server) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := server.Get(ctx, "http://"+s.Address+"/health")
	return err == nil
}

var errTwice = errors.New("an id occurs twice")
