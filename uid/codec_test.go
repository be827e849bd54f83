package uid_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestCodec takes words of many layouts there and back: a word stands for the id that Compose gives, the words of a run are
// consecutive, and one beyond its end has something in the headroom.
func TestCodec(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range []bitsalloc.Layout{
		{}, bitsalloc.Twitter(), bitsalloc.Baidu(), bitsalloc.ShardGene(),
		{TimeBits: 62, SeqBits: 1}, {TimeBits: 1, SeqBits: 62}, {TimeBits: 1, WorkerBits: 61, SeqBits: 1}, {TimeBits: 31, WorkerBits: 31, SeqBits: 1},
		{TimeBits: 40, WorkerBits: 1, SeqBits: 22}, {TimeBits: 26, WorkerBits: 1, SeqBits: 36}, {TimeBits: 32, WorkerBits: 8, SeqBits: 13},
		{TimeBits: 28, WorkerBits: 1, SeqBits: 1, GeneBits: 33}, {TimeBits: 1, SeqBits: 1, GeneBits: 61}, {TimeBits: 32, WorkerBits: 1, SeqBits: 10, GeneBits: 20},
	} {
		a := allocator(t, l)
		l = a.Layout()
		for runBits := max(1, l.SeqBits-24); runBits <= l.SeqBits; runBits++ {
			k := uid.NewCodec(l.TimeBits, l.WorkerBits+l.SeqBits+l.GeneBits, l.SeqBits, runBits, l.GeneBits)
			headroom, offMask, _, ticks := k.Fields()
			name := fmt.Sprintf("%v, runs of 2^%d", l, runBits)
			if counter := bits.OnesCount64(headroom | offMask); counter < 32 || bits.OnesCount64(headroom) < 1 || headroom&offMask != 0 {
				t.Fatalf("%s: headroom %x, offset %x: want 32 bits together, and room", name, headroom, offMask)
			}
			if ticks < 256 && ticks <= a.MaxTick() {
				t.Fatalf("%s: a word tells %d ticks apart", name, ticks)
			}
			for range 50 {
				rel := r.Int64N(min(ticks, a.MaxTick()+1))
				tick0 := int64(0)
				if rest := a.MaxTick() - rel; rest > 0 {
					tick0 = r.Int64N(rest)
				}
				worker, seq := r.Int64N(a.MaxWorker()+1), r.Int64N(a.MaxSeq()+1)
				base, err := a.Compose(tick0, worker, 0)
				if err != nil {
					t.Fatal(err)
				}
				want, err := a.Compose(tick0+rel, worker, seq)
				if err != nil {
					t.Fatal(err)
				}
				w := k.Word(rel, seq)
				if got := k.GeneID(base, w); got != want {
					t.Fatalf("%s: the word of (%d, %d) stands for %d, want %d", name, rel, seq, got, want)
				}
				if got := k.PlainID(base, w); l.GeneBits == 0 && got != want {
					t.Fatalf("%s: the plain id is %d, want %d", name, got, want)
				}
				if k.Tick(w) != rel || k.Left(w) != int64(offMask)-seq&int64(offMask) {
					t.Fatalf("%s: tick %d, %d left", name, k.Tick(w), k.Left(w))
				}
				// From the last id on, every add fails, and leaves tick and run as they are until the headroom is full.
				end := w | offMask
				for _, over := range []uint64{1, 2, offMask + 1, headroom &^ (headroom & -headroom)} {
					if over == 0 {
						continue
					}
					if k.Left(end+over) != 0 || (end+over)&headroom == 0 || k.Tick(end+over) != rel {
						t.Fatalf("%s: %d beyond the end: %x still counts as an id", name, over, end+over)
					}
				}
				if k.Left(k.UsedUp()) != 0 || k.Left(k.UsedUp()+1) != 0 {
					t.Fatalf("%s: a used-up word counts as one with ids", name)
				}
			}
		}
	}
}
