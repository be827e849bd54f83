package dbtest

import (
	"bytes"
	"iter"
)

// tail returns the end of a program's output, for an error message.
func tail(out []byte) []byte {
	out = bytes.TrimSpace(out)
	if len(out) > 2048 {
		out = out[len(out)-2048:]
	}
	return out
}

// lines iterates over the lines of a program's output.
func lines(out []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for l := range bytes.Lines(out) {
			if !yield(string(l)) {
				return
			}
		}
	}
}
