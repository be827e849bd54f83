//go:build !race

package ringbuffer_test

// scale divides the size of the long tests.
const scale = 1
