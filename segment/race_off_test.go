//go:build !race

package segment_test

// scale divides the sizes of long tests: simulated time and atomic operations are slow under the
// race detector.
const scale = 1
