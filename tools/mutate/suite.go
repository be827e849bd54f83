package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// suite is a way to run a package's tests.
type suite struct {
	name  string
	pkg   string // folder below the root
	race  bool
	short bool

	mu    sync.Mutex // held while the suite is built and run without a mutant
	warm  bool       // that has happened
	bin   string     // the test binary
	whole choice     // all its tests: set by a run without a mutant
	reach *reach     // what each of its tests executes; nil: they run as a whole
}

// suitesOf returns what a mutant of pkg has to get past: the short tests of its package first, then
// everything else that could notice.
func suitesOf(pkg string) []*suite {
	switch pkg {
	case "assigner/etcd", "assigner/zookeeper", "assigner/kubernetes": // short tests see little
		return []*suite{{name: "servers", pkg: pkg}}
	case "internal/workerstore": // which has no tests of its own
		return []*suite{{name: "assigner/workernode", pkg: "assigner/workernode", short: true}}
	}
	list := []*suite{
		{name: "short", pkg: pkg, short: true},
		{name: "race", pkg: pkg, race: true, short: true}, // before the long ones: it is quicker
		{name: "full", pkg: pkg},
	}
	users := map[string][]string{
		"bitsalloc":           {"uid"},
		"ringbuffer":          {"uid", "test/lincheck"},
		"uid":                 {"test/lincheck"},
		"internal/sqldb":      {"assigner/workernode", "segment/sqltable"},
		"assigner/workernode": {"test/e2e"},
	}
	for _, user := range users[pkg] {
		list = append(list, &suite{name: user, pkg: user, short: true})
	}
	return list
}

// bench builds and runs test binaries in a folder of its own.
type bench struct {
	root    string
	work    string // binaries
	overlay string // the bundle
}

// What stands for the test that killed a mutant: it took too long, or too much of a processor.
const (
	timedOut = "(timeout)"
	spent    = "(processor)"
)

// verdict is what a suite said of a mutant.
type verdict struct {
	killed bool
	by     string // the test that failed; a word in parentheses where no test is to be named
	took   time.Duration
	cpu    time.Duration
}

// build builds the suite's tests with the mutants of a bundle.
func (b *bench) build(ctx context.Context, s *suite) error {
	s.bin = filepath.Join(b.work, "test-"+strings.ReplaceAll(s.name, "/", "-"))
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", s.bin, "-overlay", b.overlay}
	if s.race {
		args = append(args, "-race")
	}
	dir := filepath.Join(b.root, filepath.FromSlash(s.pkg))
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...) // #nosec G204
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests of %s: %w: %s", s.pkg, err, out)
	}
	return nil
}

// choice is some of a suite's tests with what they may cost.
type choice struct {
	pattern string // "": all tests
	limit   time.Duration
	cpu     time.Duration // 0: no bound
}

// choose returns the choice of some tests.
func choose(tests []*reaching) choice {
	names := make([]string, len(tests))
	// The wall clock's bound is for mutants that wait for ever. It is long, because a busy machine
	// keeps others waiting as well; those that compute for ever run into the processor's.
	c := choice{limit: time.Minute, cpu: 3 * time.Second}
	for i, t := range tests {
		names[i] = t.name
		c.limit += 10 * t.wall
		c.cpu += 5 * t.cpu
	}
	c.pattern = "^(" + strings.Join(names, "|") + ")$"
	return c
}

// memory bounds the address space of a test binary in KiB: a mutant that allocates without end
// ends. The race detector needs more than anyone has.
const memory = 16 << 20

// mutantEnv is the environment's variable that selects the mutant of a process, by its number.
const (
	mutantEnv = "UIDRING_MUTANT="
	noMutant  = mutantEnv + "0"
)

// run runs some tests of the suite as one mutant, 0 for none, until the first failure.
func (b *bench) run(ctx context.Context, s *suite, mutant int, c choice) (verdict, error) {
	args := []string{"-test.v", "-test.failfast", "-test.timeout=" + c.limit.String()}
	if s.short {
		args = append(args, "-test.short")
	}
	if c.pattern != "" {
		args = append(args, "-test.run="+c.pattern)
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit+10*time.Second)
	defer cancel()
	tmp, err := os.MkdirTemp(b.work, "tmp") // a test that is killed leaves its files
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(tmp)
	script := `exec "$0" "$@"`
	if !s.race {
		script = fmt.Sprintf("ulimit -v %d; ", memory) + script
	}
	if c.cpu > 0 { // a loop without end ends, however busy the machine is
		script = fmt.Sprintf("ulimit -t %d; ", int(c.cpu.Seconds())) + script
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, s.bin}, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(s.pkg))
	cmd.Env = append(os.Environ(), mutantEnv+strconv.Itoa(mutant), "TMPDIR="+tmp)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return verdict{}, err
	}
	cmd.Stderr = cmd.Stdout
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return verdict{}, err
	}
	v := verdict{}
	v.by, v.killed = failure(out)
	if v.killed {
		cancel() // the rest does not matter
	}
	err = cmd.Wait()
	v.took, v.cpu = time.Since(begin), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	if v.killed {
		return v, nil
	}
	if v.killed = err != nil; !v.killed {
		v.by = ""
		return v, nil
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.ExitStatus() == 126 || status.ExitStatus() == 127: // what the shell says
		return v, fmt.Errorf("running the tests of %s: %w", s.pkg, err)
	case v.by != "":
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		v.by = timedOut
	case status.Signal() >= 0:
		v.by = spent
	default:
		v.by = "(exit)"
	}
	return v, nil
}

var (
	failLine  = regexp.MustCompile(`^\s*--- FAIL: (\w+)`)
	inTest    = regexp.MustCompile(`\.(Test|Fuzz|Example)(\w+)[.(]`)
	runsStill = regexp.MustCompile(`^\s+(Test\w+)[^(]* \(`)
)

// failure reads a test binary's output until a test fails and returns the test's name. Without a
// failure it returns the first test in the stacks of a crash, if there is one.
func failure(out io.Reader) (test string, failed bool) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	crashed := false
	for lines.Scan() {
		line := lines.Text()
		if m := failLine.FindStringSubmatch(line); m != nil {
			return m[1], true
		}
		switch {
		case strings.HasPrefix(line, "panic: test timed out"):
			return timedOut, true
		case !crashed:
			crashed = strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
		case test != "":
		default:
			if m := inTest.FindStringSubmatch(line); m != nil {
				test = m[1] + m[2]
			} else if m := runsStill.FindStringSubmatch(line); m != nil {
				test = m[1]
			}
		}
	}
	return test, false
}
