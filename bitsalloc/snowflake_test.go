package bitsalloc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// The epoch, to the millisecond.
func TestTwitterEpoch(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	if want := time.Date(2010, 11, 4, 1, 42, 54, 657e6, time.UTC); !a.TimeAt(0).Equal(want) {
		t.Errorf("tick 0 begins at %v, want %v", a.TimeAt(0), want)
	}
}

// A millisecond holds 4,096 ids, 0 to 4095; the published "0-4094, 4095 ids" is one short.
func TestTwitterSequenceSpace(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	var last int64 = -1
	for seq := range int64(4096) {
		id, err := a.Compose(1, 0, seq)
		if err != nil || id <= last {
			t.Fatalf("Compose(1, 0, %d) = %d, %v, want more than %d", seq, id, err, last)
		}
		last = id
	}
	if next, err := a.Compose(2, 0, 0); err != nil || last != 1<<22|4095 || next <= last {
		t.Errorf("the last id of tick 1 is %d and the first of tick 2 %d, %v", last, next, err)
	}
	if _, err := a.Compose(1, 0, 4096); !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose(1, 0, 4096): %v, want ErrRange", err)
	}
}

// Leaf's ids: 41-10-12, worker 0..1023, counted from 2010-11-04 09:42:54 at +08:00.
func TestLeafLayout(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	if got := a.MaxWorker(); got != 1023 {
		t.Errorf("MaxWorker() = %d, want 1023", got)
	}
	local := a.TimeAt(0).In(time.FixedZone("", 8*3600)).Format("2006-01-02 15:04:05 -07")
	if want := "2010-11-04 09:42:54 +08"; local != want {
		t.Errorf("tick 0 begins at %s, want %s", local, want)
	}
}
