package soak

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A Frame is what a worker process writes: the kind in one byte, the payload's length in 4 bytes,
// little-endian, and the payload. The last frame of a process that was killed may be cut. The whole
// ids in it count, because they were handed out.
type Frame struct {
	Kind    byte
	Payload []byte // valid until the function that gets it returns
	Cut     bool
}

const (
	frameHead = 5       // bytes before the payload
	maxFrame  = 1 << 16 // bytes of a payload
)

// IDs returns the whole ids in a payload, 8 bytes each.
func IDs[T ~int64](f Frame) (ids []T) {
	for i := 0; i+8 <= len(f.Payload); i += 8 {
		ids = append(ids, T(binary.LittleEndian.Uint64(f.Payload[i:])))
	}
	return ids
}

// AppendIDs appends ids to a payload.
func AppendIDs[T ~int64](payload []byte, ids []T) []byte {
	for _, id := range ids {
		payload = binary.LittleEndian.AppendUint64(payload, uint64(id))
	}
	return payload
}

// read passes all frames of r to frame.
func read(r io.Reader, frame func(Frame) error) error {
	br := bufio.NewReaderSize(r, maxFrame)
	var head [frameHead]byte
	buf := make([]byte, maxFrame)
	for {
		if _, err := io.ReadFull(br, head[:]); err != nil {
			return atEnd(err)
		}
		size := binary.LittleEndian.Uint32(head[1:])
		if size > maxFrame {
			return fmt.Errorf("frame of %d bytes, want at most %d", size, maxFrame)
		}
		n, err := io.ReadFull(br, buf[:size])
		if err := frame(Frame{head[0], buf[:n], err != nil}); err != nil {
			return err
		}
		if err != nil {
			return atEnd(err)
		}
	}
}

// atEnd returns nil if err is just the end of what a process wrote, else err.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Output writes frames to the standard output of a worker process. Its methods are safe for
// concurrent use.
type Output struct {
	mu  sync.Mutex
	err error // of the first write that failed; guarded by mu
}

// Write writes a frame, and reports whether that succeeded. After a failure it writes nothing more.
func (o *Output) Write(kind byte, payload []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false
	}
	frame := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	_, o.err = os.Stdout.Write(append(frame, payload...))
	return o.err == nil
}
