package assigner_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// bubble is the default layout with an epoch before 2000-01-01, at which a synctest bubble starts.
func bubble() bitsalloc.Layout {
	return bitsalloc.Layout{Epoch: time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)}
}

// generate makes a generator.
type generate func(context.Context, assigner.Assigner, uid.DefaultOptions) (uid.Generator, error)

// generators are the kinds of generators. Each takes of the options what it has.
var generators = map[string]generate{
	"cached": func(c context.Context, a assigner.Assigner, o uid.DefaultOptions) (uid.Generator, error) {
		return uid.NewCached(c, a, &uid.Options{Layout: o.Layout, TakePolicy: o.TakePolicy, Clock: o.Clock,
			Logger: o.Logger})
	},
	"default": func(c context.Context, a assigner.Assigner, o uid.DefaultOptions) (uid.Generator, error) {
		return uid.NewDefault(c, a, &o)
	},
}

// mortal is an Assigner whose newest claim a test can kill.
type mortal struct {
	assigner.Assigner
	claim *mortalClaim
}

func (m *mortal) BindLayout(layout string) assigner.Assigner {
	m.Assigner = m.Assigner.(assigner.LayoutBinder).BindLayout(layout)
	return m
}

func (m *mortal) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := m.Assigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	m.claim = &mortalClaim{Claim: c}
	return m.claim, nil
}

type mortalClaim struct {
	assigner.Claim
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (c *mortalClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	if c.dead.Load() {
		return time.Time{}, errDead
	}
	return c.Claim.Extend(ctx, until)
}

func (c *mortalClaim) Release(ctx context.Context, used time.Time) error {
	if c.dead.Load() {
		return errDead
	}
	return c.Claim.Release(ctx, used)
}

// kill lets the claim's process die.
func (c *mortalClaim) kill() {
	c.dead.Store(true)
	synctest.Wait() // a call that began before is over, or waits for the clock
	assigner.Kill(c.Claim)
}

// run is one run of a program: how many ids it takes at once, and whether it closes its generator.
type run struct {
	burst int
	close bool
	wait  time.Duration // until the next one starts
}

// restarts runs one program after the other, each with an Assigner of its own that process returns,
// and counts how many ids came before, in all and of the second run.
func restarts(t *testing.T, kind string, o uid.DefaultOptions, process func() assigner.Assigner,
	runs ...run) (repeated, second int) {
	t.Helper()
	seen := map[uid.ID]bool{}
	for i, r := range runs {
		a := &mortal{Assigner: process()}
		g, err := generators[kind](t.Context(), a, o)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close() // of a process that crashed: ends its goroutines and nothing else
		ids := make([]uid.ID, r.burst)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if n, err := g.Fill(ctx, ids); err != nil {
			t.Fatalf("run %d: %d of %d ids: %v", i, n, r.burst, err)
		}
		for _, id := range ids {
			if seen[id] {
				if repeated++; i == 1 {
					second++
				}
			}
			seen[id] = true
		}
		if r.close {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			a.claim.kill()
		}
		time.Sleep(r.wait)
	}
	return repeated, second
}

// numbered are the Assigners whose worker id comes back with a restart.
func numbered(o assigner.LocalOptions) map[string]func() assigner.Assigner {
	return map[string]func() assigner.Assigner{
		"env": func() assigner.Assigner {
			return assigner.InNewProcess(assigner.Env("UIDRING_TEST_WORKER", &o))
		},
		"stateful set": func() assigner.Assigner {
			return assigner.InNewProcess(assigner.PodNamed("web-7", &o))
		},
	}
}

// TestRestart: programs that take bursts, end cleanly or by a crash, and start again at once or
// later, repeat no id. Without the protection they repeat all of them.
func TestRestart(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "7")
	runs := []run{
		{100_000, true, 0}, {100_000, true, time.Millisecond},
		{65_536, false, 0}, {65_536, false, 700 * time.Millisecond}, {1, false, 0}, {1, true, 0},
		{65_536, true, time.Second}, {9000, false, 3 * time.Second}, {65_536, false, 0},
		{10, true, 0},
	}
	for _, tt := range []struct {
		name string
		o    assigner.LocalOptions
		file bool
	}{
		{name: "default"},
		{name: "least lead", o: assigner.LocalOptions{Lead: 2 * time.Second}},
		{name: "odd lead", o: assigner.LocalOptions{Lead: 4700 * time.Millisecond}},
		{name: "minute", o: assigner.LocalOptions{Lead: time.Minute}},
		{name: "file", file: true},
	} {
		for kind := range generators {
			for name := range numbered(tt.o) {
				t.Run(tt.name+"/"+kind+"/"+name, func(t *testing.T) {
					o := tt.o
					if tt.file {
						skipWithoutFile(t)
						o.File = filepath.Join(t.TempDir(), "window")
					}
					synctest.Test(t, func(t *testing.T) {
						g := uid.DefaultOptions{Layout: bubble(), Rollback: uid.RollbackHold(time.Hour)}
						repeated, _ := restarts(t, kind, g, numbered(o)[name], runs...)
						if repeated != 0 {
							t.Errorf("%d ids came again, want none", repeated)
						}
					})
				})
			}
		}
	}
}

// TestRestartRepeats: what RepeatsAfterRestart costs, and what TestRestart finds without the
// protection: a burst that is over in a moment is repeated whole by the next run.
func TestRestartRepeats(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "7")
	for name, process := range numbered(assigner.LocalOptions{RepeatsAfterRestart: true}) {
		synctest.Test(t, func(t *testing.T) {
			o := uid.DefaultOptions{Layout: bubble()}
			_, second := restarts(t, "cached", o, process, run{100_000, true, 0},
				run{100_000, true, 0})
			t.Logf("%s: %d of 100,000 ids came again after a plain restart", name, second)
			if second != 100_000 {
				t.Errorf("%s: %d ids came again after a restart, want all 100,000", name, second)
			}
			time.Sleep(time.Hour)
			_, second = restarts(t, "cached", o, process, run{65_536, false, time.Second},
				run{65_536, false, 0})
			t.Logf("%s: %d of 65,536 ids came again after a crash and a second", name, second)
			if second < 50_000 {
				t.Errorf("%s: %d ids came again after a crash, want most of 65,536", name, second)
			}
		})
	}
}
