package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

const (
	// The names of entries.
	headerName = storekind.HeaderName
	slotPrefix = storekind.SlotPrefix
	notePrefix = storekind.NotePrefix

	clock   = "clock" // the node that is written to before a read
	readers = 16      // how many nodes List reads at a time
)

// store keeps entries in the nodes under a root. The versions that ZooKeeper counts are those of
// the entries.
//
// A read follows a write to a node of its own, the clock. A majority of the servers takes part in a
// write, and a session reads nothing older than what it has written, so the read shows every change
// that was answered before it began. A sync would not ensure that: a leader that has just lost the
// majority answers it. ZooKeeper notes its time with the write.
type store struct {
	session *session
	root    string
	acl     []zk.ACL
}

var (
	_ lease.Store    = (*store)(nil)
	_ assigner.Clock = (*store)(nil)
)

func newStore(s *session, o *Options) *store {
	acl := zk.WorldACL(zk.PermAll)
	if user, password, ok := strings.Cut(o.Digest, ":"); ok {
		acl = zk.DigestACL(zk.PermAll, user, password)
	}
	return &store{session: s, root: o.Namespace, acl: acl}
}

// Close ends the session. Another Close does nothing.
func (s *store) Close() error {
	s.session.close()
	return nil
}

// String says where the nodes are.
func (s *store) String() string {
	return "ZooKeeper at " + strings.Join(s.session.servers, ",") + " under " + s.root
}

func (s *store) path(name string) string { return s.root + "/" + name }

// read calls f, which reads, after a write to the clock. At is ZooKeeper's time then, or zero where
// nothing has made the clock yet. All of it is in one session: another one may read what is older.
func read[T any](ctx context.Context, s *store,
	f func(c *zk.Conn, at time.Time) (T, error)) (T, error) {
	return call(ctx, s.session, func(c *zk.Conn) (none T, err error) {
		session := c.SessionID()
		if session == 0 { // the link's first is yet to begin, and a first answer comes in it
			if _, _, err := c.Exists(s.root); err != nil {
				return none, err
			}
			session = c.SessionID()
		}
		at, err := s.tick(c)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = c.Sync(s.root)
		}
		if err != nil {
			return none, err
		}
		got, err := f(c, at)
		if err == nil && c.SessionID() != session {
			return none, errors.New("zookeeper: the session ended during a read")
		}
		return got, err
	})
}

// tick writes to the clock, and returns ZooKeeper's time.
func (s *store) tick(c *zk.Conn) (time.Time, error) {
	stat, err := c.Set(s.path(clock), nil, -1)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(stat.Mtime), nil
}

// Fresh says that List begins with a write to the clock, too.
func (s *store) Fresh() {}

// List reads the header, then the names, and then the nodes of the slots.
func (s *store) List(ctx context.Context) ([]lease.Entry, error) {
	return read(ctx, s, func(c *zk.Conn, at time.Time) ([]lease.Entry, error) {
		header, err := s.node(c, headerName, at)
		if err != nil {
			return nil, err
		}
		names, _, err := c.Children(s.root)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if err := s.refuseOldForm(c, names); err != nil {
			return nil, err
		}
		all, err := s.nodes(ctx, c, slices.DeleteFunc(names, func(name string) bool {
			return !strings.HasPrefix(name, slotPrefix)
		}))
		if header.Version != "" {
			all = append(all, header)
		}
		return all, err
	})
}

// Notes reads the names. It implements storekind.Noter.
func (s *store) Notes(ctx context.Context) ([]int64, error) {
	return read(ctx, s, func(c *zk.Conn, _ time.Time) (ids []int64, err error) {
		names, _, err := c.Children(s.root)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		for _, name := range names {
			if id, ok := storekind.WorkerOf(name, notePrefix); ok {
				ids = append(ids, id)
			}
		}
		return ids, err
	})
}

