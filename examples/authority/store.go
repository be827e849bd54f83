// Package authority shows how to take worker ids from a store of your own. Store is all that has to
// be written, and package lease does the rest. This Store keeps its entries in memory, where yours
// makes a request.
package authority

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/uidring/uidring/assigner/lease"
)

// Store is a lease.Store on a toy server. It is safe for concurrent use.
type Store struct {
	server *Server
	prefix string // begins the keys of one universe of ids
}

// NewStore returns a Store for the ids of one application.
func NewStore(server *Server, application string) *Store {
	return &Store{server, application + "/"}
}

// List returns all entries of the application.
func (s *Store) List(ctx context.Context) ([]lease.Entry, error) {
	found, err := s.server.List(ctx, s.prefix)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.prefix, err)
	}
	entries := make([]lease.Entry, 0, len(found))
	for key, item := range found {
		entries = append(entries, entry(key[len(s.prefix):], item))
	}
	return entries, nil
}

// Get returns one entry. A key that the server does not have is no error.
func (s *Store) Get(ctx context.Context, name string) (lease.Entry, error) {
	item, err := s.server.Get(ctx, s.prefix+name)
	if err != nil {
		return lease.Entry{}, fmt.Errorf("reading %s: %w", s.prefix+name, err)
	}
	return entry(name, item), nil
}

// Put is the compare-and-set. An error that leaves its outcome open, such as a timeout, is returned
// as it is: package lease reads the entry again, and the token in its value tells the outcome.
func (s *Store) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	var revision int64 // 0: the key must not exist
	if old.Version != "" {
		var err error
		if revision, err = strconv.ParseInt(old.Version, 10, 64); err != nil {
			return lease.Entry{}, fmt.Errorf("version %q: %w", old.Version, err)
		}
	}
	item, ok, err := s.server.CompareAndSet(ctx, s.prefix+old.Name, revision, string(value))
	if err != nil {
		return lease.Entry{}, fmt.Errorf("writing %s: %w", s.prefix+old.Name, err)
	}
	if !ok {
		return lease.Entry{}, fmt.Errorf("writing %s: %w", s.prefix+old.Name, lease.ErrConflict)
	}
	return entry(old.Name, item), nil
}

// entry returns the entry of an item. The entry of an item that does not exist has no version.
func entry(name string, item Item) lease.Entry {
	e := lease.Entry{Name: name}
	if item.Revision > 0 {
		e.Value, e.Version = []byte(item.Value), strconv.FormatInt(item.Revision, 10)
	}
	return e
}

// Server is the toy server: it keeps values under keys and counts its changes. The zero value is
// empty and ready to use. Its methods are safe for concurrent use.
type Server struct {
	mu    sync.Mutex
	last  int64           // guarded by mu: the revision of the newest change
	items map[string]Item // guarded by mu: by key
}

// Item is a value and the revision of the change that wrote it. Revision 0 means that there is no
// value.
type Item struct {
	Value    string
	Revision int64
}

// Get returns an item. It shows every change that was answered before.
func (s *Server) Get(ctx context.Context, key string) (Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[key], ctx.Err()
}

// List returns the items whose keys begin with a prefix.
func (s *Server) List(ctx context.Context, prefix string) (map[string]Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]Item{}
	for key, item := range s.items {
		if len(key) > len(prefix) && key[:len(prefix)] == prefix {
			found[key] = item
		}
	}
	return found, ctx.Err()
}

// CompareAndSet writes a value if the item still has the given revision. ok reports whether it did.
func (s *Server) CompareAndSet(
	ctx context.Context, key string, revision int64, value string,
) (item Item, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return item, false, err
	}
	if s.items[key].Revision != revision {
		return item, false, nil
	}
	if s.items == nil {
		s.items = map[string]Item{}
	}
	s.last++
	s.items[key] = Item{value, s.last}
	return s.items[key], true, nil
}
