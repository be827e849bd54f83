package segmenttest_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// TestCounters runs the conformance suites over Counters.
func TestCounters(t *testing.T) {
	t.Parallel()
	c := &segmenttest.Counters{}
	if err := c.Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
		t.Fatal(err)
	}
	segmenttest.Run(t, segmenttest.Config{
		Open: func(testing.TB) segment.Source { return c }, Tag: "a", Unknown: "nobody",
	})
	segmenttest.RunPeriods(t, func(testing.TB) segment.Periods { return c })
	away := errors.New("away")
	c.Fail(away)
	if _, err := c.Fetch(t.Context(), "a", 1); !errors.Is(err, away) {
		t.Errorf("Fetch = %v, want what Fail was told", err)
	}
}
