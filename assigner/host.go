package assigner

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// Host returns an Assigner that draws a worker id from what distinguishes this machine and this
// process from others. It needs no server and no configuration. In return it can only make a
// collision improbable: of n instances that run at the same time, each restart being one more draw,
// two have the same worker id with about the probability n²/2 by the number of worker ids. For the
// default layout's 4,194,304 that is 1.1e-5 for 10 instances, 1.2e-3 for 100 and 11 percent for
// 1,000; for the 1,024 of Twitter's 4.3 percent for 10. It suits a handful. For
// more, use assigner/workernode or assigner/zookeeper, which hand out each id once.
//
// The draw uses the machine id, the product's uuid, the hardware addresses, the host name, the boot
// and the namespaces (in which containers of one image on one host differ), the process id and its
// start time, and 128 random bits. The facts keep clones apart whose random generators are in the
// same state. The random bits keep processes apart whose facts are the same, such as containers in
// which everything has process id 1. SHA-256 turns them into a number that is spread evenly over
// [0, maxWorker]. It reveals none of the facts.
//
// Each Assign draws anew, so two generators in one process are two instances, and so is a process
// that starts again. The window begins at the Assign and has no end. That does not protect from
// an instance that drew the same worker id and still runs, nor from one that stopped after its
// clock, or its lead over the clock, had gone beyond this Assign.
//
// Assign reads a few files under /etc, /proc and /sys where they exist, and blocks no longer than
// that takes.
func Host() Assigner { return host{facts: hostFacts, random: rand.Reader} }

// host is the Assigner of Host. Its sources are fields so that tests can replace them.
type host struct {
	facts  func() []string
	random io.Reader
}

func (h host) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: host: %w", err)
	}
	if maxWorker < 0 {
		return nil, fmt.Errorf("%w: host: maxWorker is %d, want at least 0", ErrWorkersExhausted,
			maxWorker)
	}
	var random [16]byte
	if _, err := io.ReadFull(h.random, random[:]); err != nil {
		return nil, fmt.Errorf("assigner: host: reading random bits: %w", err)
	}
	facts := append(h.facts(), string(random[:]), time.Now().Format(time.RFC3339Nano))
	// Round drops the monotonic reading: a window is a stretch of wall time.
	return openClaim{worker: draw(facts, maxWorker), from: time.Now().UTC().Round(0)}, nil
}

// draw maps facts to a worker id in [0, maxWorker].
func draw(facts []string, maxWorker int64) int64 {
	h := sha256.New()
	for _, f := range facts {
		// The length in front keeps ("ab", "c") and ("a", "bc") apart.
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		_, _ = io.WriteString(h, f) // a hash takes everything
	}
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	// The high word of sum * n is spread evenly over [0, n): each value gets 2^64/n sums, give or
	// take one. A remainder is as even for powers of two and less even for everything else.
	high, _ := bits.Mul64(sum, uint64(maxWorker)+1)
	return int64(high)
}
