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

// Host returns an Assigner that draws a worker id from what tells this machine and this process from others. It needs no
// server and no configuration, and in return it can only make a collision improbable: CollisionProbability says how
// improbable. It suits a handful of instances; for more, use assigner/workernode or assigner/zookeeper, which hand out
// each id once.
//
// What goes into the draw are the machine id, the product's uuid, the hardware addresses, the host name, the boot and the
// namespaces (containers of one image on one host differ in those), the process id and its start time, and 128 random
// bits. The facts keep clones apart whose random generators are in the same state, and the random bits keep processes
// apart whose facts are the same, such as containers in which everything has process id 1. SHA-256 turns them into a
// number that is spread evenly over [0, maxWorker]. Nothing of the facts can be read from it.
//
// Each Assign draws anew, so two generators in one process are two instances, and so is a process that starts again.
// The window begins at the Assign and has no end. That is no protection from an instance that drew the same worker id and
// is alive, nor from one that stopped and whose clock, or whose lead over the clock, was ahead of this Assign.
//
// Assign reads a few files under /etc, /proc and /sys where they exist, and blocks no longer than that takes.
func Host() Assigner { return host{facts: hostFacts, random: rand.Reader} }

// host is the Assigner of Host; its two sources are fields so that tests can hold one of them still.
type host struct {
	facts  func() []string
	random io.Reader
}

func (h host) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: host: %w", err)
	}
	if maxWorker < 0 {
		return nil, fmt.Errorf("%w: host: maxWorker is %d, want at least 0", ErrWorkersExhausted, maxWorker)
	}
	var random [16]byte
	if _, err := io.ReadFull(h.random, random[:]); err != nil {
		return nil, fmt.Errorf("assigner: host: reading random bits: %w", err)
	}
	facts := append(h.facts(), string(random[:]), time.Now().Format(time.RFC3339Nano))
	return newSinceClaim(draw(facts, maxWorker)), nil
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
	// The high word of sum * n is an even spread over [0, n): each value gets 2^64/n sums, give or take one. A remainder
	// would do as well for powers of two and worse for everything else.
	high, _ := bits.Mul64(sum, uint64(maxWorker)+1)
	return int64(high)
}
