package assigner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// TestCompareLayouts compares texts that bitsalloc writes.
func TestCompareLayouts(t *testing.T) {
	t.Parallel()
	from := []time.Time{time.Date(2030, 1, 1, 0, 0, 0, 5e8, time.UTC), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)}
	text := func(n int) string {
		later := []bitsalloc.Era{{From: from[0], Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 14, SeqBits: 13}},
			{From: from[1], Layout: bitsalloc.Layout{TimeBits: 38, WorkerBits: 12, SeqBits: 13}}}
		e, err := bitsalloc.NewEras(bitsalloc.Layout{}, later[:n-1]...)
		if err != nil {
			t.Fatal(err)
		}
		return e.String()
	}
	var none time.Time
	for _, c := range []struct {
		have, want string
		cut, added time.Time
		mismatch   bool
	}{
		{text(1), text(1), none, none, false},
		{text(3), text(3), none, none, false},
		{text(1), text(2), none, from[0], false},
		{text(1), text(3), none, from[0], false},
		{text(2), text(3), none, from[1], false},
		{text(2), text(1), from[0], none, false},
		{text(3), text(1), from[0], none, false},
		{text(3), text(2), from[1], none, false},
		{text(1), text(1) + "0", none, none, true}, // a prefix of the text and not of the list
		{text(1), compat.Twitter().String(), none, none, true},
		{text(3), text(2) + "x", none, none, true},
		{text(1), text(1) + ",nonsense", none, none, true},
		{text(1) + ",nonsense", text(1), none, none, true},
		{"", text(1), none, none, true}, // a claim that names no layout
		{text(1), "", none, none, true},
		{"", "", none, none, false},
	} {
		cut, added, err := assigner.CompareLayouts(c.have, c.want)
		if !cut.Equal(c.cut) || !added.Equal(c.added) ||
			errors.Is(err, assigner.ErrLayoutMismatch) != c.mismatch || (err != nil) != c.mismatch {
			t.Errorf("CompareLayouts(%q, %q) = %v, %v, %v, want %v, %v, mismatch %v",
				c.have, c.want, cut, added, err, c.cut, c.added, c.mismatch)
		}
	}
}
