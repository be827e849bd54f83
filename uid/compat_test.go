package uid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/ringbuffer"
	"github.com/uidring/uidring/uid"
)

// This file goes on where originals_test.go ends: what bitsalloc/compat/README.md says of the originals'
// clocks, rings and texts.

// TestUUIDIsNoID: 2.O2. A UUID has 128 bits. Whatever it comes in, it is refused and not cut down
// to the 63 bits of an ID.
func TestUUIDIsNoID(t *testing.T) {
	t.Parallel()
	const text = "550e8400-e29b-41d4-a716-446655440000"
	for _, s := range []string{text, strings.ReplaceAll(text, "-", "")} {
		id := uid.ID(7)
		for name, read := range map[string]func() error{
			"ParseID":       func() error { _, err := uid.ParseID(s); return err },
			"Base32.Parse":  func() error { _, err := uid.Base32.Parse(s); return err },
			"Base62.Parse":  func() error { _, err := uid.Base62.Parse(s); return err },
			"UnmarshalText": func() error { return id.UnmarshalText([]byte(s)) },
			"UnmarshalJSON": func() error { return json.Unmarshal([]byte(`"`+s+`"`), &id) },
			"Scan":          func() error { return id.Scan(s) },
			"Scan of bytes": func() error { return id.Scan([]byte(s)) },
		} {
			if err := read(); err == nil || id != 7 {
				t.Errorf("%s of %q = %v and leaves %d, want an error and 7", name, s, err, id)
			}
		}
	}
}

// TestClockBackWhileWaiting: 3.F3, 4.O6, 7.F3. A caller waits for the next second when the clock
// goes back by an hour. The originals spin through that hour and hold the lock; here the waiting
// caller is told within a second, others at once, and a caller whose ctx ends before the next
// second does not wait for it.
func TestClockBackWhileWaiting(t *testing.T) {
	t.Parallel()
	now, last, spins := int64(10_000-3600), int64(10_000), 0
	for ; now <= last; now++ { // the original's wait for a second beyond the last, a step of the loop a second
		spins++
	}
	if spins < 3600 {
		t.Fatalf("the original spins for %d s, want at least the hour that the clock went back", spins)
	}
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{SeqStart: 1}, clock)
		if _, err := d.Fill(t.Context(), make([]uid.ID, 8192)); err != nil { // the second is used up
			t.Fatal(err)
		}
		begin := time.Now()
		ctx := within(t, 100*time.Millisecond)
		if _, err := d.Next(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begin) != 100*time.Millisecond {
			t.Errorf("Next with 100 ms to wait: %v after %v, want the deadline then", err, time.Since(begin))
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := d.Next(t.Context()); !errors.Is(err, uid.ErrClockBack) || time.Since(begin) > 2*time.Second {
				t.Errorf("the caller that waited: %v after %v, want ErrClockBack within 2 s", err, time.Since(begin))
			}
		})
		synctest.Wait() // it waits
		clock.Step(-time.Hour)
		again := time.Now()
		if _, err := d.Next(t.Context()); !errors.Is(err, uid.ErrClockBack) || time.Since(again) != 0 {
			t.Errorf("another caller: %v after %v, want ErrClockBack at once", err, time.Since(again))
		}
		wg.Wait()
	})
}

// TestHutoolClockLag: 4.O7, 4.F3. hutool's SystemClock keeps the millisecond in a variable that a
// timer refreshes: when the timer is late so are the ids. Default asks the clock for each id.
func TestHutoolClockLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter())}, uid.NewTestClock())
		for range 100 {
			refreshed := time.Now()
			time.Sleep(30 * time.Millisecond) // in which the timer does not get to run
			if lag := time.Since(refreshed); lag < 30*time.Millisecond {
				t.Fatalf("the original's stamp is %v behind; the model is wrong", lag)
			}
			if p := d.Parse(mustNext(t, d)); !p.Time.Equal(time.Now()) {
				t.Errorf("the id is stamped %v, want %v", p.Time, time.Now().UTC())
			}
		}
	})
}

// TestBaiduDefaultGenerator: 7.O4. A new second starts at sequence 0, a used-up one is followed by
// the next, and a clock behind the last second is refused with the distance.
func TestBaiduDefaultGenerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Baidu()), SeqStart: 1}, clock)
		first := d.Parse(mustNext(t, d))
		for i := 1; i <= 8192; i++ {
			p := d.Parse(mustNext(t, d))
			if want := first.Tick + int64(i/8192); p.Tick != want || p.Seq != int64(i%8192) {
				t.Fatalf("id %d is of second %d, sequence %d, want %d and %d", i, p.Tick, p.Seq, want, i%8192)
			}
		}
		time.Sleep(3 * time.Second)
		if p := d.Parse(mustNext(t, d)); p.Seq != 0 {
			t.Errorf("a new second starts at %d, want 0", p.Seq)
		}
		clock.Step(-3 * time.Second)
		var back *uid.ClockBackError
		if _, err := d.Next(t.Context()); !errors.As(err, &back) || back.By != 3*time.Second ||
			!strings.Contains(err.Error(), "3s") {
			t.Errorf("a clock 3 s behind: %v, want a refusal for 3 s", err)
		}
	})
}

