package bitsalloc_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// mustNew returns the Allocator of a layout that the test knows to be valid.
func mustNew(tb testing.TB, l bitsalloc.Layout) *bitsalloc.Allocator {
	tb.Helper()
	a, err := bitsalloc.New(l)
	if err != nil {
		tb.Fatalf("New(%v): %v", l, err)
	}
	return a
}

func TestZeroLayoutIsTheDefault(t *testing.T) {
	t.Parallel()
	a := mustNew(t, bitsalloc.Layout{})
	l := a.Layout()
	if l.TimeBits != 28 || l.WorkerBits != 22 || l.SeqBits != 13 || l.GeneBits != 0 || l.Tick != time.Second {
		t.Errorf("default layout is %v, want 28-22-13-0/1s", l)
	}
	if want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); !l.Epoch.Equal(want) {
		t.Errorf("default epoch is %v, want %v", l.Epoch, want)
	}
	if got, want := a.MaxTick(), int64(1<<28-1); got != want {
		t.Errorf("MaxTick() = %d, want %d", got, want)
	}
	if got, want := a.MaxWorker(), int64(4194303); got != want {
		t.Errorf("MaxWorker() = %d, want %d", got, want)
	}
	if got, want := a.MaxSeq(), int64(8191); got != want {
		t.Errorf("MaxSeq() = %d, want %d", got, want)
	}
	if got, want := a.MaxID(), int64(math.MaxInt64); got != want {
		t.Errorf("MaxID() = %d, want %d", got, want)
	}
	if got, want := a.Expires(), time.Date(2034, 7, 4, 21, 24, 16, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Expires() = %v, want %v", got, want)
	}
}

