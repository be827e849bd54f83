package uid_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// FuzzOptions makes generators with anything in their options. What is refused is refused with a
// documented error; what is accepted hands out different ids of the right worker that come apart
// again, or an error, and can be closed.
func FuzzOptions(f *testing.F) {
	f.Add(0, 0, 0, 0, int64(0), int64(0), 0, 0, 0, 0, int64(0), int64(0), int64(0))
	f.Add(41, 10, 12, 0, int64(time.Millisecond), int64(0), uid.NoBoost, 100, 1, 8,
		int64(time.Second), int64(time.Second), int64(1))
	f.Add(1, 0, 62, 0, int64(1), int64(1), 30, 1, 1<<20, 1024, int64(1), int64(-1), int64(1)<<62)
	f.Add(40, 8, 4, 4, int64(time.Hour), int64(86400), 1, 50, 2, -1, int64(0), int64(0), int64(3))
	f.Add(62, 0, 1, 0, int64(1<<62), int64(-1<<62), -2, -1, -1, -2, int64(-1), int64(1<<62), int64(-1))
	f.Fuzz(func(t *testing.T, timeBits, workerBits, seqBits, geneBits int, tick, epoch int64, boost,
		padding, run, lanes int, lag, lead, start int64) {
		o := &uid.Both{
			Layout: bitsalloc.Layout{TimeBits: timeBits, WorkerBits: workerBits, SeqBits: seqBits, GeneBits: geneBits,
				Tick: time.Duration(tick)},
			BoostPower: boost, PaddingFactor: padding, RunLength: run, Lanes: lanes, MaxLag: time.Duration(lag),
			MaxLead: time.Duration(lead), SeqStart: start, TakePolicy: uid.TakeReject,
		}
		if epoch != 0 {
			o.Layout.Epoch = time.Unix(epoch, 0)
		}
		const largest = 1 << 16 // ring slots: larger ones are only slow to make
		if boost > 12 || lanes > largest || run > 0 && seqBits < 40 && seqBits > 0 &&
			(1<<seqBits)/run<<max(boost, 3) > largest {
			return // a ring that takes the fuzzer's time
		}
		for name, make := range map[string]func() (uid.Generator, error){
			"cached": func() (uid.Generator, error) {
				return uid.NewCached(t.Context(), claimtest.Static(0), o.Cached())
			},
			"default": func() (uid.Generator, error) {
				return uid.NewDefault(t.Context(), claimtest.Static(0), o.Default())
			},
		} {
			g, err := make()
			if err != nil {
				if !errors.Is(err, uid.ErrOptions) && !errors.Is(err, bitsalloc.ErrLayout) &&
					!errors.Is(err, uid.ErrExhausted) {
					t.Errorf("%s: %v, want a documented error", name, err)
				}
				continue
			}
			takeSome(t, name, g)
			if err := g.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
	})
}

// takeSome takes a few ids, if there are any.
func takeSome(t *testing.T, name string, g uid.Generator) {
	t.Helper()
	ctx := within(t, 10*time.Millisecond)
	seen := map[uid.ID]bool{}
	for range 20 {
		id, err := g.Next(ctx)
		if err != nil {
			return // the lead, the time bits, or no time for a tick that long
		}
		if id < 0 || seen[id] || g.Parse(id).Worker != 0 || g.Parse(id).ID != id {
			t.Errorf("%s: id %d, %+v: negative, not worker 0's, or there before: %v", name, id, g.Parse(id), seen[id])
		}
		seen[id] = true
	}
}
