//go:build !go1.27

package contender

// standard returns nothing: the standard library makes UUIDs since Go 1.27.
func standard() []Contender { return nil }
