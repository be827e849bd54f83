package ringbuffer

import (
	"testing"
	"unsafe"

	"github.com/uidring/uidring/internal/touch"
)

// TestLenLoadsCursorFirst: a tail that is older than the cursor may lie below it, and a ring that
// is never empty would look empty. Two calls of others have to come between the two loads for that,
// which no run shows.
func TestLenLoadsCursorFirst(t *testing.T) {
	t.Parallel()
	sum := 0
	want := unsafe.Offsetof(Ring{}.cursor)
	got, touched := touch.First(t, want, nil, func(r *Ring) { sum += r.Len() })
	if got != want || !touched {
		t.Errorf("Len loads the word at %d first, want the cursor, at %d", got, want)
	}
}
