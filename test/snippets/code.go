package main

// code returns the Go code of the pages. The test compiles its own file in place of this one.
func code() []snippet { return nil }
