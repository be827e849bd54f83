package soak

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// TestFrames: the whole ids of a frame count that was cut, and a frame that is too long is an error.
func TestFrames(t *testing.T) {
	t.Parallel()
	ids := []int64{1, 1 << 62, 3}
	payload := AppendIDs(nil, ids)
	whole := append(binary.LittleEndian.AppendUint32([]byte{'i'}, uint32(len(payload))), payload...)
	for cut, want := range [][]int64{0: ids, 1: ids[:2], 8: ids[:2], 9: ids[:1], 24: {}, 25: nil, 29: nil} {
		if want == nil && cut < 25 {
			continue
		}
		var got []int64
		frames := 0
		err := read(bytes.NewReader(append(bytes.Clone(whole), whole[:len(whole)-cut]...)), func(f Frame) error {
			if frames++; f.Kind != 'i' || f.Cut != (frames == 2 && cut > 0) {
				t.Errorf("%d bytes cut: frame %d is %+v", cut, frames, f)
			}
			got = append(got, IDs[int64](f)...)
			return nil
		})
		if err != nil || !slices.Equal(got, append(slices.Clone(ids), want...)) {
			t.Errorf("%d bytes cut: %v, %v, want %v and %v", cut, got, err, ids, want)
		}
	}
	long := binary.LittleEndian.AppendUint32([]byte{'i'}, maxFrame+1)
	if err := read(bytes.NewReader(long), func(Frame) error { return nil }); err == nil {
		t.Error("a frame that is too long has no error")
	}
}
