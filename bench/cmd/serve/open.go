package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/server"
)

// openStep is from one rate of the open loop to the next, in requests a second.
const openStep = 10_000

// overtime is how many times as long as meant a contender that does not hold a rate is asked.
const overtime = 3

// quantiles are the latencies that the open loop shows, in percent.
var quantiles = [...]float64{50, 99, 99.9, 99.99}

// open asks every contender at 10,000 requests a second, 20,000 and so on, up to the highest rate
// that the first one, the constant handler, holds. One that does not hold a rate is not asked for
// the next, and no rate begins that could take longer than within in all. A request is due at its
// own time, however long those before it take, and its latency counts from then: a server that
// falls behind cannot hide it. What counts is the median over the rounds, in which the contenders
// take turns.
func open(
	ctx context.Context, contenders []contender, rounds int, duration time.Duration, conns int,
	within time.Duration, out io.Writer,
) error {
	one := time.Duration(rounds) * duration // of a contender that holds the rate
	fmt.Fprintf(os.Stderr, "%v a rate, up to three times that when it is not held; %v at most\n",
		one*time.Duration(len(contenders)), within)
	begin := time.Now()
	lost := make([]bool, len(contenders))
	fmt.Fprintf(out, "open loop, %d connections, %v a rate, %d rounds; %s\n", conns, duration,
		rounds, server.Conditions(ctx))
	for rate := openStep; ; rate += openStep {
		worst := time.Duration(0)
		for i := range contenders {
			if !lost[i] {
				worst += overtime * one
			}
		}
		if time.Since(begin)+worst > within {
			fmt.Fprintf(out, "load after: %s; %d/s could take longer than %v in all\n",
				server.Load(), rate, within)
			return nil
		}
		took := make([][]float64, len(contenders))
		late := make([][len(quantiles)][]float64, len(contenders))
		for range rounds {
			for i, c := range contenders {
				if lost[i] {
					continue
				}
				h, length, err := c.paced(ctx, rate, duration, conns)
				if err != nil {
					return fmt.Errorf("%s at %d/s: %w", c.name, rate, err)
				}
				took[i] = append(took[i], length.Seconds())
				for k, q := range quantiles {
					late[i][k] = append(late[i][k], quantile(h, q))
				}
			}
		}
		for i, c := range contenders {
			if lost[i] {
				continue
			}
			fmt.Fprintf(out, "%6d/s", rate)
			for k, q := range quantiles {
				fmt.Fprintf(out, "  p%v %8.0f µs", q, result.Median(late[i][k]))
			}
			held := result.Median(took[i]) <= 1.05*duration.Seconds()
			lost[i] = !held
			fmt.Fprintf(out, "  %s%s\n", c.name, map[bool]string{false: ": not held"}[held])
			if i == 0 && !held {
				fmt.Fprintf(out, "load after: %s\n", server.Load())
				return nil
			}
		}
	}
}

// quantile returns a latency in microseconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e3
}

// paced sends rate requests a second for a while, each at its time, and returns their latencies and
// how long it took until the last was answered.
func (c contender) paced(
	ctx context.Context, rate int, duration time.Duration, conns int,
) (*hdrhistogram.Histogram, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, overtime*duration)
	defer cancel()
	total := int(float64(rate) * duration.Seconds())
	ask := []byte("GET " + c.path + " HTTP/1.1\r\nHost: " + c.Address + "\r\n\r\n")
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards what follows
		all   = hdrhistogram.New(1, int64(time.Minute), 3)
		first error
	)
	begin := time.Now().Add(50 * time.Millisecond) // until all are connected
	for k := range conns {
		wg.Go(func() {
			h, err := c.connection(ctx, ask, func(n int) (time.Time, bool) {
				i := k + n*conns
				due := time.Duration(float64(i) / float64(rate) * float64(time.Second))
				return begin.Add(due), i < total
			})
			mu.Lock()
			defer mu.Unlock()
			all.Merge(h)
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return all, time.Since(begin), first
}

// connection sends requests over one connection, each when it is due, and returns their latencies.
// When ctx ends, what is still due is left out.
func (c contender) connection(
	ctx context.Context, ask []byte, due func(n int) (time.Time, bool),
) (*hdrhistogram.Histogram, error) {
	h := hdrhistogram.New(1, int64(time.Minute), 3)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return h, err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; ; n++ {
		at, more := due(n)
		if !more || ctx.Err() != nil {
			return h, nil
		}
		if wait := time.Until(at); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := conn.Write(ask); err != nil {
			return h, err
		}
		if err := answer(r); err != nil {
			return h, err
		}
		if err := h.RecordValue(min(int64(time.Since(at)), int64(time.Minute))); err != nil {
			return h, err
		}
	}
}

// answer reads an answer with status 200.
func answer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the answer begins with %q: %w", line, err)
	}
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return err
			}
		}
	}
	_, err = r.Discard(length)
	return err
}
