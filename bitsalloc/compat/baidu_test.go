package compat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// 1-28-22-13 in seconds: 8.51 years, 4,194,304 workers, 8,192 ids a second, counted from
// 1463673600.
func TestBaiduLayout(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Baidu())
	if got := a.Layout().Epoch.Unix(); got != 1463673600 {
		t.Errorf("epoch is %d, want 1463673600", got)
	}
	if a.Layout().Tick != time.Second || a.MaxWorker()+1 != 4194304 || a.MaxSeq()+1 != 8192 {
		t.Errorf("tick %v, %d workers, %d ids a tick, want 1s, 4194304 and 8192",
			a.Layout().Tick, a.MaxWorker()+1, a.MaxSeq()+1)
	}
	if years := float64(a.MaxTick()+1) / (365 * 24 * 3600); years < 8.51 || years > 8.52 {
		t.Errorf("lifetime is %.3f years, want 8.51", years)
	}
	id, err := a.Compose(100_000_000, 1234, 5678)
	if want := int64(100_000_000)<<35 | 1234<<13 | 5678; err != nil || id != want {
		t.Errorf("Compose = %d, %v, want %d", id, err, want)
	}
}

// The original demands that the widths and the sign bit make 64; here a shorter id is legal and a
// longer one is not.
func TestBaiduWidths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		time, worker, seq int
		ok                bool
	}{
		{28, 22, 13, true}, {29, 21, 13, true}, {31, 23, 9, true}, {31, 29, 3, true}, {25, 20, 18, true},
		{29, 22, 13, false}, {28, 23, 13, false}, {28, 22, 14, false},
		{28, 22, 12, true},
	} {
		_, err := bitsalloc.New(bitsalloc.Layout{TimeBits: tc.time, WorkerBits: tc.worker, SeqBits: tc.seq})
		if (err == nil) != tc.ok || (err != nil && !errors.Is(err, bitsalloc.ErrLayout)) {
			t.Errorf("%d-%d-%d: %v, want accepted: %v", tc.time, tc.worker, tc.seq, err, tc.ok)
		}
	}
}

// The last second of the original's default is 2024-11-20T13:24:15Z; at 13:24:16Z its counter would
// take a 29th bit and the id the sign. Composing refuses that second, and the default layout here
// holds it.
func TestBaiduExpiry(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Baidu())
	last := time.Date(2024, 11, 20, 13, 24, 15, 0, time.UTC)
	first := last.Add(time.Second)
	if got := a.Expires(); !got.Equal(first) {
		t.Errorf("Expires() = %v, want %v", got, first)
	}
	if got := a.TickAt(first.Add(-1)); got != a.MaxTick() {
		t.Errorf("TickAt(a nanosecond before) = %d, want MaxTick = %d", got, a.MaxTick())
	}
	if id, err := a.Compose(a.TickAt(last), 0, 0); err != nil || id != (1<<28-1)<<35 {
		t.Errorf("Compose in the last second = %d, %v, want %d", id, err, int64(1<<28-1)<<35)
	}
	if original := a.TickAt(first) << 35; original >= 0 {
		t.Errorf("the original's shift gives %d, want the negative id that this test is about", original)
	}
	if id, err := a.Compose(a.TickAt(first), 0, 0); !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose in the first second beyond = %d, %v, want ErrRange", id, err)
	}
	if d := mustNew(t, bitsalloc.Layout{}); d.Expires().Before(time.Date(2034, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the default layout expires at %v", d.Expires())
	}
}

// The original reads "2016-05-20" in the zone of each process and takes "2026-02-31" for
// 2026-03-03. The epoch here is an instant: equal in every zone, and as a text it has to name one.
func TestEpochTextNamesAnInstant(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2016-05-20", "2016-05-20T00:00:00", "2026-02-31T00:00:00Z",
		"2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z"} {
		if l, err := bitsalloc.ParseLayout(
			"28-22-13@" + text); !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), text) {
			t.Errorf("epoch %q reads as %v, %v, want an ErrLayout that quotes it", text, l.Epoch, err)
		}
	}
	shanghai, err := bitsalloc.ParseLayout("28-22-13@2016-05-20T00:00:00+08:00")
	if err != nil || shanghai != mustNew(t, compat.Baidu()).Layout() {
		t.Errorf("midnight at +08:00 reads as %v, %v, want Baidu's layout", shanghai, err)
	}
	utc, err := bitsalloc.ParseLayout("28-22-13@2016-05-19T16:00:00Z")
	if err != nil || utc != shanghai {
		t.Errorf("one instant in two zones reads as %v and %v, %v", utc, shanghai, err)
	}
}

// The original accepts worker id -1, which sets every bit above the sequence.
func TestBaiduWorkerBelowZero(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Baidu())
	if original := int64(7)<<35 | -1<<13 | 5; original != -8187 {
		t.Fatalf("the original's formula gives %d, want the wiped id -8187", original)
	}
	if id, err := a.Compose(7, -1, 5); id != 0 || !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose(7, -1, 5) = %d, %v, want ErrRange", id, err)
	}
}

// An epoch in the future makes the tick negative; composing refuses it where the original shifts it
// into the sign.
func TestEpochInTheFuture(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	a := mustNew(t, bitsalloc.Layout{Epoch: epoch})
	tick := a.TickAt(epoch.Add(-time.Hour))
	if tick != -3600 || tick<<35 >= 0 {
		t.Fatalf("an hour before the epoch is tick %d, want -3600", tick)
	}
	if id, err := a.Compose(tick, 0, 0); id != 0 || !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose an hour before the epoch = %d, %v, want ErrRange", id, err)
	}
}

// The original composes without check or mask: a field one too large is silently another id.
func TestComposeDoesNotSpill(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Baidu())
	original := func(tick, worker, seq int64) int64 { return tick<<35 | worker<<13 | seq }
	for _, tc := range []struct{ tick, worker, seq, as, bs, cs int64 }{
		{5, 6, 8192, 5, 7, 0},    // the sequence becomes the next worker's
		{4, 4194304, 9, 5, 0, 9}, // the worker becomes the next second's
	} {
		spilled, other := original(tc.tick, tc.worker, tc.seq), original(tc.as, tc.bs, tc.cs)
		if spilled != other {
			t.Fatalf("the original's formula gives %d and %d, want them equal", spilled, other)
		}
		if id, err := a.Compose(tc.tick, tc.worker, tc.seq); id != 0 || !errors.Is(err, bitsalloc.ErrRange) {
			t.Errorf("Compose(%d, %d, %d) = %d, %v, want ErrRange", tc.tick, tc.worker, tc.seq, id, err)
		}
	}
}

// The id and the text that the original's documentation shows, of the layout 29-21-13, and the text
// of an id of today.
func TestBaiduPublishedID(t *testing.T) {
	t.Parallel()
	id, err := mustNew(t, bitsalloc.Layout{}).Compose(86400, 7, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		l    bitsalloc.Layout
		id   int64
		want string
	}{
		{compat.BaiduSample(), 180363646902239241,
			`{"UID":"180363646902239241","timestamp":"2017-01-19 12:15:46","workerId":"4","sequence":"9"}`},
		{bitsalloc.Layout{}, id, fmt.Sprintf(
			`{"UID":"%d","timestamp":"2026-01-02 08:00:00","workerId":"7","sequence":"9"}`, id)},
	} {
		if got := compat.BaiduJSON(mustNew(t, tc.l), tc.id, time.FixedZone("CST", 8*3600)); got != tc.want {
			t.Errorf("BaiduJSON(%d) = %s, want %s", tc.id, got, tc.want)
		}
	}
}
