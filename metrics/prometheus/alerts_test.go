package prometheus_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

var errAway = errors.New("no route to host")

const window = 20 * time.Minute // workernode's default

// cached returns a generator that the scenario closes.
func (s *scenario) cached(a assigner.Assigner, o uid.Options) *uid.Cached {
	s.t.Helper()
	if o.Layout.Epoch.IsZero() {
		o.Layout = layout()
	}
	g, err := uid.NewCached(s.t.Context(), a, &o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { g.Close() })
	return g
}

// source is a segment.Source that the test can take away.
type source struct {
	away atomic.Bool
	next atomic.Int64
}

func (s *source) Fetch(_ context.Context, _ string, step int64) (segment.Range, error) {
	if s.away.Load() {
		return segment.Range{}, errAway
	}
	if step == 0 {
		step = 1000
	}
	to := s.next.Add(step)
	return segment.Range{From: to - step + 1, To: to + 1, Stride: 1, Step: 1000}, nil
}

// TestNoAlerts: no alert fires in three hours of a healthy service, with bursts and a rolling restart.
func TestNoAlerts(t *testing.T) {
	play(t, func(s *scenario) {
		a := &claimtest.Memory{Length: window}
		g := s.cached(a, uid.Options{})
		s.gen(g)
		old := s.cached(a, uid.Options{})
		s.add("b", uidprom.New("orders", old))
		numbers, err := segment.New(s.t.Context(), &source{}, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { numbers.Close() })
		s.add("a", uidprom.NewSegments("numbers", numbers, 0))
		work := func() {
			if _, err := g.Fill(s.t.Context(), make([]uid.ID, 50_000)); err != nil {
				s.t.Error(err)
			}
			if _, err := numbers.Fill(s.t.Context(), "order", make([]int64, 700)); err != nil {
				s.t.Error(err)
			}
		}
		s.run(90*time.Minute, work)
		old.Close()
		delete(s.registries, "b")
		s.add("c", uidprom.New("orders", s.cached(a, uid.Options{})))
		s.run(90*time.Minute, work)
		s.fired()
	})
}

// TestOutageAlerts takes the authority away, for longer than the window, and brings it back.
func TestOutageAlerts(t *testing.T) {
	play(t, func(s *scenario) {
		a := &claimtest.Memory{Length: window}
		g := s.cached(a, uid.Options{})
		s.gen(g)
		ask := func() { _, _ = g.Next(s.t.Context()) }
		s.run(time.Hour, ask)
		s.fired()
		a.Fail(errAway)
		until := g.Stats().WindowUntil
		s.run(time.Until(until)-90*time.Second, ask)
		s.fires("UidDegraded", "UidNotExtended")
		s.run(10*time.Minute, ask)
		s.fires("UidDown", "UidNotExtended", "UidRejects")
		a.Fail(nil)
		s.run(20*time.Minute, ask)
		s.fires()
		s.fired("UidDegraded", "UidDown", "UidNotExtended", "UidRejects")
	})
}

// TestClaimLostAlert takes the worker id away.
func TestClaimLostAlert(t *testing.T) {
	play(t, func(s *scenario) {
		a := &claimtest.Memory{Length: window}
		s.gen(s.cached(a, uid.Options{}))
		s.run(30*time.Minute, nil)
		s.fired()
		a.Lose(0)
		s.run(20*time.Minute, nil)
		s.fires("UidClaimLost")
		s.run(time.Hour, nil)
		s.fires()
		s.fired("UidClaimLost")
	})
}

// TestWorkerSharedAlert gives two processes one worker id.
func TestWorkerSharedAlert(t *testing.T) {
	play(t, func(s *scenario) {
		s.gen(s.cached(claimtest.Static(7), uid.Options{}))
		s.add("b", uidprom.New("orders", s.cached(claimtest.Static(8), uid.Options{})))
		s.run(30*time.Minute, nil)
		s.fired()
		s.add("c", uidprom.New("orders", s.cached(claimtest.Static(8), uid.Options{})))
		s.run(30*time.Minute, nil)
		s.fired("UidWorkerShared")
	})
}

// severed is an Assigner whose claims get why from their authority when cut is set.
type severed struct {
	assigner.Assigner
	cut *atomic.Bool
	why error
}

func (a severed) BindLayout(layout string) assigner.Assigner {
	return severed{a.Assigner.(assigner.LayoutBinder).BindLayout(layout), a.cut, a.why}
}

func (a severed) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if a.cut.Load() {
		return nil, a.why
	}
	c, err := a.Assigner.Assign(ctx, maxWorker)
	return severedClaim{c, a.cut, a.why}, err
}

type severedClaim struct {
	assigner.Claim
	cut *atomic.Bool
	why error
}

func (c severedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	if c.cut.Load() {
		return time.Time{}, c.why
	}
	return c.Claim.Extend(ctx, until)
}

