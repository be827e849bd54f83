//go:build !go1.27

package contender

// standard is nil: the standard library makes UUIDs since Go 1.27.
var standard Start
