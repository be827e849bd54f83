package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json; see "go doc test2json" and "go help buildjson".
type event struct{ Action, Package, Test, Output string }

// report turns the events of several go tests into text and counts. It is for one goroutine at a
// time, but for read.
type report struct {
	mu sync.Mutex // held by read
	w  io.Writer

	passed, failed, skipped int

	packages map[string]*pkg
	reasons  map[string]int // skip reason: number of tests
	failures []event        // of tests and subtests that failed, with what they printed
	flaky    []string       // tests that failed, and passed by themselves

	begin        time.Time
	total, ended int // packages; total 0: each has a line
}

// pkg is a package whose tests run or have run.
type pkg struct {
	output map[string][]string // of each test that has not ended; "": the package's own
	failed bool                // a test has
	ended  bool
}

func newReport(w io.Writer) *report {
	return &report{w: w, begin: time.Now(), packages: map[string]*pkg{}, reasons: map[string]int{}}
}

// read consumes events until rd ends. A line that is not an event is passed on as it is.
func (r *report) read(rd io.Reader) error {
	lines := bufio.NewScanner(rd)
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		var e event
		r.mu.Lock()
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(r.w, lines.Text())
		} else {
			r.add(e)
		}
		r.mu.Unlock()
	}
	return lines.Err()
}

// add accounts for one event.
func (r *report) add(e event) {
	if e.Package == "" {
		fmt.Fprint(r.w, e.Output) // of a build
		return
	}
	p := r.packages[e.Package]
	if p == nil || p.ended && e.Action == "start" { // a second pass starts over
		p = &pkg{output: map[string][]string{}}
		r.packages[e.Package] = p
	}
	switch e.Action {
	case "run":
		p.output[e.Test] = nil
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			p.output[e.Test] = append(p.output[e.Test], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(p, e.Action == "fail")
		} else {
			r.endTest(p, e)
		}
	}
}

// endTest counts a test and prints its output when it failed.
func (r *report) endTest(p *pkg, e event) {
	e.Output = strings.Join(p.output[e.Test], "")
	delete(p.output, e.Test)
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.reasons[skipReason(e.Test, e.Output)]++
	case "fail":
		r.failed++
		p.failed = true
		r.failures = append(r.failures, e)
		fmt.Fprint(r.w, e.Output)
	}
}

// endPackage prints a package's result line. For a package that failed it prints all its output,
// and that of every test that did not end, which has the panic, deadlock or timeout.
func (r *report) endPackage(p *pkg, failed bool) {
	p.ended = true
	own := p.output[""]
	delete(p.output, "")
	if failed {
		for _, name := range slices.Sorted(maps.Keys(p.output)) {
			fmt.Fprintf(r.w, "--- FAIL: %s (did not end)\n%s", name,
				strings.Join(p.output[name], ""))
		}
		r.failed += len(p.output)
		if !p.failed && len(p.output) == 0 {
			r.failed++
		}
	}
	for _, line := range own {
		result := strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "?")
		if failed || result && r.total == 0 {
			fmt.Fprint(r.w, line)
		}
	}
	r.ended++
	if r.total > 0 && r.ended*lines/r.total > (r.ended-1)*lines/r.total {
		fmt.Fprintf(r.w, "%d of %d packages after %v\n", r.ended, r.total,
			time.Since(r.begin).Round(time.Second))
	}
}

// lines say how far a run is.
const lines = 10

// finish prints the packages that never ended, the reasons for skipped tests and the counts. It
// returns an error if a test failed or none ran.
func (r *report) finish() error {
	for _, path := range slices.Sorted(maps.Keys(r.packages)) {
		if p := r.packages[path]; !p.ended {
			r.endPackage(p, true)
			fmt.Fprintf(r.w, "FAIL\t%s\t(did not end)\n", path)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(r.w, "%s (tests: %d)\n", reason, r.reasons[reason])
	}
	for _, name := range r.flaky {
		fmt.Fprintf(r.w, "flaky: %s failed beside other tests and passed alone\n", name)
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d failed", r.failed)
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// logged finds what a test has logged last: the testing package puts "file.go:12: " first.
var logged = regexp.MustCompile(`(?m)^\s*\S+\.go:\d+: (.*)$`)

// skipReason returns the reason that a test gave to Skip, as one line that begins with "skipped: ".
// It adds that prefix and the name of the test to a reason that does not have the prefix.
func skipReason(test, output string) string {
	reason := "no reason given"
	for _, m := range logged.FindAllStringSubmatch(output, -1) {
		reason = m[1]
	}
	if strings.HasPrefix(reason, "skipped: ") {
		return reason
	}
	return "skipped: " + test + ": " + reason
}
