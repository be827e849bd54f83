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

func TestCompose(t *testing.T) {
	t.Parallel()
	a := mustNew(t, bitsalloc.Layout{})
	g := mustNew(t, bitsalloc.Layout{TimeBits: 28, WorkerBits: 20, SeqBits: 9, GeneBits: 4}) // 61 bits
	odd := mustNew(t, bitsalloc.Layout{TimeBits: 9, WorkerBits: 6, SeqBits: 4, GeneBits: 3}) // odd shifts
	for _, tc := range []struct {
		a                 *bitsalloc.Allocator
		tick, worker, seq int64
		want              int64
	}{
		{a, 0, 0, 0, 0},
		{a, 0, 0, 1, 1},
		{a, 0, 0, 8191, 8191},
		{a, 0, 1, 0, 8192},
		{a, 0, 4194303, 0, 4194303 << 13},
		{a, 1, 0, 0, 1 << 35},
		{a, 268435455, 4194303, 8191, math.MaxInt64},
		{g, 0, 0, 1, 16},
		{g, 0, 1, 0, 1 << 13},
		{g, 1, 0, 0, 1 << 33},
		{g, 1<<28 - 1, 1<<20 - 1, 511, 1<<61 - 16},
		{odd, 1, 2, 5, 1<<13 | 2<<7 | 5<<3},
	} {
		got, err := tc.a.Compose(tc.tick, tc.worker, tc.seq)
		if err != nil || got != tc.want {
			t.Errorf("%v: Compose(%d, %d, %d) = %d, %v, want %d", tc.a.Layout(), tc.tick, tc.worker,
				tc.seq, got, err, tc.want)
		}
		tick, worker, seq, gene := tc.a.Split(got)
		if tick != tc.tick || worker != tc.worker || seq != tc.seq || gene != 0 {
			t.Errorf("%v: Split(%d) = %d, %d, %d, %d, want %d, %d, %d, 0", tc.a.Layout(), got, tick,
				worker, seq, gene, tc.tick, tc.worker, tc.seq)
		}
	}
}

// The original shifts and ors whatever it gets, so that a worker id of -1 wipes out time and worker
// and a sequence one too large is the next worker's.
func TestComposeRefuses(t *testing.T) {
	t.Parallel()
	a := mustNew(t, bitsalloc.Layout{})
	for _, tc := range []struct {
		name              string
		tick, worker, seq int64
		want              string
	}{
		{"tick below", -1, 0, 0, "tick is -1, want 0..268435455"},
		{"tick above", 1 << 28, 0, 0, "tick is 268435456, want 0..268435455"},
		{"tick far below", math.MinInt64, 0, 0, "tick is -9223372036854775808, want 0..268435455"},
		{"tick far above", math.MaxInt64, 0, 0, "tick is 9223372036854775807, want 0..268435455"},
		{"worker below", 1, -1, 0, "worker is -1, want 0..4194303"},
		{"worker above", 1, 4194304, 0, "worker is 4194304, want 0..4194303"},
		{"seq below", 1, 1, -1, "seq is -1, want 0..8191"},
		{"seq above", 1, 1, 8192, "seq is 8192, want 0..8191"},
		{"the first of several", 1, -7, 8192, "worker is -7, want 0..4194303"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			id, err := a.Compose(tc.tick, tc.worker, tc.seq)
			if id != 0 || !errors.Is(err, bitsalloc.ErrRange) {
				t.Fatalf("Compose = %d, %v, want 0 and an error that wraps ErrRange", id, err)
			}
			if !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("error is %q, want it to end in %q", err, tc.want)
			}
		})
	}
}

