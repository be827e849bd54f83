// Package touch tells in what order a function touches the words of a value, for tests of orders
// that matter to other goroutines and that no run of them shows: two neighbouring loads.
package touch

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// First returns the offset of the word of *T at or after edge that f touches first, and false if
// it touches none. What lies before edge may be read and written, and is zero before prepare sets
// it. The value is not on Go's heap: what prepare stores there must be held elsewhere.
func First[T any](t *testing.T, edge uintptr, prepare, f func(*T)) (offset uintptr, touched bool) {
	t.Helper()
	page := uintptr(syscall.Getpagesize())
	var zero T
	if unsafe.Sizeof(zero) > page || edge%unsafe.Alignof(zero) != 0 {
		t.Fatalf("a value of %d bytes, cut at %d", unsafe.Sizeof(zero), edge)
	}
	// One page that may be touched and one that may not: the edge is where they meet.
	mem, err := syscall.Mmap(-1, 0, int(2*page), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("skipped: no memory to map: ", err)
	}
	defer func() { _ = syscall.Munmap(mem) }()
	value := (*T)(unsafe.Pointer(&mem[page-edge]))
	if prepare != nil {
		prepare(value)
	}
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Skip("skipped: no memory to protect: ", err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault, ok := recover().(interface{ Addr() uintptr })
		if ok {
			offset, touched = fault.Addr()-uintptr(unsafe.Pointer(value)), true
		}
	}()
	f(value)
	return 0, false
}
