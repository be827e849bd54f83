// Serve measures uid serve next to handlers that answer with a constant, with wrk on loopback.
//
//	go build -o /tmp/uid ./cmd/uid && go run ./bench/cmd/serve -uid /tmp/uid
//
// With -sequence it measures a tag of t_sequence with the default increment of 1, on a MariaDB that
// it starts and that flushes each commit to the disk: with one block a fetch, and as it is.
//
//	go run ./bench/cmd/serve -uid /tmp/uid -sequence -connections 64
//
// With -open it measures latencies in an open loop instead, at 10,000 requests a second, 20,000 and
// so on, up to the highest rate that a constant handler on the same machine holds; without wrk. It
// takes about half a minute a rate, and eight minutes at most (-within).
//
//	go run ./bench/cmd/serve -uid /tmp/uid -open -rounds 3 -connections 64
//
// Each round asks every server once, in turn, so that whatever else the machine does meets all of
// them. What counts is the median over the rounds of a server's rate and of its ratio to the rate
// of the first server in the same round. The time that a server's process ran for one request,
// which Linux tells, says the same where other programs take the processors away.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/server"
)

// childEnv makes this program a constant server. Its value is the kind, the address is the first
// argument.
const childEnv = "UIDRING_BENCH_SERVER"

// The constant servers.
const (
	bare    = "constant"
	careful = "constant, with the limits, the headers and the GOGC of uid serve"
)

// contender is a server and the path that it is asked for.
type contender struct {
	name, path string
	*server.Server
}

func main() {
	if kind := os.Getenv(childEnv); kind != "" {
		fmt.Fprintln(os.Stderr, constant(kind, os.Args[1]))
		os.Exit(1)
	}
	uid := flag.String("uid", "", "the command uid, built")
	rounds := flag.Int("rounds", 9, "rounds")
	duration := flag.Duration("duration", 3*time.Second, "of one measurement")
	conns := flag.Int("connections", 16, "of wrk")
	paced := flag.Bool("open", false, "measure latencies in an open loop, without wrk")
	within := flag.Duration("within", 8*time.Minute, "how long the open loop may take")
	sequence := flag.Bool("sequence", false, "measure t_sequence with an increment of 1")
	flag.Parse()
	prepare := constants
	if *sequence {
		prepare = sequences
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	how := func(contenders []contender) error {
		return measure(ctx, contenders, *rounds, *duration, *conns, os.Stdout)
	}
	if *paced {
		how = func(contenders []contender) error {
			return open(ctx, contenders, *rounds, *duration, *conns, *within, os.Stdout)
		}
	}
	if err := run(ctx, *uid, prepare, how); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		stop()
		os.Exit(1)
	}
}

// constant serves a constant until it fails.
func constant(kind, address string) error {
	answer := []byte("2124043021349376000")
	web := &http.Server{Addr: address}
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer)
	})
	if kind == careful {
		debug.SetGCPercent(400)
		web.ReadTimeout, web.WriteTimeout = 5*time.Second, 10*time.Second
		web.IdleTimeout, web.MaxHeaderBytes = 2*time.Minute, 16<<10
		store, sniff, plain := []string{"no-store"}, []string{"nosniff"},
			[]string{"text/plain; charset=utf-8"}
		web.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Cache-Control"], h["X-Content-Type-Options"], h["Content-Type"] = store, sniff, plain
			_, _ = w.Write(answer)
		})
	}
	return web.ListenAndServe()
}

// served is a server to measure.
type served struct {
	name    string
	paths   []string // what it is asked for; each path is a contender
	env     []string
	command []string // as server.Start takes it
}

// preparation returns the servers to measure with the command uid and this environment, and a
// function that ends what they need.
type preparation func(ctx context.Context, uid string, env []string) ([]served, func(), error)

// constants is the preparation for the constant handlers and the embedded database.
func constants(ctx context.Context, uid string, env []string) ([]served, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var list []served
	for _, kind := range []string{bare, careful} {
		list = append(list, served{kind, []string{"/"}, append(slices.Clip(env), childEnv+"="+kind),
			[]string{self, "ADDRESS"}})
	}
	list = append(list, served{"uid serve",
		[]string{"/api/segment/get/order", "/api/snowflake/get/any"}, env,
		[]string{uid, "serve", "--addr", "ADDRESS"}})
	return list, func() {},
		server.Run(ctx, env, uid, "segment", "set", "order", "--step", "100000000")
}

