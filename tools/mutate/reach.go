package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// reach says which code of the mutated package each test of a suite executes: only a test
// that executes the mutated code can notice a mutant.
type reach struct {
	mu     sync.Mutex         // guards the other fields while the tests run
	tests  []*reaching        // the cheapest first
	blocks map[string][]block // of the mutated package, by the base name of their file
}

// reaching is a test with what it costs and what it executes.
type reaching struct {
	name string
	cpu  time.Duration // the processor time that it takes
	wall time.Duration
	hits map[string]map[block]bool // by the base name of the file; nil: may execute everything
}

// block is a stretch of code that runs as a whole, as go test -cover has it.
type block struct{ from, to place }

type place struct{ line, column int }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

func (b block) has(p place) bool { return b.from.compare(p) <= 0 && p.compare(b.to) < 0 }

// reach runs each test of a suite by itself, some at a time. Each has to pass, some only when
// nothing else runs.
func (b *bench) reach(ctx context.Context, src *source, s *suite, jobs int) (*reach, error) {
	bin := s.bin + "-reach"
	dir := filepath.Join(b.root, filepath.FromSlash(s.pkg))
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover", "-covermode=set",
		"-coverpkg="+src.path, "-o", bin, ".") // #nosec G204
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w: %s", s.pkg, err, out)
	}
	list := exec.CommandContext(ctx, bin, "-test.list=.") // #nosec G204
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", s.pkg, err)
	}
	r := &reach{blocks: map[string][]block{}}
	one := func(name string) error {
		profile := bin + "-" + name
		cmd := exec.CommandContext(ctx, bin, fmt.Sprintf("-test.short=%t", s.short),
			"-test.timeout=5m", "-test.run=^"+name+"$",
			"-test.coverprofile="+profile) // #nosec G204
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), noMutant, "TMPDIR="+b.work)
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s fails without a mutant: %w\n%s", name, s.pkg, err, out)
		}
		t := &reaching{name: name, wall: time.Since(begin),
			cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		text, err := os.ReadFile(profile)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil {
			t.hits = r.read(string(text))
		}
		r.tests = append(r.tests, t)
		return nil
	}
	var failed []string
	var wg sync.WaitGroup
	slots := make(chan struct{}, jobs)
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if one(name) != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				failed = append(failed, name)
			}
		})
	}
	wg.Wait()
	for _, name := range failed {
		if err := one(name); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.tests, func(x, y *reaching) int {
		return cmp.Or(cmp.Compare(x.cpu+x.wall/10, y.cpu+y.wall/10),
			strings.Compare(x.name, y.name))
	})
	return r, nil
}

// read returns the blocks that a coverage profile has as executed.
func (r *reach) read(profile string) map[string]map[block]bool {
	hits := map[string]map[block]bool{}
	first := len(r.blocks) == 0
	for lines := bufio.NewScanner(strings.NewReader(profile)); lines.Scan(); {
		name, rest, ok := strings.Cut(lines.Text(), ".go:")
		var b block
		var statements, count int
		if n, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line,
			&b.to.column, &statements, &count); !ok || n != 6 || err != nil {
			continue
		}
		name = path.Base(name) + ".go"
		if first {
			r.blocks[name] = append(r.blocks[name], b)
		}
		if count > 0 {
			if hits[name] == nil {
				hits[name] = map[block]bool{}
			}
			hits[name][b] = true
		}
	}
	return hits
}

// of returns the tests that execute code which the mutant changes, the cheapest first.
func (r *reach) of(s *source, m *mutant) (tests []*reaching) {
	name := filepath.Base(m.file.name)
	want := map[block]bool{}
	for _, e := range m.edit {
		found := false
		for _, b := range r.blocks[name] {
			if b.has(s.place(m.file, e.from)) {
				want[b], found = true, true
			}
		}
		if found {
			continue
		}
		// No block has the conditions of a switch, for instance: they run if the function does.
		begin, end := m.file.offset(m.fn.Pos()), m.file.offset(m.fn.End())
		fn := block{s.place(m.file, begin), s.place(m.file, end)}
		for _, b := range r.blocks[name] {
			if fn.has(b.from) {
				want[b] = true
			}
		}
	}
	for _, t := range r.tests {
		yes := t.hits == nil
		for b := range want {
			yes = yes || t.hits[name][b]
		}
		if yes {
			tests = append(tests, t)
		}
	}
	return tests
}

// place returns where an offset into a file's text is.
func (s *source) place(f *file, offset int) place {
	begin := strings.LastIndexByte(string(f.text[:offset]), '\n') + 1
	return place{strings.Count(string(f.text[:offset]), "\n") + 1, offset - begin + 1}
}

// stages splits tests, cheapest first, into runs of a growing cost, so that a mutant which a cheap
// test kills never meets a dear one. Tests among likely come first. Those that cost more than most,
// unless it is 0, are left out, and left says whether there are such tests.
func stages(tests []*reaching, likely []string, most time.Duration) (all [][]*reaching, left bool) {
	var first, rest []*reaching
	for _, t := range tests {
		switch {
		case most > 0 && t.cpu+t.wall/10 > most:
			left = true
		case slices.Contains(likely, t.name) && t.cpu < time.Second:
			first = append(first, t)
		default:
			rest = append(rest, t)
		}
	}
	if len(first) > 0 {
		all = append(all, first)
	}
	for bound := 500 * time.Millisecond; len(rest) > 0; bound *= 4 {
		n, sum := 0, time.Duration(0)
		for n < len(rest) && (n == 0 || sum+rest[n].cpu <= bound) {
			sum += rest[n].cpu
			n++
		}
		all = append(all, rest[:n])
		rest = rest[n:]
	}
	return all, left
}
