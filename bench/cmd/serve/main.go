// Serve measures uid serve next to handlers that answer with a constant, over loopback.
//
//	go build -o /tmp/uid ./cmd/uid && go run ./bench/cmd/serve -uid /tmp/uid
//
// Each connection asks as soon as it has an answer. With -open, requests are due at 10,000 a second
// instead, then at 20,000 and so on, up to the highest rate that the constant handler holds.
//
//	go run ./bench/cmd/serve -uid /tmp/uid -open -rounds 3 -connections 64
//
// With -sequence it measures a tag of t_sequence with the default increment of 1, on a MariaDB that
// it starts and that flushes each commit to the disk: with one block a fetch, and as it is.
//
//	go run ./bench/cmd/serve -uid /tmp/uid -sequence -connections 64
//
// Each round asks every server once, in turn, so that whatever else the machine does meets all of
// them. What counts is the median over the rounds of a server's rate and of its ratio to the rate
// of the first server in the same round. The time that a server's process ran for one request,
// which Linux tells, says the same where other programs take the processors away.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

func main() {
	if len(os.Args) == 4 && (os.Args[1] == bare || os.Args[1] == careful) {
		fmt.Fprintln(os.Stderr, constant(os.Args[1], os.Args[3]))
		os.Exit(1)
	}
	uid := flag.String("uid", "", "the command uid, built")
	m := &meter{out: os.Stdout}
	flag.IntVar(&m.rounds, "rounds", 9, "rounds")
	flag.DurationVar(&m.duration, "duration", 3*time.Second, "of one measurement")
	flag.IntVar(&m.conns, "connections", 16, "connections at a time")
	flag.BoolVar(&m.open, "open", false, "send requests when they are due, at rising rates")
	flag.DurationVar(&m.within, "within", 8*time.Minute, "no rate begins later than that")
	sequence := flag.Bool("sequence", false, "measure t_sequence with an increment of 1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	prepare := constants
	if *sequence {
		prepare = sequences
	}
	fmt.Println("# go run ./bench/cmd/serve", strings.Join(os.Args[1:], " "))
	if err := run(ctx, *uid, prepare, m); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		stop()
		os.Exit(1)
	}
}

// The constant servers. One of them and an address, as the arguments of uid serve, make this
// program that server.
const (
	bare    = "constant"
	careful = "constant, with the limits, the headers and the GOGC of uid serve"
)

// constant serves a constant until it fails.
func constant(kind, address string) error {
	answer, store, sniff, plain := []byte("2124043021349376000"), []string{"no-store"},
		[]string{"nosniff"}, []string{"text/plain; charset=utf-8"}
	web := &http.Server{Addr: address}
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if kind == careful {
			h := w.Header()
			h["Cache-Control"], h["X-Content-Type-Options"], h["Content-Type"] = store, sniff, plain
		}
		_, _ = w.Write(answer)
	})
	if kind == careful {
		debug.SetGCPercent(400)
		web.ReadTimeout, web.WriteTimeout = 5*time.Second, 10*time.Second
		web.IdleTimeout, web.MaxHeaderBytes = 2*time.Minute, 16<<10
	}
	return web.ListenAndServe()
}

// run starts the servers of prepare and measures them. The command uid keeps its database in a
// folder of its own meanwhile.
func run(
	ctx context.Context, uid string, prepare func(context.Context, *servers) error, m *meter,
) error {
	home, err := os.MkdirTemp("", "uidring-serve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	s := &servers{uid: uid, env: append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")}
	defer s.close()
	if err := prepare(ctx, s); err != nil {
		return err
	}
	return m.measure(ctx, s.list)
}

// order is what a server is asked for an id of a tag.
const order = "/api/segment/get/order"

// constants prepares the constant handlers, and uid serve with its embedded database.
func constants(ctx context.Context, s *servers) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, kind := range []string{bare, careful} {
		if err := s.start(ctx, kind, []string{"/"}, self, kind); err != nil {
			return err
		}
	}
	if err := s.command(ctx, "segment", "set", "order", "--step", "100000000"); err != nil {
		return err
	}
	return s.start(ctx, "uid serve", []string{order, "/api/snowflake/get/any"}, s.uid, "serve")
}

// sequences prepares servers of t_sequence with the default increment of 1. The first one fetches
// one block at a time, as the original does, so that each id costs a commit.
func sequences(ctx context.Context, s *servers) error {
	db, err := dbtest.NewMariaDB("--innodb-flush-log-at-trx-commit=1")
	if err != nil {
		return err
	}
	s.ends, s.env = append(s.ends, db.Close), append(s.env, "UID_DSN="+db.DSN("ids"))
	_, err = db.TryQuery("", "CREATE DATABASE ids")
	if err = errors.Join(err, s.command(ctx, "segment", "init"), s.command(ctx, "segment", "set",
		"order", "--source", "sequence", "--step", "1")); err != nil {
		return err
	}
	serve := []string{s.uid, "serve", "--only=segment", "--source=sequence", "--wait=10s"}
	if err := s.start(ctx, "one block a fetch (--max-step 1)", []string{order},
		append(slices.Clip(serve), "--max-step=1")...); err != nil {
		return err
	}
	return s.start(ctx, "uid serve", []string{order}, serve...)
}
