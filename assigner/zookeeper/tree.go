package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"github.com/uidring/uidring/assigner"
)

// tree is the nodes under Options.Root. Its methods are safe for concurrent use.
type tree struct {
	s      *session
	root   string
	digest string
	acl    []zk.ACL
	authed atomic.Bool // digest was handed to the library, which repeats it after a reconnect
}

// slotPrefix begins the names of slots; ZooKeeper appends ten digits.
const slotPrefix = "w-"

func newTree(s *session, o *Options) *tree {
	t := &tree{s: s, root: o.Root, digest: o.Digest, acl: zk.WorldACL(zk.PermAll)}
	if user, password, ok := strings.Cut(o.Digest, ":"); ok {
		t.acl = zk.DigestACL(zk.PermAll, user, password)
	}
	return t
}

func (t *tree) slots() string           { return t.root + "/slots" }
func (t *tree) peers() string           { return t.root + "/peers" }
func (t *tree) peer(name string) string { return t.root + "/peers/" + name }

// ensure authenticates and makes the nodes that everything is under.
func (t *tree) ensure(ctx context.Context) error {
	if t.digest != "" && !t.authed.Load() {
		_, err := call(ctx, t.s, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.AddAuth("digest", []byte(t.digest))
		})
		if err != nil {
			return fmt.Errorf("assigner/zookeeper: authenticating: %w", err)
		}
		t.authed.Store(true)
	}
	for _, path := range append(parents(t.root), t.slots(), t.peers()) {
		if err := t.make(ctx, path, nil); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
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

// make creates a persistent node unless it is there, and returns zk.ErrNodeExists if it is. It looks first, because
// creating is a write that all of ZooKeeper takes part in.
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

// bind makes layout the root's layout if it has none, and refuses with assigner.ErrLayoutMismatch if it has another. One
// node that is only ever created decides, so two first starts with different layouts cannot both succeed. An empty layout
// is not checked and not recorded.
func (t *tree) bind(ctx context.Context, layout string) error {
	if layout == "" {
		return nil
	}
	path := t.root + "/layout"
	err := t.make(ctx, path, []byte(layout))
	if !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	n, err := t.get(ctx, path)
	if err != nil {
		return err
	}
	if string(n.data) != layout {
		return fmt.Errorf("%w: %s holds ids of layout %q, this generator's is %q; give it a root of its own",
			assigner.ErrLayoutMismatch, t.root, n.data, layout)
	}
	return nil
}

// node is what a node holds.
type node struct {
	data    []byte
	version int32
	mtime   int64 // ZooKeeper's clock at the last write, Unix milliseconds
}

// get reads a node as it is after every write that ended before the call: the sync makes the server that is asked catch up
// with its leader.
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
	return node{data, stat.Version, stat.Mtime}, nil
}

// set replaces a node's data if its version is still the given one, and returns the new version; -1 stands for any.
func (t *tree) set(ctx context.Context, path string, data []byte, version int32) (node, error) {
	n, err := call(ctx, t.s, func(c *zk.Conn) (node, error) {
		stat, err := c.Set(path, data, version)
		if err != nil {
			return node{}, err
		}
		return node{data, stat.Version, stat.Mtime}, nil
	})
	if err != nil {
		return n, fmt.Errorf("assigner/zookeeper: writing %s: %w", path, err)
	}
	return n, nil
}

// remove deletes a node whatever its version. That it is gone already is no error.
func (t *tree) remove(ctx context.Context, path string) error {
	_, err := call(ctx, t.s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("assigner/zookeeper: deleting %s: %w", path, err)
	}
	return nil
}

// slotName returns the name of a worker id's slot, as ZooKeeper makes it.
func slotName(worker int64) string { return fmt.Sprintf("%s%010d", slotPrefix, worker) }

// slotNumber returns the worker id of a slot. ok is false for a name that ZooKeeper did not make.
func slotNumber(name string) (worker int64, ok bool) {
	digits, found := strings.CutPrefix(name, slotPrefix)
	n, err := strconv.ParseInt(digits, 10, 32)
	return n, found && err == nil && n >= 0 && name == slotName(n)
}
