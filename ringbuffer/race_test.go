//go:build race

package ringbuffer_test

// scale divides the size of the long tests: the race detector makes each atomic operation many
// times slower.
const scale = 20
