package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		events []string
		want   string
		err    string // part of the error; "": none
	}{
		{
			name: "passes are one line a package",
			events: []string{
				`{"Action":"start","Package":"m/a"}`,
				`{"Action":"run","Package":"m/a","Test":"TestA"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:3: chatter\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestA","Elapsed":0}`,
				`{"Action":"output","Package":"m/a","Output":"PASS\n"}`,
				`{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.010s\n"}`,
				`{"Action":"pass","Package":"m/a","Elapsed":0.01}`,
				`{"Action":"start","Package":"m/b"}`,
				`{"Action":"output","Package":"m/b","Output":"?   \tm/b\t[no test files]\n"}`,
				`{"Action":"skip","Package":"m/b","Elapsed":0}`,
			},
			want: "ok  \tm/a\t0.010s\n?   \tm/b\t[no test files]\n1 passed, 0 failed, 0 skipped\n",
		},
		{
			name: "a failure is printed in full",
			events: []string{
				`{"Action":"run","Package":"m/a","Test":"TestA"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:3: got 1, want 2\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}`,
				`{"Action":"fail","Package":"m/a","Test":"TestA"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\n"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.010s\n"}`,
				`{"Action":"fail","Package":"m/a"}`,
			},
			want: "    a_test.go:3: got 1, want 2\n--- FAIL: TestA " +
				"(0.00s)\nFAIL\nFAIL\tm/a\t0.010s\n0 passed, 1 failed, 0 skipped\n",
			err: "1 failed",
		},
		{
			name: "a test that does not end is a failure",
			events: []string{
				`{"Action":"run","Package":"m/a","Test":"TestA"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"fatal error: all goroutines are asleep\n"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.010s\n"}`,
				`{"Action":"fail","Package":"m/a"}`,
			},
			want: "--- FAIL: TestA (did not end)\nfatal error: all goroutines are " +
				"asleep\nFAIL\tm/a\t0.010s\n0 passed, 1 failed, 0 skipped\n",
			err: "1 failed",
		},
		{
			name: "a package that does not build is a failure",
			events: []string{
				`{"ImportPath":"m/a","Action":"build-output","Output":"a.go:1:1: expected 'package'\n"}`,
				`{"ImportPath":"m/a","Action":"build-fail"}`,
				`{"Action":"start","Package":"m/a"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\tm/a [build failed]\n"}`,
				`{"Action":"fail","Package":"m/a","FailedBuild":"m/a"}`,
			},
			want: "a.go:1:1: expected 'package'\nFAIL\tm/a [build failed]\n0 passed, 1 failed, 0 skipped\n",
			err:  "1 failed",
		},
		{
			name: "a stream that breaks off is a failure",
			events: []string{
				`{"Action":"start","Package":"m/a"}`,
				`{"Action":"run","Package":"m/a","Test":"TestA"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestA"}`,
			},
			want: "FAIL\tm/a\t(did not end)\n1 passed, 1 failed, 0 skipped\n",
			err:  "1 failed",
		},
		{
			name: "each reason for a skip is printed once",
			events: []string{
				`{"Action":"run","Package":"m/a","Test":"TestA"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a.go:3: skipped: MariaDB suite: mariadbd not found in PATH\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}`,
				`{"Action":"skip","Package":"m/a","Test":"TestA"}`,
				`{"Action":"run","Package":"m/a","Test":"TestB"}`,
				`{"Action":"output","Package":"m/a","Test":"TestB","Output":"    b.go:3: skipped: MariaDB suite: mariadbd not found in PATH\n"}`,
				`{"Action":"skip","Package":"m/a","Test":"TestB"}`,
				`{"Action":"run","Package":"m/a","Test":"TestC"}`,
				`{"Action":"output","Package":"m/a","Test":"TestC","Output":"    c.go:3: too long for -short\n"}`,
				`{"Action":"skip","Package":"m/a","Test":"TestC"}`,
				`{"Action":"run","Package":"m/a","Test":"TestD"}`,
				`{"Action":"skip","Package":"m/a","Test":"TestD"}`,
				`{"Action":"run","Package":"m/a","Test":"TestE"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestE"}`,
				`{"Action":"pass","Package":"m/a"}`,
			},
			want: "skipped: MariaDB suite: mariadbd not found in PATH (tests: 2)\n" +
				"skipped: TestC: too long for -short (tests: 1)\n" +
				"skipped: TestD: no reason given (tests: 1)\n" +
				"1 passed, 0 failed, 4 skipped\n",
		},
		{
			name:   "no test at all is a failure",
			events: []string{`go: something odd`},
			want:   "go: something odd\n0 passed, 0 failed, 0 skipped\n",
			err:    "no test ran",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			r := newReport(&got)
			if err := r.read(strings.NewReader(strings.Join(tt.events, "\n") + "\n")); err != nil {
				t.Fatal(err)
			}
			err := r.finish()
			if got.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), tt.want)
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, want []string
	}{
		{nil, []string{"-race", "work"}},
		{[]string{"-short"}, []string{"-race", "-short", "work"}},
		{[]string{"-run=X", "./uid"}, []string{"-race", "-run=X", "./uid"}},
	} {
		got := command([]string{"-race"}, tt.args)
		if i := slices.Index(got, "-race"); i < 0 || !slices.Equal(got[i:], tt.want) {
			t.Errorf("command(%q): got %q, want %q at its end", tt.args, got, tt.want)
		}
	}
}

