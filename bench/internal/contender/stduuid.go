//go:build go1.27

package contender

import "uuid"

// standard is the New of a loop of the standard library's UUIDs, which Go has since 1.27.
var standard = plain(func(n int) error {
	for range n {
		uuid.NewV7()
	}
	return nil
})