// TestBaiduCachedRefill: 8.O3. The ring is full at the start, is left alone as long as half is
// there, and is full again after the take that left less. What a lane holds is taken from the ring
// already.
func TestBaiduCachedRefill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{RunLength: 1, MaxLag: time.Hour}, uid.NewTestClock())
		synctest.Wait()
		for _, tc := range []struct {
			take int
			left int64
		}{{0, 65536}, {32768, 32768}, {1, 65536}} {
			for range tc.take {
				mustNext(t, c)
			}
			synctest.Wait() // the caller composes a batch and wakes the padder for the rest
			if got := c.Stats().Len; got != tc.left {
				t.Errorf("after %d more takes %d ids are in the ring, want %d", tc.take, got, tc.left)
			}
		}
	})
}

// TestBaiduCachedPutFails: 8.F5. A put policy that throws leaves the original's mark "padding is
// running" set, and nothing fills the ring ever again. Here callers that only wait for the padder
// are served through ring after ring.
func TestBaiduCachedPutFails(t *testing.T) {
	t.Parallel()
	running, padded := false, 0
	pad := func() (err error) {
		if running {
			return nil
		}
		running = true
		padded++
		return errors.New("the put policy's") // and running stays
	}
	for range 10 {
		_ = pad() // nobody looks at it there either
	}
	if padded != 1 {
		t.Fatalf("the original pads %d times, want once", padded)
	}
	for name, o := range map[string]uid.Both{
		"Fail":    {PutPolicy: ringbuffer.PutFail},
		"PutFunc": {PutFunc: func(uid.ID) error { return ringbuffer.ErrFull }},
	} {
		synctest.Test(t, func(t *testing.T) {
			o.TakePolicy, o.BoostPower = uid.TakeWait, uid.NoBoost
			c := cachedAt(t, o, uid.NewTestClock())
			ids := make([]uid.ID, 8192)
			for range 20 {
				if n, err := c.Fill(t.Context(), ids); n != len(ids) || err != nil {
					t.Fatalf("%s: Fill() = %d, %v", name, n, err)
				}
				time.Sleep(3 * time.Second) // the padder fills up and is refused
			}
			if got := c.Stats().RejectsPut; got < 10 {
				t.Errorf("%s: %d puts were refused, want one each time that the ring was full", name, got)
			}
		})
	}
}

// TestBaiduCachedQuiet: 8.F14. The original writes a line at every take below the threshold, and
// its threads outlive the generator's use. Here takes write nothing, and a bubble fails if a
// goroutine is left after Close.
func TestBaiduCachedQuiet(t *testing.T) {
	t.Parallel()
	const ring, takes = 65536, 200_000
	lines, left := 0, ring
	for range takes {
		if left--; left < ring/2 {
			lines++
		}
		if left == 0 {
			left = ring
		}
	}
	if lines < takes/4 {
		t.Fatalf("the original writes %d lines; the model is wrong", lines)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := cachedAt(t, uid.Both{Logger: slog.New(slog.NewTextHandler(&log, nil))}, uid.NewTestClock())
		for range takes {
			mustNext(t, c)
		}
		mustClose(t, c)
		if n := bytes.Count(log.Bytes(), []byte("\n")); n != 2 {
			t.Errorf("%d takes wrote %d lines, want the claim's two: %s", takes, n, log.String())
		}
	})
}

// TestBaiduRestartAfterBurst: 8.F9, 8.F10. The original knows in memory only how far it has
// borrowed: started again with the same worker id it begins at the clock and repeats. Here Close
// says how far the ids reach, and the next window begins there.
func TestBaiduRestartAfterBurst(t *testing.T) {
	t.Parallel()
	const burst = 100 * 8192
	original := func(now int64) (first, last int64) { return now << 13, now<<13 + burst - 1 }
	_, last := original(1000)
	if first, _ := original(1001); first > last {
		t.Fatalf("the original starts again at %d after %d; the model is wrong", first, last)
	}
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(time.Hour)
		ids := make([]uid.ID, burst)
		var last uid.ID
		for range 3 {
			c := uid.Open(t, uid.NewCachedAt, a, uid.Both{}, uid.NewTestClock())
			mustFill(t, c, ids)
			if ids[0] <= last {
				t.Errorf("the restarted generator gives %d after %d", ids[0], last)
			}
			last = ids[burst-1]
			mustClose(t, c)
			time.Sleep(time.Second)
		}
	})
}

// TestLeafOverflow: 9.O2. A millisecond that is used up is followed by the next one, and each is
// handed out from its start to 4095 without a repetition.
func TestLeafOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := defaultAt(t, uid.Both{Layout: onBubble(compat.Twitter()), SeqStart: 100}, uid.NewTestClock())
		prev := d.Parse(mustNext(t, d))
		for range 20_000 {
			p := d.Parse(mustNext(t, d))
			follows := p.Tick == prev.Tick && p.Seq == prev.Seq+1
			begins := p.Tick == prev.Tick+1 && prev.Seq == 4095 && p.Seq < 100
			if !follows && !begins {
				t.Fatalf("%+v came after %+v", p, prev)
			}
			prev = p
		}
	})
}
