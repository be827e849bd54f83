package compat_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// keyWorkerOriginal is the original's formula with its epoch, a digit too long; Go's int64 wraps as
// Java's long does.
func keyWorkerOriginal(ms, process, machine, seq int64) int64 {
	return (ms-12888349746579)<<22 | process<<17 | machine<<12 | seq
}

// DecodeKeyWorker is exact for all that the original stamps, on both sides of the instant at which
// its ids turn negative.
func TestDecodeKeyWorker(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                       string
		at                         time.Time
		process, machine, sequence int64
		negative                   bool
	}{
		{"an ordinary one", time.Date(2017, 8, 9, 10, 11, 12, 131e6, time.UTC), 3, 30, 17, false},
		{"all ones", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 31, 31, 4095, false},
		{"1970", time.UnixMilli(0), 0, 0, 0, false},
		{"the last positive one", time.Date(2029, 12, 29, 10, 11, 8, 818e6, time.UTC), 31, 31, 4095, false},
		{"the first negative one", time.Date(2029, 12, 29, 10, 11, 8, 819e6, time.UTC), 0, 0, 0, true},
		{"a negative one", time.Date(2040, 2, 29, 1, 2, 3, 4e6, time.UTC), 1, 2, 3, true},
		{"the first instant", time.Date(1960, 4, 23, 18, 23, 33, 267e6, time.UTC), 1, 1, 1, false},
		{"the last instant", time.Date(2099, 9, 5, 1, 58, 44, 370e6, time.UTC), 31, 31, 4095, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			id := keyWorkerOriginal(tc.at.UnixMilli(), tc.process, tc.machine, tc.sequence)
			if (id < 0) != tc.negative {
				t.Fatalf("the original's id is %d, want it negative: %v", id, tc.negative)
			}
			at, process, machine, seq := compat.DecodeKeyWorker(id)
			if !at.Equal(tc.at) || process != tc.process || machine != tc.machine || seq != tc.sequence {
				t.Errorf("DecodeKeyWorker(%d) = %v, %d, %d, %d, want %v, %d, %d, %d", id,
					at, process, machine, seq, tc.at, tc.process, tc.machine, tc.sequence)
			}
			if at.Location() != time.UTC {
				t.Errorf("the time is in %v, want UTC", at.Location())
			}
		})
	}
}

// The original's time field is 42 bits with the sign among them and wraps: its ids are positive by
// luck until 2029-12-29. The repaired layout has 41 bits and the epoch that was meant, and refuses
// the instant at which the sign would be reached.
func TestKeyWorkerSign(t *testing.T) {
	t.Parallel()
	turn := time.Date(2029, 12, 29, 10, 11, 8, 819e6, time.UTC)
	if before, after := keyWorkerOriginal(turn.UnixMilli()-1, 0, 0, 0),
		keyWorkerOriginal(turn.UnixMilli(), 0, 0, 0); before <= 0 || after >= 0 {
		t.Fatalf("the original's ids around %v are %d and %d, want the sign to change", turn, before, after)
	}
	if got := time.UnixMilli(12888349746579).UTC().Format(time.RFC3339Nano); got != "2378-06-01T17:09:06.579Z" {
		t.Errorf("the original's epoch is %s, want 2378-06-01T17:09:06.579Z", got)
	}
	a := mustNew(t, compat.Twitter())
	worker, err := compat.Worker(21, 9) // process, machine
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Compose(a.TickAt(turn), worker, 5)
	if want := twitterOriginal(turn.UnixMilli(), 21, 9, 5); err != nil || id != want || id <= 0 {
		t.Errorf("Compose at the turn = %d, %v, want %d", id, err, want)
	}
	if id>>17&31 != 21 || id>>12&31 != 9 || id&4095 != 5 {
		t.Errorf("id %d has its fields at other places than the original's", id)
	}
	if _, err := a.Compose(a.TickAt(a.Expires()), worker, 0); !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("Compose at the expiry: %v, want ErrRange", err)
	}
}

// No id of the repaired layout equals one that the original can have made since the snowflake
// exists, until May 2061.
func TestKeyWorkerRepairedIdsAreNew(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.Twitter())
	lowest := keyWorkerOriginal(1288834974657, 0, 0, 0)
	safe := time.Date(2061, 5, 16, 9, 2, 16, 46e6, time.UTC)
	id, err := a.Compose(a.TickAt(safe), a.MaxWorker(), a.MaxSeq())
	if err != nil || id >= lowest {
		t.Errorf("the repaired layout's last id at %v is %d, %v, want it below %d", safe, id, err, lowest)
	}
	if id, err = a.Compose(a.TickAt(safe)+1, 0, 0); err != nil || id != lowest {
		t.Errorf("a millisecond later it is %d, %v, want %d: the stated date is not exact", id, err, lowest)
	}
}

// FuzzDecodeKeyWorker: every 64-bit number decodes to exactly one set of fields, from which the
// original's formula makes the number again.
func FuzzDecodeKeyWorker(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-1))
	f.Add(int64(math.MinInt64))
	f.Add(keyWorkerOriginal(1764000000000, 1, 2, 3))
	f.Fuzz(func(t *testing.T, id int64) {
		at, process, machine, seq := compat.DecodeKeyWorker(id)
		if back := keyWorkerOriginal(at.UnixMilli(), process, machine, seq); back != id {
			t.Fatalf("%d decodes to %v, %d, %d, %d, which makes %d", id, at, process, machine, seq, back)
		}
	})
}
