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

// An instance that is alive keeps an ephemeral node whose data is its own clock at the time of
// writing, in Unix milliseconds. The node's modification time is ZooKeeper's clock at the same
// moment, so the difference says how far that instance's clock is from ZooKeeper's. The differences
// of two instances compare their clocks without asking either, as long as ZooKeeper's clock has not
// stepped between the two writes. A new leader with another clock is such a step.
//
// So before a start is refused it asks: it writes its name to the node of all peers, which every
// instance reads once a second, and compares with those that write their clocks after that. A watch
// would spare the reads. But go-zookeeper v1.0.4, which sets watches again after a reconnect, then
// reads what another goroutine of its own writes.

const (
	maxPeers   = 32                    // bounds how many peers are compared with
	answerWait = 2 * time.Second       // bounds how long answers are waited for
	answerLook = answerWait / 2        // between two looks of an instance for a question
	askPause   = 20 * time.Millisecond // between two looks for answers
)

// answer writes the local clock whenever another instance asks for it, from the first claim until
// ctx ends.
func (a *Assigner) answer(ctx context.Context) {
	select {
	case <-a.claimed:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if a.claims.Load() > 0 {
			_ = a.answerOnce(ctx) // the next look tries again
		}
		pause(ctx, answerLook)
	}
}

// answerOnce answers a question that is open.
func (a *Assigner) answerOnce(ctx context.Context) error {
	question, err := call(ctx, a.session, func(c *zk.Conn) (node, error) {
		return read(c, a.tree.peers())
	})
	if err == nil && question.zxid > a.touched.Load() {
		_, err = a.touch(ctx)
	}
	return err
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// touch writes the local clock to the ephemeral node, and makes the node if the session that held
// it is over.
func (a *Assigner) touch(ctx context.Context) (node, error) {
	path, data := a.tree.peer(a.peer), []byte(strconv.FormatInt(a.now().UnixMilli(), 10))
	n, err := a.tree.set(ctx, path, data, -1)
	if errors.Is(err, zk.ErrNoNode) {
		n, err = call(ctx, a.session, func(c *zk.Conn) (node, error) {
			if _, err := c.Create(path, data, zk.FlagEphemeral, a.tree.acl); err != nil &&
				!errors.Is(err, zk.ErrNodeExists) {
				return node{}, err
			}
			return read(c, path)
		})
		if errors.Is(err, zk.ErrNoNode) { // another call has withdrawn it meanwhile
			err = ErrUnavailable
		}
		if err != nil {
			err = fmt.Errorf("assigner/zookeeper: creating %s: %w", path, err)
		}
	}
	if err == nil {
		a.touched.Store(n.zxid)
	}
	return n, err
}

// withdraw removes the ephemeral node after a failed attempt. It gives up if that cannot be done at
// once.
func (a *Assigner) withdraw() {
	if a.touched.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = a.tree.remove(ctx, a.tree.peer(a.peer)) // else it goes with the session
}

// offset returns how far the clock in n is ahead of ZooKeeper's. ok is false if n holds no clock.
func offset(n node) (d time.Duration, ok bool) {
	ms, err := strconv.ParseInt(string(n.data), 10, 64)
	if err != nil || ms < 0 || ms > maxMillis {
		return 0, false
	}
	// beyond it all clocks are equally wrong, and products overflow
	const far = int64(maxDuration / time.Millisecond)
	return time.Duration(max(-far, min(far, ms-n.mtime))) * time.Millisecond, true
}

// compareClocks refuses with ErrClock if the local clock is away from the average of the peers'
// clocks by more than MaxSkew. Without peers there is nothing to compare.
func (a *Assigner) compareClocks(ctx context.Context) error {
	own, err := a.touch(ctx)
	if err != nil || a.o.MaxSkew == AnySkew {
		return err
	}
	peers, err := a.readPeers(ctx)
	if err != nil {
		return err
	}
	if a.skew(own, peers).Abs() <= a.o.MaxSkew {
		return nil
	}
	if fresh, err := a.ask(ctx); err != nil {
		return err
	} else if len(fresh) > 0 {
		peers = fresh
	} // else they cannot answer, as versions without the question
	if own, err = a.touch(ctx); err != nil {
		return err
	}
	skew := a.skew(own, peers)
	if skew.Abs() <= a.o.MaxSkew {
		return nil
	}
	side := "ahead of"
	if skew < 0 {
		side = "behind"
	}
	return fmt.Errorf("%w: it is %v %s the average of %d other instances under %s, MaxSkew is %v",
		ErrClock, skew.Abs().Round(time.Millisecond), side, len(peers), a.o.Root, a.o.MaxSkew)
}

// skew returns how far the clock in own is ahead of the average of the peers', 0 if there is
// nothing to compare.
func (a *Assigner) skew(own node, peers []node) time.Duration {
	d, ok := offset(own)
	if !ok || len(peers) == 0 {
		return 0
	}
	var mean time.Duration
	for _, p := range peers {
		o, _ := offset(p)
		mean += o / time.Duration(len(peers)) // summing first could overflow
	}
	return d - mean
}

// ask asks the peers for their clocks, and returns the nodes of those that answer within
// answerWait.
func (a *Assigner) ask(ctx context.Context) (fresh []node, err error) {
	asked, err := a.tree.set(ctx, a.tree.peers(), []byte(a.peer), -1)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(answerWait); ; pause(ctx, askPause) {
		all, err := a.readPeers(ctx)
		if err != nil {
			return nil, err
		}
		fresh = fresh[:0]
		for _, p := range all {
			if p.zxid > asked.zxid {
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == len(all) || !time.Now().Before(deadline) {
			return fresh, nil
		}
	}
}

// readPeers reads the other instances' nodes that hold a clock, or a random choice of them when
// there are many.
func (a *Assigner) readPeers(ctx context.Context) ([]node, error) {
	nodes, err := call(ctx, a.session, func(c *zk.Conn) ([]node, error) {
		names, _, err := c.Children(a.tree.peers())
		if err != nil {
			return nil, err
		}
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var nodes []node
		for _, name := range names {
			if len(nodes) == maxPeers {
				break
			}
			if name == a.peer {
				continue
			}
			n, err := read(c, a.tree.peer(name))
			if errors.Is(err, zk.ErrNoNode) {
				continue // it has just gone
			}
			if err != nil {
				return nil, err
			}
			if _, ok := offset(n); ok {
				nodes = append(nodes, n)
			}
		}
		return nodes, nil
	})
	if err != nil {
		return nil, fmt.Errorf("assigner/zookeeper: reading the peers' clocks: %w", err)
	}
	return nodes, nil
}
