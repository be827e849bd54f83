package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
)

// wordReader reads words from a stream that may be a terminal, or a pipe that somebody still writes to. A goroutine
// reads ahead, because a read from a terminal heeds no context. It ends with the input or, within one more word, with
// the context; a read that never returns ends with the process.
type wordReader struct {
	ch  chan string
	err error // set before ch is closed
}

// readWords starts to read r.
func readWords(ctx context.Context, r io.Reader) *wordReader {
	in := &wordReader{ch: make(chan string, 1024)}
	go func() {
		defer close(in.ch)
		s := bufio.NewScanner(r)
		s.Split(bufio.ScanWords)
		for s.Scan() {
			select {
			case in.ch <- s.Text():
			case <-ctx.Done():
				return
			}
		}
		in.err = s.Err()
	}()
	return in
}

// ready reports whether another word is at hand without waiting.
func (in *wordReader) ready() bool { return len(in.ch) > 0 }

// all yields the words, and at the end the error of the reading if there was one.
func (in *wordReader) all(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			select {
			case <-ctx.Done():
				yield("", context.Cause(ctx))
				return
			case word, ok := <-in.ch:
				switch {
				case ok && !yield(word, nil):
					return
				case !ok:
					if in.err != nil {
						yield("", fmt.Errorf("reading standard input: %w", in.err))
					}
					return
				}
			}
		}
	}
}
