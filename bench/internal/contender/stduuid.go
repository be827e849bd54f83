//go:build go1.27

package contender

import "uuid"

// standard is the Start of a loop of the standard library's UUIDs, which Go has since 1.27.
var standard = Plain(func(n int) error {
	return repeat(n, func() error { uuid.NewV7(); return nil })
})
