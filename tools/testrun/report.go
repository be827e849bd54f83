package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json; see "go doc test2json" and "go help buildjson".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// report turns the events of several go tests into text and counts. It is for one goroutine at a
// time, but for read.
type report struct {
	mu sync.Mutex // held by read
	w  io.Writer

	passed, failed, skipped int

	packages map[string]*pkg
	reasons  map[string]int      // skip reason: number of tests
	failures map[string]*failure // by package and test
	flaky    []string            // tests that failed, and passed by themselves

	begin        time.Time
	total, ended int // packages; total 0: each has a line
}

// pkg is a package whose tests run or have run.
type pkg struct {
	output []string            // the package's own output
	tests  map[string][]string // the output of each test that has not ended
	failed int                 // tests
	ended  bool
}

func newReport(w io.Writer) *report {
	return &report{w: w, begin: time.Now(), packages: map[string]*pkg{}, reasons: map[string]int{},
		failures: map[string]*failure{}}
}

// read consumes events until rd ends. A line that is not an event is passed on as it is.
func (r *report) read(rd io.Reader) error {
	lines := bufio.NewReader(rd)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			r.mu.Lock()
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(r.w, "%s", line)
			} else {
				r.add(e)
			}
			r.mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading go test's output: %w", err)
		}
	}
}

// add accounts for one event.
func (r *report) add(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(r.w, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.packages[e.Package]
	if p == nil || p.ended && e.Action == "start" { // a second pass starts over
		p = &pkg{tests: map[string][]string{}}
		r.packages[e.Package] = p
	}
	switch {
	case e.Action == "output" && e.Test == "":
		p.output = append(p.output, e.Output)
	case e.Action == "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			p.tests[e.Test] = append(p.tests[e.Test], e.Output)
		}
	case e.Action == "run":
		p.tests[e.Test] = nil
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test != "":
		r.endTest(p, e)
	default:
		r.endPackage(p, e.Action == "fail")
	}
}

// endTest counts a test and prints its output when it failed.
func (r *report) endTest(p *pkg, e event) {
	output := p.tests[e.Test]
	delete(p.tests, e.Test)
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.reasons[skipReason(e.Test, output)]++
	case "fail":
		r.failed++
		p.failed++
		r.note(e, output)
		fmt.Fprint(r.w, strings.Join(output, ""))
	}
}

// endPackage prints a package's result line. For a package that failed it prints all its output,
// and that of every test that did not end, which has the panic, deadlock or timeout.
func (r *report) endPackage(p *pkg, failed bool) {
	p.ended = true
	if failed {
		for _, name := range slices.Sorted(maps.Keys(p.tests)) {
			fmt.Fprintf(r.w, "--- FAIL: %s (did not end)\n%s",
				name, strings.Join(p.tests[name], ""))
			r.failed++
			p.failed++
		}
		if p.failed == 0 {
			r.failed++
		}
	}
	for _, line := range p.output {
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

// finish prints the packages that never ended, the reasons for skipped tests and the counts.
func (r *report) finish() {
	for _, path := range slices.Sorted(maps.Keys(r.packages)) {
		if p := r.packages[path]; !p.ended {
			r.endPackage(p, true)
			fmt.Fprintf(r.w, "FAIL\t%s\t(did not end)\n", path)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		n := r.reasons[reason]
		tests := "tests"
		if n == 1 {
			tests = "test"
		}
		fmt.Fprintf(r.w, "%s (%d %s)\n", reason, n, tests)
	}
	for _, name := range r.flaky {
		fmt.Fprintf(r.w, "flaky: %s failed beside other tests and passed alone\n", name)
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// err returns an error if a test failed or none ran.
func (r *report) err() error {
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d failed", r.failed)
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// skipReason returns the reason that a test gave to Skip, as one line that begins with "skipped: ".
// It adds that prefix and the name of the test to a reason that does not have the prefix.
func skipReason(test string, output []string) string {
	var reason string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--- SKIP") {
			continue
		}
		// The testing package puts "file.go:12: " first.
		if pos, text, ok := strings.Cut(line, ": "); ok && strings.Contains(pos, ".go:") {
			line = text
		}
		if strings.HasPrefix(line, "skipped: ") {
			return line
		}
		reason = line
	}
	if reason == "" {
		reason = "no reason given"
	}
	return "skipped: " + test + ": " + reason
}
