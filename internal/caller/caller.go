// Package caller tells goroutines apart, roughly and cheaply, so that they can spread over words of their own.
package caller

import "unsafe"

// Hash returns a number that is mostly the same for calls from one goroutine, at about one depth of its stack, and another one for
// calls from another: a hash of where the caller's frame is. Stacks are at least 2 KiB apart, and one stays where it is while it
// does not grow. Nothing but speed may depend on it. Any few bits of the upper half are good for an index; two callers that some
// do not tell apart, others may.
func Hash() uint64 {
	var b byte
	// The address is used as a number only, so the pointer rules of package unsafe have nothing to say.
	return uint64(uintptr(unsafe.Pointer(&b))) >> 11 * 0x9E3779B97F4A7C15
}
