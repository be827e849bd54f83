package assignertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestRun: an authority without a flaw passes. Memory is run by itself, too.
func TestRun(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, newFlawed(""))
	assignertest.Run(t, assignertest.Factory{Authority: func(testing.TB) func() assigner.Assigner {
		m := &claimtest.Memory{}
		return func() assigner.Assigner { return m }
	}})
}

// TestFlaws: each flaw is seen, and by the check that is there for it.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ flaw, check, message string }{
		{"negative", "range", "want 0.."},
		{"beyond the maximum", "exhausted", "want 0..3"},
		{"truncates", "exhausted", "want at most"},
		{"unnamed exhaustion", "exhausted", "ErrWorkersExhausted"},
		{"beyond the maximum", "no workers at all", "want an error"},
		{"assign ignores ctx", "cancelled assign", "want an error"},
		{"ctx error not wrapped", "cancelled assign", "want an error that wraps"},
		{"empty window", "window", "end after its start"},
		{"grants less", "extend", "want no earlier end"},
		{"hides the extension", "extend", "want the same"},
		{"moves from", "extend", "as before"},
		{"shrinks", "extend by less", "or later"},
		{"flickers", "window during extend", "became"},
		{"extend ignores ctx", "cancelled extend", "want an error"},
		{"cancelled is lost", "cancelled extend", "not permanent"},
		{"second release fails", "release twice", "call 2"},
		{"extends what is gone", "extend after release", "want an error"},
		{"forgets the fence", "reuse after release", ""},
		{"forgets what was used", "reuse after release", "owned twice"},
		{"forgets earlier owners", "reuse after nothing stamped", "owned twice"},
		{"stale release", "stale release", "owned twice"},
		{"takes over early", "exhausted", "at one time"},
		{"forgets the fence", "disjoint", "owned twice"},
		{"begins early", "reuse after release", "owned twice"},
		{"begins early", "restart", "owned twice"},
		{"remembers nothing", "restart", "owned twice"}, // from now on, without end
		{"begins early", "clock jumps", "owned twice"},
		{"begins at its clock", "clock jumps", "owned twice"},
		{"forgets the fence", "clock jumps", "owned twice"},
		{"grants nothing", "extend", "want an end after"},
		{"ignores its range", "ranges", "the range"},
		{"cuts its range", "ranges", "want an error"},
		{"any layout", "layout", "want ErrLayoutMismatch"},
		{"any layout", "no layout", "want ErrLayoutMismatch"},
		{"no layout is any", "layout", "without a layout"},
		{"adds layouts early", "eras", "begins before a window's end"},
		{"ignores later layouts", "eras added while windows grow", "was added from"},
		{"ignores later layouts", "eras", "want ErrLayoutMismatch"},
		{"stops silently", "eras", "want ErrSuperseded"},
		{"one name for all", "universe", "is called \"4711\" as well"},
		{"a name for each", "universe", "want one name"},
		{"mute mismatch", "layout", "does not mention"},
		{"wrong epoch", "clock", "from this machine's time"},
		{"clock ignores ctx", "clock", "want one"},
	} {
		t.Run(tt.flaw+"/"+tt.check, func(t *testing.T) {
			t.Parallel()
			failures := assignertest.Failures(t, newFlawed(tt.flaw))
			err := failures[tt.check]
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("check %q says %v, want an error with %q; failures: %v", tt.check, err, tt.message, failures)
			}
		})
	}
}

// TestNoFalseAlarm: the flaw-free authority fails nothing, so that TestFlaws measures the flaws.
func TestNoFalseAlarm(t *testing.T) {
	t.Parallel()
	if failures := assignertest.Failures(t, newFlawed("")); len(failures) != 0 {
		names := []string{}
		for name := range failures {
			names = append(names, name)
		}
		slices.Sort(names)
		t.Errorf("failures = %v, want none", names)
	}
}

func ExampleRun() {
	// In a test of the assigner's own package:
	_ = func(t *testing.T) {
		assignertest.Run(t, assignertest.Factory{
			Authority: func(tb testing.TB) func() assigner.Assigner {
				// An empty database, cleaned up by tb.Cleanup, would be made here.
				return func() assigner.Assigner { return assigner.Static(1) }
			},
			Unguarded: true, // nothing but the user keeps two processes apart
			Forgets:   true,
		})
	}
}
