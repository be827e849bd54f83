package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// tree is the nodes under Options.Root. Its methods are safe for concurrent use.
type tree struct {
	s     *session
	root  string
	first int64 // the worker id of slot 0
	acl   []zk.ACL
}

// slotPrefix begins the names of slots; ZooKeeper appends ten digits.
const slotPrefix = "w-"

func newTree(s *session, o *Options) *tree {
	t := &tree{s: s, root: o.Root, first: o.First, acl: zk.WorldACL(zk.PermAll)}
	if user, password, ok := strings.Cut(o.Digest, ":"); ok {
		t.acl = zk.DigestACL(zk.PermAll, user, password)
	}
	return t
}

func (t *tree) slots() string           { return t.root + "/slots" }
func (t *tree) peers() string           { return t.root + "/peers" }
func (t *tree) peer(name string) string { return t.root + "/peers/" + name }

// ensure makes the nodes that everything is under. The node of the slots holds the first worker id,
// empty for 0, so that all slots of a root count from the same one.
func (t *tree) ensure(ctx context.Context) error {
	for _, path := range append(parents(t.root), t.peers()) {
		if err := t.make(ctx, path, nil); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	want := ""
	if t.first > 0 {
		want = strconv.FormatInt(t.first, 10)
	}
	err := t.make(ctx, t.slots(), []byte(want))
	if !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	n, err := t.get(ctx, t.slots())
	if err != nil {
		return err
	}
	if has := string(n.data); has != want {
		return fmt.Errorf("%w: First is %d, and the worker ids under %s begin at %s; give each "+
			"range a root of its own", ErrOptions, t.first, t.root, cmp.Or(has, "0"))
	}
	return nil
}

// parents returns the paths /a, /a/b and /a/b/c for /a/b/c.
func parents(path string) []string {
	var all []string
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return append(all, path)
}

// make creates a persistent node unless it is there, and returns zk.ErrNodeExists if it is. It
// looks first, because creating is a write that all of ZooKeeper takes part in.
func (t *tree) make(ctx context.Context, path string, data []byte) error {
	_, err := call(ctx, t.s, func(c *zk.Conn) (struct{}, error) {
		exists, _, err := c.Exists(path)
		if err == nil && exists {
			err = zk.ErrNodeExists
		} else if err == nil {
			_, err = c.Create(path, data, 0, t.acl)
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("assigner/zookeeper: creating %s: %w", path, err)
	}
	return nil
}

// node is what a node holds.
type node struct {
	data    []byte
	version int32
	mtime   int64 // ZooKeeper's clock at the last write, Unix milliseconds
	zxid    int64 // the transaction that was the last write
}

// get reads a node as it is after every write that ended before the call: the sync makes the server
// that is asked catch up with its leader.
func (t *tree) get(ctx context.Context, path string) (node, error) {
	n, err := call(ctx, t.s, func(c *zk.Conn) (node, error) {
		if _, err := c.Sync(path); err != nil {
			return node{}, err
		}
		return read(c, path)
	})
	if err != nil {
		return n, fmt.Errorf("assigner/zookeeper: reading %s: %w", path, err)
	}
	return n, nil
}

func read(c *zk.Conn, path string) (node, error) {
	data, stat, err := c.Get(path)
	if err != nil {
		return node{}, err
	}
	return node{data, stat.Version, stat.Mtime, stat.Mzxid}, nil
}

// set replaces a node's data if its version is still the given one, and returns the new version; -1
// stands for any.
func (t *tree) set(ctx context.Context, path string, data []byte, version int32) (node, error) {
	n, err := call(ctx, t.s, func(c *zk.Conn) (node, error) {
		stat, err := c.Set(path, data, version)
		if err != nil {
			return node{}, err
		}
		return node{data, stat.Version, stat.Mtime, stat.Mzxid}, nil
	})
	if err != nil {
		return n, fmt.Errorf("assigner/zookeeper: writing %s: %w", path, err)
	}
	return n, nil
}

// remove deletes a node whatever its version. That it is gone already is no error.
func (t *tree) remove(ctx context.Context, path string) error {
	_, err := call(ctx, t.s, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(path, -1)
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("assigner/zookeeper: deleting %s: %w", path, err)
	}
	return nil
}

// slot returns the path of a worker id's slot.
func (t *tree) slot(worker int64) string { return t.slots() + "/" + slotName(worker-t.first) }

// worker returns the worker id of a slot. ok is false for a name that ZooKeeper did not make.
func (t *tree) worker(name string) (worker int64, ok bool) {
	n, ok := slotNumber(name)
	return t.first + n, ok
}

// slotName returns the name of a slot, as ZooKeeper makes it.
func slotName(number int64) string { return fmt.Sprintf("%s%010d", slotPrefix, number) }

// slotNumber returns the number of a slot. ok is false for a name that ZooKeeper did not make.
func slotNumber(name string) (number int64, ok bool) {
	digits, found := strings.CutPrefix(name, slotPrefix)
	n, err := strconv.ParseInt(digits, 10, 32)
	return n, found && err == nil && n >= 0 && name == slotName(n)
}
