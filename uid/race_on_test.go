//go:build race

package uid_test

// scale divides sizes: simulated time is slow under the race detector.
const scale = 10