// TestSecondPass runs a package twice, with and without the race detector: the second run is
// counted and reported like the first.
func TestSecondPass(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	first := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t1s\n"}
{"Action":"pass","Package":"p"}
`
	second := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: broken\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2s\n"}
{"Action":"fail","Package":"p"}
`
	for _, events := range []string{first, second} {
		if err := r.read(strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); r.passed != 1 || r.failed != 1 || err == nil {
		t.Errorf("%d passed, %d failed, %v; want 1, 1 and an error", r.passed, r.failed, err)
	}
	if got := out.String(); strings.Count(got, "ok  \tp") != 1 ||
		strings.Count(got, "FAIL\tp") != 1 || !strings.Contains(got, "broken") {
		t.Errorf("the report is\n%s", got)
	}
}

// TestPlan: make test runs each package once, those where goroutines meet under the race detector,
// and the tests that it would spoil by themselves; -all runs every package under it.
func TestPlan(t *testing.T) {
	t.Parallel()
	packages, none, err := tested(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if uid := none[module+"uid"]; !slices.Contains(packages, module+"uid") ||
		!slices.Contains(uid, "TestAllocations") || slices.Contains(uid, "TestSimulation") {
		t.Fatalf("the packages are %q, and without the race detector %q; want uid, and of it TestAllocations alone",
			packages, uid)
	}
	for _, inner := range met {
		if !slices.Contains(packages, module+inner) {
			t.Errorf("%s is no package with tests", inner)
		}
	}
	race := []string{"-race"}
	for _, tt := range []struct {
		name       string
		race       []string
		everything bool
		off        bool
		raced      int // packages of the first pass
	}{
		{"short", race, false, true, len(met)},
		{"all", race, true, true, len(packages)},
		{"short, no race detector", nil, false, false, len(packages)},
	} {
		passes, off, total := plan(packages, none, tt.race, tt.everything)
		if (len(off) > 0) != tt.off || count(passes[0]) != tt.raced ||
			slices.Contains(passes[0], "-race") != (tt.race != nil) ||
			slices.Contains(passes[0], "-short") == tt.everything {
			t.Errorf("%s: the first pass is %q, off %q", tt.name, passes[0], off)
		}
		n := 0
		for _, p := range passes {
			n += count(p)
		}
		if n != len(packages) {
			t.Errorf("%s: runs %d packages whole, want %d", tt.name, n, len(packages))
		}
		if n += count(off); total != n {
			t.Errorf("%s: counts %d packages, want %d", tt.name, total, n)
		}
	}
}

// count returns how many packages the arguments of go name.
func count(args []string) (n int) {
	for _, a := range args {
		if strings.HasPrefix(a, module) || a+"/" == module {
			n++
		}
	}
	return n
}

// TestProgress: ten lines say how far it is, and packages that pass have none of their own.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	r.total = 72
	for range r.total {
		for _, e := range []event{{Action: "start"}, {Action: "output", Output: "ok  \tp\t1s\n"}, {Action: "pass"}} {
			e.Package = "p"
			r.add(e)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 10 || !strings.HasPrefix(lines[1], "15 of 72 packages after ") ||
		!strings.HasPrefix(lines[9], "72 of 72") {
		t.Errorf("the report is\n%s", out.String())
	}
}
