//go:build !race

package uid

// slow divides sizes: atomic operations are slow under the race detector.
const slow = 1
