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

// event is a line of go test -json: "go doc test2json", "go help buildjson".
type event struct{ Action, Package, Test, Output string }

// report turns the events of several go tests into text and counts. It is for one goroutine at a
// time, but for read.
type report struct {
	mu sync.Mutex // held by read
	w  io.Writer

	passed, failed, skipped int

	packages map[string]*pkg // that have not ended
	reasons  map[string]int  // skip reason: number of tests
	failures []event         // of tests and subtests that failed, with what they printed

	begin        time.Time
	total, ended int // packages; total 0: each has a line
}

// pkg is a package whose tests run.
type pkg struct {
	output map[string][]string // of each test that has not ended; "": the package's own
	failed bool                // a test has
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
	if p == nil {
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
			r.endPackage(e.Package, e.Action == "fail")
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
		r.reasons[skipReason(e)]++
	case "fail":
		r.failed++
		p.failed = true
		r.failures = append(r.failures, e)
		fmt.Fprint(r.w, e.Output)
	}
}

// endPackage prints a package's result line. For a package that failed it prints all its output,
// and that of every test that did not end, which has the panic, deadlock or timeout.
func (r *report) endPackage(path string, failed bool) {
	p := r.packages[path]
	delete(r.packages, path)
	own := p.output[""]
	delete(p.output, "")
	if failed {
		for _, name := range slices.Sorted(maps.Keys(p.output)) {
			fmt.Fprintf(r.w, "--- FAIL: %s (did not end)\n", name)
			fmt.Fprint(r.w, strings.Join(p.output[name], ""))
		}
		r.failed += len(p.output)
		if !p.failed && len(p.output) == 0 {
			r.failed++
		}
	}
	for _, line := range own {
		if failed || r.total == 0 && (strings.HasPrefix(line, "ok") || line[0] == '?') {
			fmt.Fprint(r.w, line)
		}
	}
	const lines = 10 // say how far a run is
	r.ended++
	if r.total > 0 && r.ended*lines/r.total > (r.ended-1)*lines/r.total {
		after := time.Since(r.begin).Round(time.Second)
		fmt.Fprintf(r.w, "%d of %d packages after %v\n", r.ended, r.total, after)
	}
}

// finish prints the packages that never ended, the reasons for skipped tests and the counts. It
// returns an error if a test failed or none ran.
func (r *report) finish() error {
	for _, path := range slices.Sorted(maps.Keys(r.packages)) {
		r.endPackage(path, true)
		fmt.Fprintf(r.w, "FAIL\t%s\t(did not end)\n", path)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(r.w, "%s (tests: %d)\n", reason, r.reasons[reason])
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
var logged = regexp.MustCompile(`(?s).*\.go:\d+: ([^\n]*)`)

// skipReason returns the reason that a test gave to Skip, in one line that begins with "skipped: ".
// The test's name stands before a reason that does not begin so by itself.
func skipReason(e event) string {
	reason := "no reason given"
	if m := logged.FindStringSubmatch(e.Output); m != nil {
		reason = m[1]
	}
	if strings.HasPrefix(reason, "skipped: ") {
		return reason
	}
	return "skipped: " + e.Test + ": " + reason
}
