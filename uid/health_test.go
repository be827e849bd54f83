package uid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestHealth takes a generator through an outage of its authority: it is degraded while ids go on,
// down from the tick on at which they stop, and up when the authority is back.
func TestHealth(t *testing.T) {
	eachKind(t, uid.Both{}, nil, func(t *testing.T, g uid.Generator, a *place, clock *uid.TestClock) {
		want := func(status uid.Status) uid.Health {
			t.Helper()
			synctest.Wait()
			h := g.Stats().Health()
			if h.Status != status || (h.Reason == "") != (status == uid.Up) {
				t.Fatalf("Health() = %+v, want %s", h, status)
			}
			return h
		}
		start := time.Now()
		mustNext(t, g)
		want(uid.Up)
		clock.Step(3 * time.Hour)
		g.Stats()
		want(uid.Degraded)
		clock.Step(-3 * time.Hour)
		g.Stats()
		want(uid.Up)

		a.Fail(errDown, claimtest.OpExtend)
		time.Sleep(6 * time.Minute)
		h := want(uid.Degraded)
		if end := start.Add(10 * time.Minute); !h.Until.Equal(end) ||
			!strings.Contains(h.Reason, "ids until 2000-01-01T00:10:00Z") {
			t.Errorf("ids until %v (%s), want %v", h.Until, h.Reason, end)
		}
		s := g.Stats()
		if s.FailingSince.Before(start.Add(3*time.Minute)) ||
			s.FailingSince.After(start.Add(5*time.Minute)) || !errors.Is(s.ExtendErr, errDown) ||
			s.ExtendFailures < 5 || s.Err != nil || s.Extends != 0 || s.Claims != 1 {
			t.Errorf("in the outage: %+v", s)
		}
		// Default stops with the last tick. A ring may outlast it by MaxLag.
		var stopped time.Duration
		rejects := int64(0)
		for ; time.Since(start) < 10*time.Minute+5*time.Second; time.Sleep(100 * time.Millisecond) {
			h, err := callAndHealth(t, g, time.Millisecond)
			if err != nil {
				rejects++
				if stopped == 0 {
					stopped = time.Since(start)
				}
			}
			if err != nil && !uid.Temporary(err) || err == nil && (stopped > 0 || h.Status != uid.Degraded) {
				t.Fatalf("after %v, stopped at %v: Next() = %v, Health() = %+v", time.Since(start), stopped, err, h)
			}
		}
		most := 10 * time.Minute
		if _, cached := g.(*uid.Cached); cached {
			most += 2 * time.Second
		}
		if stopped < 10*time.Minute || stopped > most {
			t.Errorf("ids stopped after %v, want 10 min to %v", stopped, most)
		}
		if got := g.Stats().RejectsClaim; got != rejects {
			t.Errorf("%d calls were counted as failed, want %d", got, rejects)
		}
		a.Fail(nil)
		for back := time.Now(); time.Since(back) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
			callAndHealth(t, g, time.Millisecond)
		}
		want(uid.Up)
		mustNext(t, g)
		if s := g.Stats(); s.Extends == 0 || !s.FailingSince.IsZero() || s.ExtendErr != nil ||
			s.LastExtended.Before(start.Add(10*time.Minute)) {
			t.Errorf("after the outage: %+v", s)
		}
		mustClose(t, g)
		want(uid.Down)
	})
}

// TestIssued compares what Stats counts with what was handed out, after jumps, refreshes and a
// change of worker.
func TestIssued(t *testing.T) {
	t.Parallel()
	for _, o := range []uid.Both{{}, {RunLength: 1}, {Lanes: 8}, {RunLength: 16, Lanes: 2}} {
		synctest.Test(t, func(t *testing.T) {
			a := newPlace(time.Minute)
			c := uid.Open(t, uid.NewCachedAt, a, o, uid.NewTestClock())
			issued := int64(0)
			for i := range 300 {
				if i == 200 {
					a.lose(2, time.Now(), time.Hour)
				}
				n, err := c.Fill(t.Context(), make([]uid.ID, i*i%4000))
				if err != nil {
					t.Fatal(err)
				}
				mustNext(t, c)
				issued += int64(n) + 1
				time.Sleep(time.Duration(i%7) * 300 * time.Millisecond)
				synctest.Wait()
				if got := c.Stats().Issued; got != issued {
					t.Fatalf("step %d: Issued is %d, want %d", i, got, issued)
				}
			}
			if c.Stats().Claims != 2 || c.Stats().ClaimsLost != 1 {
				t.Errorf("%d claims, %d lost, want 2 and 1", c.Stats().Claims, c.Stats().ClaimsLost)
			}
			if err := c.Close(); err != nil || c.Stats().Issued != issued {
				t.Errorf("closed, Issued is %d, want %d", c.Stats().Issued, issued)
			}
		})
	}
}