// run starts the servers of prepare and measures them.
func run(
	ctx context.Context, uid string, prepare preparation, how func([]contender) error,
) error {
	home, err := os.MkdirTemp("", "uidring-serve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	env := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")
	servers, end, err := prepare(ctx, uid, env)
	if err != nil {
		return err
	}
	defer end()
	var contenders []contender
	for _, x := range servers {
		s, err := server.Start(ctx, x.env, x.command...)
		if err != nil {
			return err
		}
		defer s.Close()
		for _, path := range x.paths {
			if err := s.Await(ctx, path); err != nil {
				return err
			}
			c := contender{x.name, path, s}
			if path != "/" {
				c.name += " " + path
			}
			contenders = append(contenders, c)
		}
	}
	return how(contenders)
}

// figures are what a contender did, by round.
type figures struct{ rate, ratio, cpu, cpuRatio, p50, p99 []float64 }

// measure asks every contender in every round.
func measure(
	ctx context.Context, contenders []contender, rounds int, duration time.Duration, conns int,
	out io.Writer,
) error {
	fmt.Fprintf(out, "wrk -t1 -c%d -d%v, %d rounds; %s\n", conns, duration, rounds,
		server.Conditions(ctx))
	all := make([]figures, len(contenders))
	for round := range rounds {
		for i, c := range contenders {
			before := cpuTime(c.PID())
			text, err := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(conns),
				"-d"+duration.String(), "--latency", "--timeout", "10s",
				"http://"+c.Address+c.path).CombinedOutput()
			if err != nil {
				return fmt.Errorf("wrk: %w: %s", err, text)
			}
			cpu := cpuTime(c.PID()) - before
			n, rate, p50, p99, err := parse(string(text))
			if err != nil {
				return err
			}
			f := &all[i]
			f.rate, f.p50, f.p99 = append(f.rate, rate), append(f.p50, p50), append(f.p99, p99)
			f.ratio = append(f.ratio, rate/all[0].rate[round])
			f.cpu = append(f.cpu, float64(cpu.Microseconds())/n)
			f.cpuRatio = append(f.cpuRatio, all[0].cpu[round]/f.cpu[round])
			fmt.Fprintf(out, "round %d  %8.0f/s  %5.1f µs of the server  p50 %7.0f µs  p99 "+
				"%7.0f µs  %s\n",
				round+1, rate, f.cpu[round], p50, p99, c.name)
		}
	}
	fmt.Fprintf(out, "load after: %s\n\nmedians:\n", server.Load())
	for i, c := range contenders {
		f := all[i]
		fmt.Fprintf(out, "%8.0f/s  %.2f of the first; %5.1f µs of the server, %.2f of the first; "+
			"p50 %5.0f µs  p99 %5.0f µs  %s\n",
			result.Median(f.rate), result.Median(f.ratio), result.Median(f.cpu),
			result.Median(f.cpuRatio), result.Median(f.p50), result.Median(f.p99), c.name)
	}
	return nil
}

// cpuTime returns for how long a process has run, 0 where the system does not tell.
func cpuTime(pid int) time.Duration {
	const tick = 10 * time.Millisecond // of Linux, for programs
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything else
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

var (
	countPattern   = regexp.MustCompile(`(\d+) requests in`)
	ratePattern    = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	latencyPattern = regexp.MustCompile(`(?m)^\s+(50|99)%\s+([\d.]+)(us|ms|s)$`)
	badPattern     = regexp.MustCompile(`Non-2xx or 3xx responses|Socket errors`)
)

// parse reads what wrk prints: requests, requests a second, and latencies in microseconds.
func parse(text string) (n, rate, p50, p99 float64, err error) {
	counted, m := countPattern.FindStringSubmatch(text), ratePattern.FindStringSubmatch(text)
	if counted == nil || m == nil || badPattern.MatchString(text) {
		return 0, 0, 0, 0, fmt.Errorf("wrk prints %q", text)
	}
	if n, err = strconv.ParseFloat(counted[1], 64); err != nil {
		return 0, 0, 0, 0, err
	}
	if rate, err = strconv.ParseFloat(m[1], 64); err != nil {
		return 0, 0, 0, 0, err
	}
	for _, m := range latencyPattern.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		v *= map[string]float64{"us": 1, "ms": 1e3, "s": 1e6}[m[3]]
		if m[1] == "50" {
			p50 = v
		} else {
			p99 = v
		}
	}
	return n, rate, p50, p99, nil
}
