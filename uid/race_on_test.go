//go:build race

package uid_test

const raceEnabled = true
