package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// contender is a server that is asked for a path.
type contender struct {
	name, path, address string
	pid                 int
}

// patience is how long an answer that is under way at the end may take: a server that hangs is an
// error.
var patience = 15 * time.Second

// overtime is how many times as long as meant a contender that does not hold a rate is asked.
const overtime = 3

// load asks for a while over so many connections, and returns the latencies and how long it took
// until the last request was answered. With a rate, a request is due at its own time, however long
// those before it take, and its latency counts from then: a server that falls behind cannot hide
// it. Without one, each connection asks as soon as it has an answer.
func (c contender) load(
	ctx context.Context, rate int, duration time.Duration, conns int,
) (*hdrhistogram.Histogram, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, overtime*duration)
	defer cancel()
	var wg sync.WaitGroup
	parts, errs := make([]*hdrhistogram.Histogram, conns), make([]error, conns)
	begin := time.Now().Add(50 * time.Millisecond) // until all are connected
	for k := range conns {
		wg.Go(func() {
			parts[k], errs[k] = c.connection(ctx, func(n int) (time.Time, bool) {
				at := time.Now()
				if at.Before(begin) {
					at = begin
				}
				if rate > 0 {
					at = begin.Add(time.Duration(k+n*conns) * time.Second / time.Duration(rate))
				}
				return at, at.Sub(begin) < duration
			})
		})
	}
	wg.Wait()
	took, all := time.Since(begin), newHistogram()
	for _, h := range parts {
		all.Merge(h)
	}
	return all, took, errors.Join(errs...)
}

// newHistogram returns a histogram of nanoseconds.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Minute), 3) }

// connection sends requests over one connection, each when it is due, and returns their latencies.
// When ctx ends, what is still due is left out, and the answer under way has its time.
func (c contender) connection(
	ctx context.Context, due func(n int) (at time.Time, more bool),
) (*hdrhistogram.Histogram, error) {
	h := newHistogram()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return h, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now().Add(patience)) })()
	r := bufio.NewReader(conn)
	request := []byte("GET " + c.path + " HTTP/1.1\r\nHost: " + c.address + "\r\n\r\n")
	for n := 0; ; n++ {
		at, more := due(n)
		if !more || ctx.Err() != nil {
			return h, nil
		}
		if wait := time.Until(at); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := conn.Write(request); err != nil {
			return h, err
		}
		if err := answer(r); err != nil {
			return h, err
		}
		// A value beyond the histogram counts as its end.
		_ = h.RecordValue(min(int64(time.Since(at)), int64(time.Minute)))
	}
}

// answer reads an answer with status 200.
func answer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the answer begins with %q: %w", line, err)
	}
	length := 0
	for len(line) > 2 && err == nil {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, err = strconv.Atoi(string(bytes.TrimSpace(n)))
		}
	}
	if err == nil {
		_, err = r.Discard(length)
	}
	return err
}

// cpuTime returns for how long the server has run, 0 where the system does not tell.
func (c contender) cpuTime() time.Duration {
	const tick = 10 * time.Millisecond // of Linux, for programs
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything else
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}