// once gives out one claim, so that a lost one is not replaced.
type once struct {
	assigner.Assigner
	asked atomic.Bool
}

func (o *once) BindLayout(layout string) assigner.Assigner {
	o.Assigner = o.Assigner.(assigner.LayoutBinder).BindLayout(layout)
	return o
}

func (o *once) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if o.asked.Swap(true) {
		return nil, assigner.ErrWorkersExhausted
	}
	return o.Assigner.Assign(ctx, maxWorker)
}

// TestWorkerIDPasses: a worker id passes on from a process whose window is over, from one that was
// closed and is still scraped, and from one that lost its claim and cannot get another. None of them
// shares it. A window may be over because the authority is away, or because of a wrong clock.
func TestWorkerIDPasses(t *testing.T) {
	t.Run("away", func(t *testing.T) { workerIDPasses(t, errAway) })
	t.Run("clock", func(t *testing.T) { workerIDPasses(t, assigner.ErrBeyondReach) })
}

func workerIDPasses(t *testing.T, why error) {
	play(t, func(s *scenario) {
		a := &claimtest.Memory{Length: window}
		var cut atomic.Bool
		s.gen(s.cached(severed{a, &cut, why}, uid.Options{}))
		s.run(30*time.Minute, nil)
		cut.Store(true)
		s.run(window+5*time.Minute, nil)
		second := s.cached(a, uid.Options{})
		s.add("b", uidprom.New("orders", second))
		s.run(30*time.Minute, nil)
		second.Close()
		var gone atomic.Bool
		third := s.cached(&once{Assigner: severed{a, &gone, why}}, uid.Options{})
		s.add("c", uidprom.New("orders", third))
		s.run(30*time.Minute, nil)
		a.Lose(0)
		s.run(2*window, nil)
		fourth := s.cached(a, uid.Options{})
		s.add("d", uidprom.New("orders", fourth))
		s.run(30*time.Minute, nil)
		for _, g := range []*uid.Cached{second, third, fourth} {
			if w := g.Stats().Worker; w != 0 {
				s.t.Errorf("a process has worker id %d, want that of the first", w)
			}
		}
		s.fired("UidDegraded", "UidDown", "UidNotExtended", "UidClaimLost")
	})
}

// named is an Assigner that says where its worker ids come from.
type named struct {
	assigner.Assigner
	place string
}

func (n named) String() string { return n.place }

// of is an Assigner of a universe that has a name.
type of struct {
	assigner.Assigner
	universe string
}

func (o of) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := o.Assigner.Assign(ctx, maxWorker)
	return ofClaim{c, o.universe}, err
}

// ofClaim is a claim of one.
type ofClaim struct {
	assigner.Claim
	universe string
}

func (o ofClaim) Universe() string { return o.universe }

// TestUniverseByAddresses: two universes may have one address, as two databases that are both
// called localhost, and one universe two.
func TestUniverseByAddresses(t *testing.T) {
	play(t, func(s *scenario) {
		add := func(instance, place, universe string) {
			s.add(instance, uidprom.New("orders",
				s.cached(named{of{claimtest.Static(0), universe}, place}, uid.Options{})))
		}
		add("a", "postgres at localhost", "4711")
		add("b", "postgres at localhost", "4712")
		s.run(time.Hour, nil)
		s.fired()
		add("c", "postgres at 127.0.0.1", "4712")
		s.run(30*time.Minute, nil)
		s.fired("UidWorkerShared")
	})
}

// TestUniversesApart: worker ids of two universes under one job label may be equal: of two
// namespaces, and of two environments with a target label that says which. Within an environment
// they may not.
func TestUniversesApart(t *testing.T) {
	play(t, func(s *scenario) {
		for instance, place := range map[string]string{"a": "namespace orders", "b": "namespace invoices\xff"} {
			a := &claimtest.Memory{Length: window}
			s.add(instance, uidprom.New("orders", s.cached(named{a, place}, uid.Options{})))
		}
		s.env["prod"], s.env["staging"], s.env["copy"] = "prod", "staging", "staging"
		s.add("prod", uidprom.New("orders", s.cached(claimtest.Static(0), uid.Options{})))
		s.add("staging", uidprom.New("orders", s.cached(claimtest.Static(0), uid.Options{})))
		s.run(time.Hour, nil)
		s.fired()
		s.add("copy", uidprom.New("orders", s.cached(claimtest.Static(0), uid.Options{})))
		s.run(30*time.Minute, nil)
		s.fired("UidWorkerShared")
	})
}

