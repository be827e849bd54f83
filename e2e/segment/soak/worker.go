package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/uidring/uidring/segment"
)

// jobEnv is the environment variable that makes this program a worker process. Its value is the
// places of the databases, as JSON.
const jobEnv = "UIDRING_SEGMENT_SOAK_JOB"

// A frame is the kind's index in one byte, with the bit failed for an error, the payload's length
// in 4 bytes, and the payload: ids of 8 bytes each, or the error's text. Numbers are little-endian.
const (
	frameHead = 5 // bytes before the payload
	failed    = 0x80
)

// work is the main function of a worker process: it takes ids of every kind and writes them to the
// standard output until the standard input ends. It returns the exit status.
func work(text string) int {
	var p places
	err := json.Unmarshal([]byte(text), &p)
	var d databases
	if err == nil {
		d, err = p.open()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it ends, however it does
		cancel()
	}()
	var out output
	var wg sync.WaitGroup
	for i, k := range kinds {
		wg.Go(func() { out.pump(ctx, byte(i), k, d) })
	}
	wg.Wait()
	return 0
}

// output writes frames to the standard output. Its methods are safe for concurrent use.
type output struct{ mu sync.Mutex }

// pump takes ids of a kind until ctx ends, one by one and many at once in turn, and then gives back
// what is left. It waits for a database that is down at the start.
func (o *output) pump(ctx context.Context, i byte, k kind, d databases) {
	// The step is small, so that ranges end often, and a lost range is a small gap.
	options := &segment.Options{MaxStep: 20_000, Checkpoint: true}
	var g *segment.Generator
	for g == nil {
		var err error
		if g, err = segment.New(ctx, k.of(d), options); err != nil {
			if ctx.Err() != nil {
				return
			}
			o.fail(i, "New", err)
			time.Sleep(slow)
		}
	}
	ids := make([]int64, k.batch)
	for one := false; ctx.Err() == nil; one = !one {
		n, err := 0, error(nil)
		if !one {
			n, err = g.Fill(ctx, k.tagOf(), ids)
		}
		for one && n < len(ids) && err == nil {
			if ids[n], err = g.Next(ctx, k.tagOf()); err == nil {
				n++
			}
		}
		o.ids(i, ids[:n])
		if err != nil && ctx.Err() == nil {
			o.fail(i, "Next", err)
		}
		select {
		case <-time.After(k.every):
		case <-ctx.Done():
		}
	}
	if err := g.Close(); err != nil {
		o.fail(i, "Close", err)
	}
}

// ids writes ids of a kind.
func (o *output) ids(i byte, ids []int64) {
	var buf []byte
	for _, id := range ids {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(id))
	}
	o.write(i, buf)
}

// fail writes what failed, with err's text if err is one of package segment's errors that must not
// happen.
func (o *output) fail(i byte, what string, err error) {
	text := "database away or busy"
	for _, known := range []error{
		segment.ErrRangeWentBack, segment.ErrBadRange, segment.ErrExhausted, segment.ErrUnknownTag,
		segment.ErrOptions,
	} {
		if errors.Is(err, known) {
			text = err.Error()
		}
	}
	o.write(i|failed, []byte(what+": "+text))
}

// write writes a frame. It ends the process if the parent has ended.
func (o *output) write(i byte, payload []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	frame := binary.LittleEndian.AppendUint32([]byte{i}, uint32(len(payload)))
	if _, err := os.Stdout.Write(append(frame, payload...)); err != nil {
		os.Exit(1)
	}
}
