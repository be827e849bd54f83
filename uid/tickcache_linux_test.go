package uid

import (
	"testing"
	"time"
	"unsafe"

	"github.com/uidring/uidring/internal/touch"
)

// TestTickCacheLoadsUntilFirst: a reader that loads tick before until may get the tick of before a
// refresh with the until of after it. Both stores of the refresh have to come between the two loads
// for that, which no run shows. So until is over here: the word behind it that a load touches first
// is the lock of the refresh, and not the tick.
func TestTickCacheLoadsUntilFirst(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, nil)
	var c tickCache
	got, touched := touch.First(t, unsafe.Offsetof(c.tick), func(c *tickCache) {
		c.core, c.start = d.core, time.Now()
	}, func(c *tickCache) { c.load() })
	if want := unsafe.Offsetof(c.mu); got != want || !touched {
		t.Errorf("load touches the word at %d before it has found that until is over, want %d, the "+
			"lock, after that", got, want)
	}
}