// nodes reads nodes, readers at a time. Those that do not exist any more are left out. It ends with
// ctx, because nobody waits for the rest.
func (s *store) nodes(ctx context.Context, c *zk.Conn, names []string) ([]lease.Entry, error) {
	all, errs := make([]lease.Entry, len(names)), make(chan error, readers)
	for i := range readers {
		go func() { // ends when the library has answered, like the call around it
			var err error
			for j := i; j < len(names) && err == nil; j += readers {
				if err = ctx.Err(); err == nil {
					all[j], err = s.node(c, names[j], time.Time{})
				}
			}
			errs <- err
		}()
	}
	var err error
	for range readers {
		err = errors.Join(err, <-errs)
	}
	return slices.DeleteFunc(all, func(e lease.Entry) bool { return e.Version == "" }), err
}

// node returns the entry of a node. That of a node that does not exist has no Version.
func (s *store) node(c *zk.Conn, name string, at time.Time) (lease.Entry, error) {
	data, stat, err := c.Get(s.path(name))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return lease.Entry{Name: name, At: at}, nil
	case err != nil:
		return lease.Entry{}, err
	}
	return entry(name, data, stat.Version, at), nil
}

// Get reads a node.
func (s *store) Get(ctx context.Context, name string) (lease.Entry, error) {
	return read(ctx, s, func(c *zk.Conn, at time.Time) (lease.Entry, error) {
		return s.node(c, name, at)
	})
}

func entry(name string, data []byte, version int32, at time.Time) lease.Entry {
	return lease.Entry{Name: name, Value: data, Version: strconv.Itoa(int(version)), At: at}
}

// Put creates a node, or replaces its data if it is the one that was read. ZooKeeper compares the
// version, which it counts for each node: one that went back to an older state comes to the same
// version again with other data. So Put looks at the data first. Between the two ZooKeeper cannot
// go back, because a server of an older state takes no session that has seen a later one.
func (s *store) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	e, err := call(ctx, s.session, func(c *zk.Conn) (lease.Entry, error) {
		if old.Version == "" {
			return entry(old.Name, value, 0, time.Time{}), s.create(c, s.path(old.Name), value)
		}
		version, err := strconv.ParseUint(old.Version, 10, 31) // -1 would stand for any version
		if err != nil {
			return lease.Entry{}, fmt.Errorf("%w: %w", lease.ErrRefused, err)
		}
		there, err := s.node(c, old.Name, time.Time{})
		if err != nil {
			return there, err
		}
		if there.Version != old.Version || !bytes.Equal(there.Value, old.Value) {
			return there, lease.ErrConflict
		}
		stat, err := c.Set(s.path(old.Name), value, int32(version))
		if err != nil {
			return lease.Entry{}, err
		}
		return entry(old.Name, value, stat.Version, time.UnixMilli(stat.Mtime)), nil
	})
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) ||
		errors.Is(err, zk.ErrNoNode) {
		return lease.Entry{}, lease.ErrConflict
	}
	return e, err
}

// create makes a persistent node, after those above it that are missing.
func (s *store) create(c *zk.Conn, path string, data []byte) error {
	_, err := c.Create(path, data, 0, s.acl)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	above := path[:strings.LastIndexByte(path, '/')]
	if err := s.create(c, above, nil); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	_, err = c.Create(path, data, 0, s.acl)
	return err
}

// Now returns the time of the leader, and makes the clock if nothing has.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	return call(ctx, s.session, func(c *zk.Conn) (time.Time, error) {
		at, err := s.tick(c)
		if !errors.Is(err, zk.ErrNoNode) {
			return at, err
		}
		err = s.create(c, s.path(clock), nil)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return at, err
		}
		return s.tick(c)
	})
}

// refuseOldForm refuses a root whose slots have the form from before package lease kept them. The
// processes that use them do not see the entries of a store.
func (s *store) refuseOldForm(c *zk.Conn, names []string) error {
	if !slices.Contains(names, "slots") {
		return nil
	}
	slots, _, err := c.Children(s.path("slots"))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, name := range slots {
		if strings.HasPrefix(name, "w-") {
			return fmt.Errorf("%w: %s/%s is a slot of an earlier version, whose windows this one "+
				"does not know: stop all processes of that version, wait until the longest Window "+
				"has passed, twice that with a CacheFile, and take another Namespace",
				lease.ErrRefused, s.path("slots"), name)
		}
	}
	return nil
}
