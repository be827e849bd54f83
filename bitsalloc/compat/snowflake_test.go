package compat_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// twitterOriginal is the original's formula, unchecked as it is there.
func twitterOriginal(ms, center, worker, seq int64) int64 {
	return (ms-1288834974657)<<22 | center<<17 | worker<<12 | seq
}

// The shape of Twitter's ids, field by field, against its formula.
func TestTwitterFormula(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	for _, tc := range []struct{ ms, center, worker, seq int64 }{
		{1288834974657, 0, 0, 0},
		{1288834974657, 31, 31, 4095},
		{1288834974658, 31, 31, 0},
		{1288834974658, 31, 31, 1},
		{1764000000000, 3, 17, 42},
		{1288834974657 + 1<<41 - 1, 31, 31, 4095},
	} {
		want := twitterOriginal(tc.ms, tc.center, tc.worker, tc.seq)
		worker, err := compat.Worker(tc.center, tc.worker)
		if err != nil {
			t.Fatal(err)
		}
		id, err := a.Compose(a.TickAt(time.UnixMilli(tc.ms)), worker, tc.seq)
		if err != nil || id != want {
			t.Errorf("Compose of %+v = %d, %v, want %d", tc, id, err, want)
		}
		tick, both, seq, gene := a.Split(want)
		center, local := both>>5, both&31
		if got := a.TimeAt(tick).UnixMilli(); got != tc.ms || center != tc.center ||
			local != tc.worker || seq != tc.seq || gene != 0 {
			t.Errorf("Split(%d) = %d ms, %d, %d, %d, %d, want %+v", want, got, center, local, seq, gene, tc)
		}
	}
}

// One millisecond after the epoch, worker 31 of data centre 31 makes 8384512 and then 8384513.
func TestTwitterVector(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	worker, err := compat.Worker(31, 31)
	if err != nil {
		t.Fatal(err)
	}
	tick := a.TickAt(a.Layout().Epoch.Add(time.Millisecond))
	for seq, want := range []int64{8384512, 8384513} {
		if id, err := a.Compose(tick, worker, int64(seq)); err != nil || id != want {
			t.Errorf("id %d = %d, %v, want %d", seq, id, err, want)
		}
	}
}

// At 2080-07-10T17:30:30.209Z the original's ids turn negative; here the layout ends. Leaf and
// hutool have the same hole.
func TestSnowflakeExpiry(t *testing.T) {
	t.Parallel()
	end := time.Date(2080, 7, 10, 17, 30, 30, 209e6, time.UTC)
	if got := twitterOriginal(end.UnixMilli(), 1, 1, 0); got != -9223372036854640640 {
		t.Fatalf("the original's formula gives %d at the end, want -9223372036854640640", got)
	}
	a := mustNew(t, compat.Twitter())
	if !a.Expires().Equal(end) {
		t.Errorf("expires at %v, want %v", a.Expires(), end)
	}
	if id, err := a.Compose(a.TickAt(end.Add(-1)), 1023, 4095); err != nil || id != math.MaxInt64 {
		t.Errorf("the last id is %d, %v, want 2^63-1", id, err)
	}
	if id, err := a.Compose(a.TickAt(end), 33, 0); id != 0 || !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose at the end = %d, %v, want ErrRange", id, err)
	}
}

// hutool's decode methods: worker = id>>12 & 31, data centre = id>>17 & 31, date = (id>>22 &
// 2199023255551) + epoch, with the default epoch and with one of the user's own.
func TestHutoolDecode(t *testing.T) {
	t.Parallel()
	own := time.Date(2020, 1, 1, 0, 0, 0, 0, time.FixedZone("CST", 8*3600))
	for _, tc := range []struct {
		l     bitsalloc.Layout
		epoch int64
	}{
		{compat.Twitter(), 1288834974657},
		{compat.Snowflake(own), own.UnixMilli()},
	} {
		a := mustNew(t, tc.l)
		for _, id := range []int64{0, 1, 8384513, 1986435921014784000, math.MaxInt64, -9223372036854640640, -1} {
			tick, both, seq, _ := a.Split(id)
			center, worker := both>>5, both&31
			if want := id >> 12 & 31; worker != want {
				t.Errorf("%v: worker of %d is %d, want %d", tc.l, id, worker, want)
			}
			if want := id >> 17 & 31; center != want {
				t.Errorf("%v: data centre of %d is %d, want %d", tc.l, id, center, want)
			}
			if got, want := a.TimeAt(tick).UnixMilli(), id>>22&2199023255551+tc.epoch; got != want {
				t.Errorf("%v: date of %d is %d, want %d", tc.l, id, got, want)
			}
			if want := id & 4095; seq != want {
				t.Errorf("%v: sequence of %d is %d, want %d", tc.l, id, seq, want)
			}
		}
	}
}