// Each field has its default by itself, except that the three widths stand or fall together.
func TestDefaultsOfSingleFields(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2020, 2, 3, 4, 5, 6, 7, time.FixedZone("east", 8*3600))
	for _, tc := range []struct {
		name string
		in   bitsalloc.Layout
		want string
	}{
		{"epoch only", bitsalloc.Layout{Epoch: epoch}, "28-22-13-0/1s@2020-02-02T20:05:06.000000007Z"},
		{"tick only", bitsalloc.Layout{Tick: 250 * time.Millisecond}, "28-22-13-0/250ms@2026-01-01T00:00:00Z"},
		{"widths only", bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 12},
			"41-10-12-0/1s@2026-01-01T00:00:00Z"},
		{"no worker", bitsalloc.Layout{TimeBits: 41, SeqBits: 12}, "41-0-12-0/1s@2026-01-01T00:00:00Z"},
		{"gene", bitsalloc.Layout{TimeBits: 30, WorkerBits: 3, SeqBits: 9, GeneBits: 4},
			"30-3-9-4/1s@2026-01-01T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := mustNew(t, tc.in).Layout().String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// The epoch is the instant: zone and monotonic reading leave no trace in the layout.
func TestEpochIsAnInstant(t *testing.T) {
	t.Parallel()
	monotonic := time.Now()
	zoned := monotonic.Round(0).In(time.FixedZone("west", -7*3600))
	a, b := mustNew(t, bitsalloc.Layout{Epoch: monotonic}), mustNew(t, bitsalloc.Layout{Epoch: zoned})
	if a.Layout() != b.Layout() {
		t.Errorf("layouts differ: %v and %v", a.Layout(), b.Layout())
	}
	if got := a.TickAt(zoned.Add(5 * time.Second)); got != 5 {
		t.Errorf("TickAt(epoch + 5 s) = %d, want 5", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   bitsalloc.Layout
		want []string // field, value and bound
	}{
		{"no time", bitsalloc.Layout{WorkerBits: 22, SeqBits: 13}, []string{"TimeBits is 0", "1..62"}},
		{"negative time", bitsalloc.Layout{TimeBits: -1, WorkerBits: 22, SeqBits: 13},
			[]string{"TimeBits is -1", "1..62"}},
		{"all time", bitsalloc.Layout{TimeBits: 63, SeqBits: 1}, []string{"TimeBits is 63", "1..62"}},
		{"negative worker", bitsalloc.Layout{TimeBits: 28, WorkerBits: -1, SeqBits: 13},
			[]string{"WorkerBits is -1", "0..61"}},
		{"all worker", bitsalloc.Layout{TimeBits: 1, WorkerBits: 62, SeqBits: 1},
			[]string{"WorkerBits is 62", "0..61"}},
		{"no sequence", bitsalloc.Layout{TimeBits: 41}, []string{"SeqBits is 0", "1..62"}},
		{"negative sequence", bitsalloc.Layout{TimeBits: 41, SeqBits: -12}, []string{"SeqBits is -12", "1..62"}},
		{"negative gene", bitsalloc.Layout{GeneBits: -1}, []string{"GeneBits is -1", "0..61"}},
		{"gene with the default widths", bitsalloc.Layout{GeneBits: 1}, []string{"28+22+13+1 = 64", "at most 63"}},
		{"one too many", bitsalloc.Layout{TimeBits: 29, WorkerBits: 22, SeqBits: 13},
			[]string{"29+22+13+0 = 64", "at most 63"}},
		{"sum beyond an int", bitsalloc.Layout{TimeBits: math.MaxInt, WorkerBits: 2,
			SeqBits: math.MaxInt}, []string{"TimeBits is", "1..62"}},
		{"sum wraps to a small one", bitsalloc.Layout{TimeBits: 41, WorkerBits: math.MinInt,
			SeqBits: math.MinInt}, []string{"WorkerBits is -", "0..61"}},
		{"worker only", bitsalloc.Layout{WorkerBits: 22}, []string{"TimeBits is 0", "1..62"}},
		{"sequence only", bitsalloc.Layout{SeqBits: 13}, []string{"TimeBits is 0", "1..62"}},
		{"negative first tick", bitsalloc.Layout{FirstTick: -1}, []string{"FirstTick is -1", "0..268435455"}},
		{"first tick beyond the time bits", bitsalloc.Layout{FirstTick: 1 << 28},
			[]string{"FirstTick is 268435456", "0..268435455"}},
		{"negative tick", bitsalloc.Layout{Tick: -time.Millisecond}, []string{"Tick is -1ms", "above 0"}},
		{"epoch before the calendar", bitsalloc.Layout{Epoch: time.Date(0, 12, 31, 0, 0, 0, 0,
			time.UTC)}, []string{"Epoch", "year 0", "1..9999"}},
		{"epoch after the calendar", bitsalloc.Layout{Epoch: time.Date(10000, 1, 1, 0, 0, 0, 0,
			time.UTC)}, []string{"Epoch", "year 10000", "1..9999"}},
		{"JavaScript without room", compat.Twitter().JavaScript(12), []string{"SeqBits is 0", "1..62"}},
		{"JavaScript with no worker id", compat.Twitter().JavaScript(math.MinInt),
			[]string{"WorkerBits is -", "0..61"}},
		{"gene without room", bitsalloc.Layout{}.WithGene(13), []string{"SeqBits is 0", "1..62"}},
		{"gene taken away twice", compat.ShardGene().WithGene(-2), []string{"GeneBits is -2", "0..61"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, err := bitsalloc.New(tc.in)
			if a != nil || !errors.Is(err, bitsalloc.ErrLayout) {
				t.Fatalf("New = %v, %v, want an error that wraps ErrLayout", a, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

// Every division of the 63 bits works, up to the ones where one field has nearly all.
func TestExtremeWidths(t *testing.T) {
	t.Parallel()
	for _, l := range []bitsalloc.Layout{
		{TimeBits: 62, SeqBits: 1},
		{TimeBits: 1, SeqBits: 62},
		{TimeBits: 1, WorkerBits: 61, SeqBits: 1},
		{TimeBits: 1, SeqBits: 1, GeneBits: 61},
		{TimeBits: 1, SeqBits: 1},
		{TimeBits: 61, SeqBits: 1, GeneBits: 1, Tick: 1<<63 - 1},
		{TimeBits: 62, SeqBits: 1, Tick: 1},
		{TimeBits: 62, SeqBits: 1, FirstTick: 1<<62 - 1},
	} {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, l)
			id, err := a.Compose(a.MaxTick(), a.MaxWorker(), a.MaxSeq())
			if err != nil || id != a.MaxID()-maxGene(a) {
				t.Fatalf("Compose of the maxima = %d, %v, want %d", id, err, a.MaxID()-maxGene(a))
			}
			tick, worker, seq, gene := a.Split(a.MaxID())
			if tick != a.MaxTick() || worker != a.MaxWorker() || seq != a.MaxSeq() || gene != maxGene(a) {
				t.Errorf("Split(MaxID) = %d, %d, %d, %d, want the maxima %d, %d, %d, %d",
					tick, worker, seq, gene, a.MaxTick(), a.MaxWorker(), a.MaxSeq(), maxGene(a))
			}
			bits := l.TimeBits + l.WorkerBits + l.SeqBits + l.GeneBits
			if got := a.MaxID(); got < 0 || uint64(got) != 1<<bits-1 {
				t.Errorf("MaxID() = %d, want 2^%d-1", got, bits)
			}
		})
	}
}

// Every preset has a variant whose ids a float64, which is what JavaScript has, holds exactly.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in     bitsalloc.Layout
		worker int
		want   string
	}{
		{compat.Twitter(), 5, "41-5-7-0/1ms@2010-11-04T01:42:54.657Z"},
		{compat.Twitter(), 4, "41-4-8-0/1ms@2010-11-04T01:42:54.657Z"},
		{compat.Twitter(), 6, "41-6-6-0/1ms@2010-11-04T01:42:54.657Z"},
		{compat.Twitter(), 0, "41-0-12-0/1ms@2010-11-04T01:42:54.657Z"},
		{compat.ShardGene(), 4, "41-4-6-2/1ms@2017-03-10T02:06:50.226Z"},
		{compat.Baidu(), 12, "28-12-13-0/1s@2016-05-19T16:00:00Z"},
		{compat.BaiduSample(), 11, "29-11-13-0/1s@2016-09-19T16:00:00Z"},
		{bitsalloc.Layout{}, 12, "28-12-13-0/1s@2026-01-01T00:00:00Z"},
		{bitsalloc.Layout{}.WithGene(4), 12, "28-12-9-4/1s@2026-01-01T00:00:00Z"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, tc.in.JavaScript(tc.worker))
			if got := a.Layout().String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got, want := a.MaxID(), int64(1<<53-1); got != want {
				t.Fatalf("MaxID() = %d, want Number.MAX_SAFE_INTEGER = %d", got, want)
			}
			for _, id := range []int64{a.MaxID(), a.MaxID() - 1} {
				if int64(float64(id)) != id {
					t.Errorf("%d does not survive a float64", id)
				}
			}
		})
	}
}

// A gene takes its room from the sequence; the fields above stay where they are.
func TestWithGene(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   bitsalloc.Layout
		bits int
		want string
	}{
		{bitsalloc.Layout{}, 4, "28-22-9-4/1s@2026-01-01T00:00:00Z"},
		{compat.Twitter(), 4, "41-10-8-4/1ms@2010-11-04T01:42:54.657Z"},
		{compat.ShardGene(), 4, "41-10-8-4/1ms@2017-03-10T02:06:50.226Z"},
		{compat.ShardGene(), 2, "41-10-10-2/1ms@2017-03-10T02:06:50.226Z"},
		{compat.ShardGene(), 0, "41-10-12-0/1ms@2017-03-10T02:06:50.226Z"},
	} {
		a := mustNew(t, tc.in.WithGene(tc.bits))
		if got := a.Layout().String(); got != tc.want {
			t.Errorf("%v.WithGene(%d) is %s, want %s", tc.in, tc.bits, got, tc.want)
		}
		id, err := a.Compose(1, 2, 0)
		want, _ := mustNew(t, tc.in).Compose(1, 2, 0)
		if err != nil || id != want {
			t.Errorf("%v: Compose(1, 2, 0) = %d, %v, want %d as without the gene", a.Layout(), id, err, want)
		}
	}
}
