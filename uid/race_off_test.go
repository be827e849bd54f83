//go:build !race

package uid_test

const raceEnabled = false

// scale divides sizes: simulated time is slow under the race detector.
const scale = 1
