package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// hunt runs the suites of one package on its mutants, several at a time.
type hunt struct {
	o      options
	source *source
	bench  *bench
	suites []*suite
	all    []*mutant
	record *results // as the run found it
	stdout io.Writer

	mu       sync.Mutex
	outcomes map[string]outcome        // by key: what became of the mutants so far
	killers  map[string]map[string]int // by function: how often each test killed a mutant of it
}

// outcome is what became of a mutant.
type outcome struct {
	suite string // the one that killed it, "" if none did
	by    string // the test; the suites that ran, if none did
}

func newHunt(o options, s *source, record *results, stdout io.Writer) *hunt {
	h := &hunt{o: o, source: s, suites: suitesOf(s.pkg), stdout: stdout, record: record,
		outcomes: map[string]outcome{},
		killers:  map[string]map[string]int{}}
	for key, l := range record.of {
		h.learn(key, l.outcome)
	}
	return h
}

// learn remembers which test kills what.
func (h *hunt) learn(key string, was outcome) {
	if was.suite == "" || strings.HasPrefix(was.by, "(") {
		return
	}
	fn := function(key)
	for _, where := range []string{key, fn, ""} {
		if h.killers[where] == nil {
			h.killers[where] = map[string]int{}
		}
		h.killers[where][was.by]++
	}
}

// likely returns the tests that have killed mutants like this one.
func (h *hunt) likely(key string) (tests []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, where := range []struct {
		name string
		most int
	}{{key, 1}, {function(key), 6}, {"", 2}} {
		count := h.killers[where.name]
		names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
			return cmp.Or(count[b]-count[a], strings.Compare(a, b))
		})
		tests = append(tests, names[:min(where.most, len(names))]...)
	}
	return tests
}

// ranks lists the operators whose mutants run first: those that change what other goroutines see.
var ranks = []string{"lock", "atomic", "order", "removal", "condition"}

// hunt finds the outcomes of the mutants that the options ask for.
func (h *hunt) hunt(ctx context.Context, all []*mutant) error {
	overlay, err := h.source.bundle(all, h.o.work)
	if err != nil {
		return err
	}
	h.bench, h.all = &bench{h.o.root, h.o.work, overlay}, all
	all = slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool {
		was, recorded := h.record.of[m.key]
		survived := recorded && (was.suite == "" || strings.HasPrefix(was.by, "("))
		return h.o.keep && recorded || h.o.survivors && !survived
	})
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *mutant) int {
		return rank(a.op) - rank(b.op)
	})
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan *mutant)
	var wg sync.WaitGroup
	for range h.o.jobs {
		wg.Go(func() {
			for m := range work {
				if err := h.judge(ctx, m); err != nil {
					stop(fmt.Errorf("%s: %w", m.key, err))
				}
			}
		})
	}
	for i, m := range all {
		if ctx.Err() != nil {
			break
		}
		if i%50 == 0 {
			fmt.Fprintf(h.stdout, "%s: %d of %d mutants\n", h.source.pkg, i, len(all))
		}
		work <- m
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// rank returns an operator's place in ranks.
func rank(op string) int {
	if i := slices.Index(ranks, op); i >= 0 {
		return i
	}
	return len(ranks)
}

// warm builds a suite and runs it without a mutant, once: it has to pass, and its time bounds that
// of the mutants. Short tests run one by one, and are chosen one by one.
func (h *hunt) warm(ctx context.Context, s *suite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warm {
		return nil
	}
	err := h.bench.build(ctx, s)
	if err != nil {
		return err
	}
	switch {
	case s == h.suites[0] && h.o.tests != "":
		s.whole.pattern = h.o.tests
	case !s.race && (s.short || s == h.suites[0]):
		s.reach, err = h.bench.reach(ctx, h.source, s, h.o.jobs)
		s.warm = err == nil
		return err
	}
	v, err := h.bench.run(ctx, s, 0, choice{pattern: s.whole.pattern, limit: 10 * time.Minute})
	if err != nil {
		return err
	}
	if v.killed {
		return fmt.Errorf("suite %s of %s fails without a mutant: %s", s.name, s.pkg, v.by)
	}
	s.warm = true
	s.whole.limit = time.Minute + 10*v.took.Round(time.Second)
	s.whole.cpu = 5*time.Second + 3*v.cpu
	fmt.Fprintf(h.stdout, "%s: suite %s takes %v, %v of a processor\n", h.source.pkg, s.name,
		v.took.Round(100*time.Millisecond), v.cpu.Round(100*time.Millisecond))
	return nil
}

// judge runs one suite after the other until one kills the mutant.
func (h *hunt) judge(ctx context.Context, m *mutant) error {
	var was outcome
	var ran []string
	begin := time.Now()
	for _, s := range h.suites[:min(h.o.suites, len(h.suites))] {
		if err := h.warm(ctx, s); err != nil {
			return err
		}
		name, choices := h.choices(s, m)
		var v verdict
		for _, c := range choices {
			var err error
			if v, err = h.bench.run(ctx, s, m.number, c); ctx.Err() != nil {
				return ctx.Err() // not a failure of the mutant
			} else if err != nil {
				return err
			}
			if v.killed {
				break
			}
		}
		if v.killed {
			was = outcome{s.name, v.by}
			break
		}
		if slices.Equal(ran, []string{unreached}) {
			ran = nil // this suite says more
		}
		if name != unreached || len(ran) == 0 {
			ran = append(ran, name)
		}
		was = outcome{by: strings.Join(ran, ",")}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outcomes[m.key] = was
	h.learn(m.key, was)
	if took := time.Since(begin); was.suite != "short" || took > 20*time.Second {
		fmt.Fprintf(h.stdout, "%s %s\n\t%s, %v\n", m.op, m.key, was, took.Round(time.Second))
	}
	if len(h.outcomes)%20 == 0 { // what is recorded survives a run that is killed
		return h.record.join(h.all, h.outcomes, h.o.match).write(h.o.root)
	}
	return nil
}

// unreached stands for a suite of which no short test executes the code.
const unreached = "unreached"

// choices returns the runs of a suite that a mutant has to get past, and the name for having done
// so.
func (h *hunt) choices(s *suite, m *mutant) (name string, choices []choice) {
	if s.reach == nil {
		if s.whole.pattern != "" {
			return "cheap", []choice{s.whole}
		}
		return s.name, []choice{s.whole}
	}
	tests := s.reach.of(h.source, m)
	if len(tests) == 0 {
		return unreached, nil
	}
	all, left := stages(tests, h.likely(m.key), h.o.cost)
	for _, stage := range all {
		choices = append(choices, choose(stage))
	}
	if left {
		return "cheap", choices
	}
	return s.name, choices
}

// String returns the outcome as the results have it.
func (o outcome) String() string {
	if o.suite == "" {
		return "survived " + o.by
	}
	return o.suite + " " + o.by
}