// Ids order as (tick, worker, seq) does: a greater tick wins whatever the rest.
func TestIdsOrderByTime(t *testing.T) {
	t.Parallel()
	for _, l := range presets() {
		a := mustNew(t, l)
		last, err := a.Compose(41, a.MaxWorker(), a.MaxSeq())
		if err != nil {
			t.Fatal(err)
		}
		first, err := a.Compose(42, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if first-last != 1+maxGene(a) {
			t.Errorf("%v: the first id of tick 42 is %d, the last of tick 41 %d, want them to be "+
				"neighbours", l, first, last)
		}
	}
}

// Split looks at the layout's bits alone.
func TestSplitIgnoresHighBits(t *testing.T) {
	t.Parallel()
	a := mustNew(t, bitsalloc.Layout{TimeBits: 10, WorkerBits: 4, SeqBits: 3, GeneBits: 2})
	id, err := a.Compose(700, 9, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, high := range []int64{0, 1 << 19, 1 << 62, math.MinInt64, -1 << 19} {
		tick, worker, seq, gene := a.Split(id | 3 | high)
		if tick != 700 || worker != 9 || seq != 5 || gene != 3 {
			t.Errorf("Split(%#x) = %d, %d, %d, %d, want 700, 9, 5, 3", uint64(id|3|high), tick, worker, seq, gene)
		}
	}
}

// What is called per id allocates nothing.
func TestNoAllocation(t *testing.T) {
	a := mustNew(t, compat.ShardGene())
	now := time.Date(2026, 7, 8, 9, 10, 11, 12, time.UTC)
	far := time.Unix(1<<50, 1)
	var sink int64
	for name, f := range map[string]func(){
		"Compose":     func() { id, _ := a.Compose(7, 8, 9); sink += id },
		"ComposeGene": func() { id, _ := a.ComposeGene(7, 8, 9, bitsalloc.GeneOf(11, 2)); sink += id },
		"Split":       func() { tick, worker, seq, gene := a.Split(sink); sink += tick + worker + seq + gene },
		"TickAt":      func() { sink += a.TickAt(now) + a.TickAt(far) },
		"TimeAt":      func() { sink += a.TimeAt(sink).Unix() },
		"Expires":     func() { sink += a.Expires().Unix() },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s allocates %v times, want 0", name, got)
		}
	}
}

// FuzzCompose: what Compose accepts, Split gives back; what it refuses lies outside; and no two
// field values share an id.
func FuzzCompose(f *testing.F) {
	f.Add(28, 22, 13, 0, int64(1), int64(2), int64(3), int64(4))
	f.Add(41, 10, 10, 2, int64(1<<41-1), int64(1023), int64(1023), int64(-1))
	f.Add(1, 0, 1, 61, int64(1), int64(0), int64(1), int64(math.MaxInt64))
	f.Add(62, 0, 1, 0, int64(1<<62-1), int64(0), int64(2), int64(0))
	f.Fuzz(func(t *testing.T, timeBits, workerBits, seqBits, geneBits int, tick, worker, seq, key int64) {
		a, err := bitsalloc.New(bitsalloc.Layout{TimeBits: timeBits, WorkerBits: workerBits,
			SeqBits: seqBits, GeneBits: geneBits})
		if err != nil {
			if !errors.Is(err, bitsalloc.ErrLayout) {
				t.Fatalf("New: %v does not wrap ErrLayout", err)
			}
			return
		}
		geneBits = a.Layout().GeneBits
		fits := tick >= 0 && tick <= a.MaxTick() && worker >= 0 && worker <= a.MaxWorker() &&
			seq >= 0 && seq <= a.MaxSeq()
		id, err := a.ComposeGene(tick, worker, seq, bitsalloc.GeneOf(key, geneBits))
		if (err == nil) != fits {
			t.Fatalf("%v: ComposeGene(%d, %d, %d) = %d, %v, want an error: %v",
				a.Layout(), tick, worker, seq, id, err, !fits)
		}
		if err != nil {
			if !errors.Is(err, bitsalloc.ErrRange) {
				t.Fatalf("%v does not wrap ErrRange", err)
			}
			return
		}
		if id < 0 || id > a.MaxID() {
			t.Fatalf("%v: id %d is outside 0..%d", a.Layout(), id, a.MaxID())
		}
		gotTick, gotWorker, gotSeq, gene := a.Split(id)
		if gotTick != tick || gotWorker != worker || gotSeq != seq || gene != key&maxGene(a) {
			t.Fatalf("%v: Split(%d) = %d, %d, %d, %d, want %d, %d, %d, %d", a.Layout(), id,
				gotTick, gotWorker, gotSeq, gene, tick, worker, seq, key&maxGene(a))
		}
		plain, err := a.Compose(tick, worker, seq)
		if err != nil || plain|gene != id || plain&maxGene(a) != 0 {
			t.Fatalf("%v: Compose(%d, %d, %d) = %d, %v, want %d without the gene",
				a.Layout(), tick, worker, seq, plain, err, id)
		}
	})
}

// maxGene returns the highest gene.
func maxGene(a *bitsalloc.Allocator) int64 { return 1<<a.Layout().GeneBits - 1 }
