package segmenttest_test

import "testing"

// TestCounter runs the example.
func TestCounter(t *testing.T) {
	t.Parallel()
	checkCounter(t)
}
