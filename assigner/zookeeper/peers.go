package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// An instance that is alive keeps an ephemeral node whose data is its own clock at the time of writing, in Unix
// milliseconds. The node's modification time is ZooKeeper's clock at the same moment, so the difference says how far that
// instance's clock is from ZooKeeper's, whenever it is read. The differences of two instances compare their clocks without
// asking either.

// maxPeers bounds how many peers are asked.
const maxPeers = 32

// touch writes the local clock to the ephemeral node, and makes the node if the session that held it is over.
func (a *Assigner) touch(ctx context.Context, name string) (node, error) {
	path, data := a.tree.peer(name), []byte(strconv.FormatInt(a.now().UnixMilli(), 10))
	n, err := a.tree.set(ctx, path, data, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		return n, err
	}
	n, err = call(ctx, a.session, func(c *zk.Conn) (node, error) {
		if _, err := c.Create(path, data, zk.FlagEphemeral, a.tree.acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return node{}, err
		}
		return read(c, path)
	})
	if err != nil {
		return n, fmt.Errorf("assigner/zookeeper: creating %s: %w", path, err)
	}
	return n, nil
}

// offset returns how far the clock in n is ahead of ZooKeeper's. ok is false if n holds no clock.
func offset(n node) (d time.Duration, ok bool) {
	ms, err := strconv.ParseInt(string(n.data), 10, 64)
	if err != nil || ms < 0 || ms > maxMillis {
		return 0, false
	}
	const far = int64(maxDuration / time.Millisecond) // beyond it all clocks are equally wrong, and products overflow
	return time.Duration(max(-far, min(far, ms-n.mtime))) * time.Millisecond, true
}

// compareClocks refuses with ErrClock if the local clock is away from the average of the peers' clocks by more than
// MaxSkew. name is this instance's own node. Without peers there is nothing to compare.
func (a *Assigner) compareClocks(ctx context.Context, name string) error {
	n, err := a.touch(ctx, name)
	if err != nil {
		return err
	}
	own, ok := offset(n)
	if a.o.MaxSkew == AnySkew || !ok {
		return nil
	}
	offsets, err := call(ctx, a.session, func(c *zk.Conn) ([]time.Duration, error) { return a.offsets(c, name) })
	if err != nil {
		return fmt.Errorf("assigner/zookeeper: reading the peers' clocks: %w", err)
	}
	if len(offsets) == 0 {
		return nil
	}
	var mean time.Duration
	for _, d := range offsets {
		mean += d / time.Duration(len(offsets)) // summing first could overflow
	}
	skew := own - mean
	if skew.Abs() <= a.o.MaxSkew {
		return nil
	}
	side := "ahead of"
	if skew < 0 {
		side = "behind"
	}
	return fmt.Errorf("%w: it is %v %s the average of %d other instances under %s, MaxSkew is %v",
		ErrClock, skew.Abs().Round(time.Millisecond), side, len(offsets), a.o.Root, a.o.MaxSkew)
}

// offsets reads the peers' nodes, or a random choice of them when there are many.
func (a *Assigner) offsets(c *zk.Conn, self string) ([]time.Duration, error) {
	names, _, err := c.Children(a.tree.peers())
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var offsets []time.Duration
	for _, name := range names {
		if len(offsets) == maxPeers {
			break
		}
		if name == self {
			continue
		}
		n, err := read(c, a.tree.peer(name))
		if errors.Is(err, zk.ErrNoNode) {
			continue // it has just gone
		}
		if err != nil {
			return nil, err
		}
		if d, ok := offset(n); ok {
			offsets = append(offsets, d)
		}
	}
	return offsets, nil
}
