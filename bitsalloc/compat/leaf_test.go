package compat_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc/compat"
)

// The decode endpoint's formulas, as they are written there, against DecodeLeaf and Split.
func TestDecodeLeaf(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	for _, id := range []int64{0, 1, 4095, 4096, 8384513, 1<<22 - 1, 1 << 22, 1986435921014784000, math.MaxInt64} {
		wantTime := id>>22 + 1288834974657
		wantWorker := id>>12 ^ id>>22<<10
		wantSeq := id ^ id>>12<<12
		at, worker, seq := compat.DecodeLeaf(id, time.Time{})
		if at.UnixMilli() != wantTime || worker != wantWorker || seq != wantSeq {
			t.Errorf("DecodeLeaf(%d) = %d ms, %d, %d, want %d ms, %d, %d",
				id, at.UnixMilli(), worker, seq, wantTime, wantWorker, wantSeq)
		}
		if at.Location() != time.UTC {
			t.Errorf("DecodeLeaf(%d) is in %v, want UTC", id, at.Location())
		}
		tick, worker, seq, _ := a.Split(id)
		if a.TimeAt(tick).UnixMilli() != wantTime || worker != wantWorker || seq != wantSeq {
			t.Errorf("Split(%d) = %d, %d, %d, want what the formulas give", id, tick, worker, seq)
		}
	}
}

// Leaf's endpoint adds its default epoch to every id; an id of a service with an epoch of its own
// then lies years off.
func TestDecodeLeafCustomEpoch(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2024, 2, 3, 4, 5, 6, 789e6, time.UTC)
	made := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)
	a := mustNew(t, compat.Snowflake(epoch))
	id, err := a.Compose(a.TickAt(made), 513, 99)
	if err != nil {
		t.Fatal(err)
	}
	if original := time.UnixMilli(id>>22 + 1288834974657); original.Year() != 2012 {
		t.Fatalf("the original's formula dates the id %v, want it off by years", original)
	}
	at, worker, seq := compat.DecodeLeaf(id, epoch)
	if !at.Equal(made) || worker != 513 || seq != 99 {
		t.Errorf("DecodeLeaf = %v, %d, %d, want %v, 513, 99", at, worker, seq, made)
	}
}

// Leaf does not check its 41 bits: a generator that ran past them made negative ids, which its
// endpoint dates before the epoch. They still hold 42 bits of time.
func TestDecodeLeafNegative(t *testing.T) {
	t.Parallel()
	made := time.Date(2080, 7, 10, 17, 30, 31, 0, time.UTC)
	id := (made.UnixMilli()-1288834974657)<<22 | 7<<12 | 8
	if id >= 0 || id>>22+1288834974657 >= 1288834974657 {
		t.Fatalf("id is %d, want one that is negative and that the formula dates before the epoch", id)
	}
	at, worker, seq := compat.DecodeLeaf(id, time.Time{})
	if !at.Equal(made) || worker != 7 || seq != 8 {
		t.Errorf("DecodeLeaf(%d) = %v, %d, %d, want %v, 7, 8", id, at, worker, seq, made)
	}
}
