package segmenttest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// counter is a Source of one tag, in memory.
type counter struct {
	mu   sync.Mutex
	next int64
}

func (c *counter) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if err := ctx.Err(); err != nil {
		return segment.Range{}, err
	}
	if tag != "orders" {
		return segment.Range{}, fmt.Errorf("%w %q", segment.ErrUnknownTag, tag)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.next
	c.next += max(step, 1)
	return segment.Range{From: from, To: c.next}, nil
}

// checkCounter is what a test of a source of one's own consists of.
func checkCounter(t *testing.T) {
	var shared counter
	segmenttest.Run(t, segmenttest.Config{
		Open:    func(testing.TB) segment.Source { return &shared },
		Tag:     "orders",
		Unknown: "bills",
	})
}

// A source of one's own is held to what a Source promises.
func Example() {
	_ = checkCounter // func TestCounter(t *testing.T) { checkCounter(t) }
}
