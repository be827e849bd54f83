package assigner_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

// told returns a Factory for Assigners that are told their worker id. Each process of one authority
// is told the same one.
func told(a assigner.Assigner) assignertest.Factory {
	return assignertest.Factory{
		Unguarded: true, // the deployment must prevent two processes with one worker id
		Authority: func(testing.TB) func() assigner.Assigner {
			return func() assigner.Assigner { return bound(assigner.InNewProcess(a)) }
		},
	}
}

// bound binds a to a layout with short ticks, if it can be bound.
func bound(a assigner.Assigner) assigner.Assigner {
	if b, ok := a.(assigner.LayoutBinder); ok {
		return b.BindLayout("41-10-12-0/1ms@2026-01-01T00:00:00Z")
	}
	return a
}

// short has windows that a test can wait for.
var short = &assigner.LocalOptions{Lead: 120 * time.Millisecond}

func TestHostConformance(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, told(assigner.Host()))
}

func TestStaticConformance(t *testing.T) {
	t.Parallel()
	f := told(assigner.Static(3))
	f.Forgets = true
	assignertest.Run(t, f)
}

func TestStatefulSetConformance(t *testing.T) {
	t.Parallel()
	f := told(assigner.PodNamed("web-2", short))
	f.BoundsLead = true
	assignertest.Run(t, f)
}

func TestEnvConformance(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "3")
	f := told(assigner.Env("UIDRING_TEST_WORKER", short))
	f.BoundsLead = true
	assignertest.Run(t, f)
}

// TestFileConformance: with a file, two processes with one worker id are kept apart, too.
func TestFileConformance(t *testing.T) {
	skipWithoutFile(t)
	t.Parallel()
	process := func(path string) assigner.Assigner {
		return assigner.InNewProcess(assigner.PodNamed("web-2", &assigner.LocalOptions{File: path}))
	}
	assignertest.Run(t, assignertest.Factory{
		Single: true,
		Crash:  func(_ testing.TB, c assigner.Claim) { assigner.Kill(c) },
		Authority: func(tb testing.TB) func() assigner.Assigner {
			path := filepath.Join(tb.TempDir(), "window")
			return func() assigner.Assigner { return process(path) }
		},
		Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
			path, offset := filepath.Join(tb.TempDir(), "window"), time.Duration(0)
			now := func() time.Time { return time.Now().Add(offset) }
			return func() assigner.Assigner { return assigner.WithClock(process(path), now) },
				func(d time.Duration) { offset += d }
		},
	})
}
