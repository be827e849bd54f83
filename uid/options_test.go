package uid_test

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestBadOptions checks that every error names the field, the value and the bound.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    uid.Both
		want []string
	}{
		{uid.Both{BoostPower: -2}, []string{"BoostPower", "-2", "24"}},
		{uid.Both{BoostPower: 25}, []string{"BoostPower", "25", "24"}},
		{uid.Both{BoostPower: 24, RunLength: 1}, []string{"BoostPower", "24",
			fmt.Sprint(uid.MaxSlots)}},
		{uid.Both{PaddingFactor: 101}, []string{"PaddingFactor", "101", "100"}},
		{uid.Both{PaddingFactor: -1}, []string{"PaddingFactor", "-1"}},
		{uid.Both{RunLength: 3}, []string{"RunLength", "3", "power of two"}},
		{uid.Both{RunLength: 16384}, []string{"RunLength", "16384", "8192"}},
		{uid.Both{RunLength: -8}, []string{"RunLength", "-8"}},
		{uid.Both{RunLength: math.MinInt}, []string{"RunLength", fmt.Sprint(math.MinInt)}}, // one bit, too
		{uid.Both{Lanes: 3}, []string{"Lanes", "3", "power of two"}},
		{uid.Both{Lanes: 2048}, []string{"Lanes", "2048", "1024"}},
		{uid.Both{Lanes: -2}, []string{"Lanes", "-2"}},
		{uid.Both{SeqStart: -1}, []string{"SeqStart", "-1", "8192"}},
		{uid.Both{SeqStart: 8193}, []string{"SeqStart", "8193", "8192"}},
		{uid.Both{MaxLag: time.Second}, []string{"MaxLag", "1s", "1.004s"}},
		{uid.Both{MaxLag: -time.Second}, []string{"MaxLag", "-1s"}},
		{uid.Both{MaxLead: -time.Second}, []string{"MaxLead", "-1s", "0"}},
		{uid.Both{ScheduleInterval: time.Microsecond}, []string{"ScheduleInterval", "1µs", "1ms"}},
		{uid.Both{ScheduleInterval: time.Second}, []string{"ScheduleInterval", "1s", "500ms"}},
		{uid.Both{PutPolicy: 9}, []string{"PutPolicy", "9"}},
		{uid.Both{TakePolicy: 9}, []string{"TakePolicy", "9"}},
		{uid.Both{Rollback: uid.RollbackWait(0)}, []string{"Rollback", "0s"}},
		{uid.Both{Rollback: uid.RollbackHold(-time.Second)}, []string{"Rollback", "-1s"}},
		{uid.Both{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 20, SeqBits: 10}},
			[]string{"Layout", "70", "63"}},
		{uid.Both{Layout: bitsalloc.Layout{Epoch: time.Now().Add(time.Hour)}}, []string{"Layout.Epoch"}},
	} {
		for name, make := range kinds {
			g, err := make(t.Context(), claimtest.Static(1), &tc.o, uid.NewTestClock())
			if err == nil {
				g.Close()
				t.Errorf("%s: %+v was accepted", name, tc.o)
				continue
			}
			if !errors.Is(err, uid.ErrOptions) {
				t.Errorf("%s: %v does not wrap ErrOptions", name, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q does not name %q", name, err, w)
				}
			}
		}
	}
	_, err := uid.NewCached(t.Context(), claimtest.Static(1),
		&uid.Options{Layout: bitsalloc.Layout{TimeBits: 63, WorkerBits: 1}})
	if !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("%v does not wrap ErrLayout", err)
	}
}

// TestOddLayouts runs layouts at the edges of what is allowed.
func TestOddLayouts(t *testing.T) {
	t.Parallel()
	year := time.Now().UTC().Year()
	epoch := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, l := range []bitsalloc.Layout{
		{TimeBits: 62, SeqBits: 1, Epoch: epoch},
		{TimeBits: 31, WorkerBits: 31, SeqBits: 1, Epoch: epoch},
		{TimeBits: 40, WorkerBits: 1, SeqBits: 22, Epoch: epoch},
		{TimeBits: 26, WorkerBits: 1, SeqBits: 36, Epoch: epoch},
		{TimeBits: 10, WorkerBits: 1, SeqBits: 52, Tick: 24 * time.Hour, Epoch: epoch},
		{TimeBits: 60, WorkerBits: 1, SeqBits: 2, Tick: time.Nanosecond, Epoch: epoch},
		{TimeBits: 32, WorkerBits: 8, SeqBits: 13, Epoch: epoch}, // 53 bits
		{TimeBits: 32, WorkerBits: 1, SeqBits: 10, GeneBits: 20, Epoch: epoch},
		{TimeBits: 28, WorkerBits: 1, SeqBits: 1, GeneBits: 33, Epoch: epoch},
		{TimeBits: 41, WorkerBits: 10, SeqBits: 12, Tick: time.Millisecond, Epoch: epoch},
	} {
		for _, lanes := range []int{1, 4} {
			t.Run(fmt.Sprintf("%v/lanes=%d", l, lanes), func(t *testing.T) {
				t.Parallel()
				c, err := uid.NewCached(t.Context(), claimtest.Static(1), &uid.Options{Layout: l, Lanes: lanes})
				if l.WorkerBits == 0 {
					c, err = uid.NewCached(t.Context(), claimtest.Static(0), &uid.Options{Layout: l, Lanes: lanes})
				}
				if bits.UintSize == 32 && l.SeqBits > 50 {
					// No int holds a run that is long enough.
					if !errors.Is(err, uid.ErrOptions) {
						t.Errorf("on 32 bits: %v, want ErrOptions", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				seen := map[uid.ID]bool{}
				ids := make([]uid.ID, 1000)
				for i := range 20 {
					var n int
					if i%2 == 0 {
						ids[0], err = c.Next(t.Context())
						n = 1
					} else {
						n, err = c.Fill(t.Context(), ids)
					}
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range ids[:n] {
						if id <= 0 || seen[id] {
							t.Fatalf("id %d: not positive, or seen before", id)
						}
						seen[id] = true
						p := c.Parse(id)
						if lag := time.Since(p.Time); lag > time.Second+2*max(time.Second, c.Stats().Layout.Tick) {
							t.Fatalf("%+v is stamped %v behind", p, lag)
						}
						if l.WorkerBits > 0 && p.Worker != 1 {
							t.Fatalf("%+v is of another worker", p)
						}
					}
				}
			})
		}
	}
}

// TestRingTooLarge asks for more slots than a ring can have, which are fewer where an int has 32
// bits: no claim is made for that.
func TestRingTooLarge(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	o := &uid.Options{RunLength: 1, BoostPower: uid.NoBoost,
		Layout: bitsalloc.Layout{TimeBits: 31, WorkerBits: 1, SeqBits: bits.Len(uid.MaxSlots)}}
	_, err := uid.NewCached(t.Context(), m, o)
	if n := len(m.Calls()); !errors.Is(err, uid.ErrOptions) || n != 0 {
		t.Errorf("%v after %d calls of the assigner, want ErrOptions and none", err, n)
	}
}
