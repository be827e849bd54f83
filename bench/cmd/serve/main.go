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
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// childEnv makes this program one of the constant servers: its value is the kind and the address.
const childEnv = "UIDRING_BENCH_SERVER"

// The constant servers.
const (
	bare    = "constant"
	careful = "constant, with the limits, the headers and the GOGC of uid serve"
)

// contender is a server and the path that it is asked for.
type contender struct {
	name, address, path string
	pid                 int
}

func main() {
	if text := os.Getenv(childEnv); text != "" {
		fmt.Fprintln(os.Stderr, constant(text))
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
func constant(text string) error {
	kind, address, _ := strings.Cut(text, "|")
	answer := []byte("2124043021349376000")
	server := &http.Server{Addr: address}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer)
	})
	if kind == careful {
		debug.SetGCPercent(400)
		server.ReadTimeout, server.WriteTimeout = 5*time.Second, 10*time.Second
		server.IdleTimeout, server.MaxHeaderBytes = 2*time.Minute, 16<<10
		store, sniff, plain := []string{"no-store"}, []string{"nosniff"},
			[]string{"text/plain; charset=utf-8"}
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Cache-Control"], h["X-Content-Type-Options"], h["Content-Type"] = store, sniff, plain
			_, _ = w.Write(answer)
		})
	}
	return server.ListenAndServe()
}

// server is a server to measure.
type server struct {
	name string
	path []string // what it is asked for; each path is a contender
	cmd  func(address string) *exec.Cmd
}

// preparation returns the servers to measure with the command uid and this environment, and a
// function that ends what they need.
type preparation func(ctx context.Context, uid string, env []string) ([]server, func(), error)

// constants is the preparation for the constant handlers and the embedded database.
func constants(ctx context.Context, uid string, env []string) ([]server, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	constant := func(kind string) server {
		return server{kind, []string{"/"}, func(address string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(env, childEnv+"="+kind+"|"+address)
			return cmd
		}}
	}
	real := server{"uid serve", []string{"/api/segment/get/order", "/api/snowflake/get/any"},
		func(address string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, uid, "serve", "--addr", address)
			cmd.Env = env
			return cmd
		}}
	err = command(ctx, env, uid, "segment", "set", "order", "--step", "100000000")
	return []server{constant(bare), constant(careful), real}, func() {}, err
}

// command runs a command to its end.
func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return nil
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
	for _, s := range servers {
		address, err := free()
		if err != nil {
			return err
		}
		cmd := s.cmd(address)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		for _, path := range s.path {
			name := s.name
			if path != "/" {
				name += " " + path
			}
			c := contender{name, address, path, cmd.Process.Pid}
			if err := c.await(ctx); err != nil {
				return err
			}
			contenders = append(contenders, c)
		}
	}
	return how(contenders)
}

// free returns an address that nobody listens on.
func free() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await waits until the server answers.
func (c contender) await(ctx context.Context) error {
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+c.path,
			http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %s", response.Status)
		}
		if time.Since(begin) > 30*time.Second {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
}

// figures are what a contender did, by round.
type figures struct{ rate, ratio, cpu, cpuRatio, p50, p99 []float64 }

// measure asks every contender in every round.
func measure(
	ctx context.Context, contenders []contender, rounds int, duration time.Duration, conns int,
	out io.Writer,
) error {
	fmt.Fprintf(out, "wrk -t1 -c%d -d%v, %d rounds; %d processors, %s, commit %s; load "+
		"before: %s\n", conns,
		duration, rounds, runtime.NumCPU(), runtime.Version(), commit(), load())
	all := make([]figures, len(contenders))
	for round := range rounds {
		for i, c := range contenders {
			before := cpuTime(c.pid)
			text, err := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(conns),
				"-d"+duration.String(), "--latency", "--timeout", "10s",
				"http://"+c.address+c.path).CombinedOutput()
			if err != nil {
				return fmt.Errorf("wrk: %w: %s", err, text)
			}
			cpu := cpuTime(c.pid) - before
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
	fmt.Fprintf(out, "load after: %s\n\nmedians:\n", load())
	for i, c := range contenders {
		f := all[i]
		fmt.Fprintf(out, "%8.0f/s  %.2f of the first; %5.1f µs of the server, %.2f of the first; "+
			"p50 %5.0f µs  p99 %5.0f µs  %s\n",
			median(f.rate), median(f.ratio), median(f.cpu), median(f.cpuRatio), median(f.p50),
			median(f.p99), c.name)
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

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
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
	text := "not known"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				text = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				text += "+changes"
			}
		}
	}
	return text
}