// TestRejectsAlert asks a generator for more ids than MaxLead allows.
func TestRejectsAlert(t *testing.T) {
	play(t, func(s *scenario) {
		g := s.cached(claimtest.Static(1), uid.Options{MaxLead: 10 * time.Second, TakePolicy: uid.TakeReject})
		s.gen(g)
		s.run(10*time.Minute, nil)
		s.fired()
		if _, err := g.Fill(s.t.Context(), make([]uid.ID, 1_000_000)); err == nil {
			s.t.Error("Fill beyond MaxLead succeeded")
		}
		s.run(3*time.Minute, nil)
		s.fires("UidRejects")
		s.run(10*time.Minute, nil)
		s.fires()
		s.fired("UidRejects")
	})
}

// TestWaitsAlert makes a caller wait at MaxLead.
func TestWaitsAlert(t *testing.T) {
	play(t, func(s *scenario) {
		g := s.cached(claimtest.Static(1), uid.Options{MaxLead: 2 * time.Second})
		s.gen(g)
		s.run(10*time.Minute, nil)
		s.fired()
		done := make(chan struct{})
		go func() { // 40 minutes of ids
			defer close(done)
			_, _ = g.Fill(s.t.Context(), make([]uid.ID, 40*60*8192))
		}()
		s.run(20*time.Minute, nil)
		s.fires("UidWaits")
		g.Close()
		<-done
	})
}

// TestLeadAlert makes a burst run ahead of the clock by more than an hour.
func TestLeadAlert(t *testing.T) {
	play(t, func(s *scenario) {
		l := layout()
		l.TimeBits, l.WorkerBits, l.SeqBits = 35, 22, 6
		g := s.cached(claimtest.Static(1), uid.Options{Layout: l})
		s.gen(g)
		s.run(30*time.Minute, nil)
		s.fired()
		if _, err := g.Fill(s.t.Context(), make([]uid.ID, 64*4000)); err != nil {
			s.t.Error(err)
		}
		s.run(30*time.Minute, nil)
		s.fired("UidLead")
	})
}

// TestClockAlert moves the clock ahead by three hours.
func TestClockAlert(t *testing.T) {
	play(t, func(s *scenario) {
		clock := uidtest.NewClock()
		g := s.cached(claimtest.Static(1), uid.Options{Clock: clock.Read})
		s.gen(g)
		s.run(30*time.Minute, nil)
		s.fired()
		clock.Step(3 * time.Hour)
		s.run(8*time.Minute, nil)
		s.fires("UidClockHeld", "UidDegraded")
		clock.Step(-3 * time.Hour)
		s.run(8*time.Minute, nil)
		s.fires()
	})
}

// TestLayoutEndsAlert runs up to 180 days before the layout's end.
func TestLayoutEndsAlert(t *testing.T) {
	play(t, func(s *scenario) {
		l := layout()
		l.TimeBits, l.WorkerBits, l.SeqBits = 24, 22, 13 // 2^24 seconds
		l.Epoch = time.Now().Add((180*24+4)*time.Hour - 1<<24*time.Second)
		s.gen(s.cached(claimtest.Static(1), uid.Options{Layout: l}))
		s.run(3*time.Hour, nil)
		s.fired()
		s.run(3*time.Hour, nil)
		s.fired("UidLayoutEnds")
	})
}

// TestSegmentAlerts takes a segment's source away, first with ids left and then without.
func TestSegmentAlerts(t *testing.T) {
	play(t, func(s *scenario) {
		src := &source{}
		g, err := segment.New(s.t.Context(), src, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { g.Close() })
		s.add("a", uidprom.NewSegments("numbers", g, 0))
		take := func(n int) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			defer cancel()
			_, _ = g.Fill(ctx, "order", make([]int64, n))
		}
		take(10)
		s.run(30*time.Minute, nil)
		s.fired()
		src.away.Store(true)
		for g.Stats().Tags[0].Err == nil {
			take(50)
			synctest.Wait()
		}
		s.run(10*time.Minute, func() { take(1) })
		s.fires("UidSegmentFailing")
		take(100_000)
		s.run(10*time.Minute, func() { take(1) })
		s.fires("UidSegmentEmpty", "UidSegmentFailing")
		src.away.Store(false)
		s.run(10*time.Minute, func() { take(1) })
		s.fires()
	})
}

// TestAlertsTested: every alert rule fires in a scenario here and has an entry in the runbooks.
func TestAlertsTested(t *testing.T) {
	t.Parallel()
	tests := read(t, "alerts_test.go")
	runbooks := []string{read(t, "../../docs/operations.md"), read(t, "../../docs/operations.zh-CN.md")}
	rules := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(
		read(t, alerts), -1)
	var names []string
	for _, rule := range rules {
		names = append(names, rule[1])
		if !strings.Contains(tests, `"`+rule[1]+`"`) {
			t.Errorf("no scenario expects %s to fire", rule[1])
		}
		for _, runbook := range runbooks {
			if !strings.Contains(runbook, "| `"+rule[1]+"` |") {
				t.Errorf("a docs/operations page does not say what to do about %s", rule[1])
			}
		}
	}
	if len(names) == 0 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("the rules are %q, want some, each once", names)
	}
}