// TestIssuedDefault does the same with Default, which counts by the positions that it skips: over
// ticks that are left early, that are used up, and that the clock jumps over, and from many
// goroutines, whatever Stats sees meanwhile.
func TestIssuedDefault(t *testing.T) {
	t.Parallel()
	d := defaultAt(t, uid.Both{
		Layout: bitsalloc.Layout{TimeBits: 41, WorkerBits: 12, SeqBits: 4, Tick: time.Millisecond}}, uid.NewTestClock())
	const callers, calls = 8, 400
	if got := d.Stats().Issued; got != 0 {
		t.Errorf("before the first id, Issued is %d", got)
	}
	var wg sync.WaitGroup
	var issued atomic.Int64
	for i := range callers {
		wg.Go(func() {
			for j := range calls {
				ids := make([]uid.ID, 1+(i+j)%5)
				before := d.Stats().Issued
				n, err := d.Fill(t.Context(), ids)
				if err != nil {
					t.Error(err)
				}
				issued.Add(int64(n))
				if after := d.Stats().Issued; after < before+int64(n) || after > callers*calls*5 {
					t.Errorf("Issued went from %d to %d over %d ids", before, after, n)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := d.Stats().Issued; got != issued.Load() {
		t.Errorf("Issued is %d, want %d", got, issued.Load())
	}
	if err := d.Close(); err != nil || d.Stats().Issued != issued.Load() {
		t.Errorf("closed, Issued is %d, want %d", d.Stats().Issued, issued.Load())
	}
}

// TestTemporary tells the errors that pass from those that stay.
func TestTemporary(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false, uid.ErrClosed: false, uid.ErrExhausted: false, uid.ErrNoGene: false,
		uid.ErrOptions: false, io.EOF: false,
		uid.ErrLead: true, uid.ErrEmpty: true, uid.ErrClaimExpired: true, assigner.ErrClaimLost: true,
		&uid.ClockBackError{}:                  true,
		fmt.Errorf("wrapped: %w", uid.ErrLead): true,

		fmt.Errorf("%w: %w", assigner.ErrClaimLost, assigner.ErrSuperseded): false, // one of them is permanent
	} {
		if uid.Temporary(err) != want {
			t.Errorf("Temporary(%v) = %v, want %v", err, !want, want)
		}
	}
}

// TestStatsForms reads the JSON and slog forms of Stats, and the text of a generator.
func TestStatsForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(10 * time.Minute)
		m.Fail(errDown, claimtest.OpExtend)
		c := uid.Open(t, uid.NewCachedAt, m.Range(7, 7), uid.Both{}, uid.NewTestClock())
		mustNext(t, c)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		b, err := json.Marshal(c.Stats())
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		for key, want := range map[string]any{
			"status": "degraded", "worker": 7.0, "layout": "28-22-13-0/1s@1999-12-31T00:00:00Z",
			"window_until": "2000-01-01T00:10:00Z", "issued": 1.0, "lanes": 1.0, "claims": 1.0,
		} {
			if fields[key] != want {
				t.Errorf("%s is %v, want %v", key, fields[key], want)
			}
		}
		if _, zero := fields["rejects_lead"]; zero ||
			!strings.Contains(fmt.Sprint(fields["extend_error"]), "no route to host") {
			t.Errorf("JSON is %s", b)
		}
		var text strings.Builder
		slog.New(slog.NewTextHandler(&text, nil)).Info("look", "generator", c.Stats())
		if !strings.Contains(text.String(), "generator.worker=7") ||
			!strings.Contains(text.String(), "generator.status=degraded") {
			t.Errorf("slog writes %s", text.String())
		}
		if s := fmt.Sprint(c); !strings.HasPrefix(s,
			"worker 7 of 28-22-13-0/1s@1999-12-31T00:00:00Z, degraded (ids until "+
				"2000-01-01T00:10:00Z:") ||
			!strings.Contains(s, "window until 2000-01-01T00:10:00Z") {
			t.Errorf("a generator reads %q", s)
		}
	})
}

// TestKeeperLogs counts what is logged of an outage of an hour.
func TestKeeperLogs(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := newMemory(10 * time.Minute)
	bubble(t, "default", a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		a.Fail(errDown, claimtest.OpExtend)
		time.Sleep(time.Hour)
		a.Fail(nil)
		time.Sleep(time.Minute)
		mustClose(t, g)
		log.want(t, map[string][2]int{
			"worker id claimed": {1, 1}, "claim not extended": {1, 1}, "ids have stopped": {1, 1},
			"claim still not extended": {9, 12}, "claim extended again": {1, 1}, "worker id given back": {1, 1},
		})
	})
}

// TestKeeperLogsLost counts what is logged of a lost claim that cannot be replaced for an hour.
func TestKeeperLogsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		a := &claimtest.Memory{}
		g := uid.Open(t, uid.NewCachedAt, a, uid.Both{Logger: logger}, uid.NewTestClock())
		a.Fail(errDown, claimtest.OpAssign)
		a.Lose(g.Stats().Worker)
		time.Sleep(time.Hour)
		if h := g.Stats().Health(); h.Status != uid.Down {
			t.Errorf("an hour later the generator is %s, want down", h.Status)
		}
		a.Fail(nil)
		time.Sleep(time.Minute)
		mustClose(t, g)
		log.want(t, map[string][2]int{
			"worker id claimed": {2, 2}, "claim lost": {1, 1}, "ids have stopped": {1, 1},
			"lost claim still not replaced": {9, 12}, "worker id replaced after its claim was lost": {1, 1},
		})
	})
}
