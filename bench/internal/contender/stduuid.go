//go:build go1.27

package contender

import "uuid"

// standard returns the standard library's generator, which Go has since 1.27.
func standard() []Contender {
	return []Contender{{Name: "uuid v7 (Go's own)", Bits: 128, Time: true, Group: Peer,
		New: free(func() Loop {
			return func(n int) error {
				for range n {
					uuid.NewV7()
				}
				return nil
			}
		})}}
}
