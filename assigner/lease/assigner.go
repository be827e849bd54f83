package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/storekind"
)

// Assigner assigns worker ids from a Store. It is an assigner.LayoutBinder: all claims of a store
// have one layout, or layouts that follow one another. It is safe for concurrent use and starts no
// goroutine.
type Assigner struct{ space space }

var (
	_ assigner.LayoutBinder = (*Assigner)(nil)
	_ assigner.Clock        = (*Assigner)(nil)
)

// New returns an Assigner of the worker ids in a store. nil options mean the defaults. It does not
// call the store.
func New(store Store, options *Options) (*Assigner, error) {
	if store == nil {
		return nil, errors.New("lease: the store is nil")
	}
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, ok := store.(assigner.Clock); !ok && o.MaxSkew != 0 {
		return nil, fmt.Errorf("lease: MaxSkew is %v, want 0: %s tells no time",
			o.MaxSkew, place(store))
	}
	s := space{store: store, options: o, memory: newMemory(), local: time.Now}
	if options != nil {
		s.asked = options.Reach
	}
	s.index, _ = store.(Index)
	s.numberer, _ = store.(Numberer)
	_, s.fresh = store.(storekind.Fresh)
	return &Assigner{s}, nil
}

// Close closes the Store if it is an io.Closer, as those of what zookeeper.Open and etcd.Open
// return are. Assigners of the same Store that BindLayout returned end with it.
func (a *Assigner) Close() error {
	if c, ok := a.space.store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// String says where the entries are, as the Store does.
func (a *Assigner) String() string { return place(a.space.store) }

// Now returns the Store's time without a claim, and fails if the Store tells none. It implements
// assigner.Clock.
func (a *Assigner) Now(ctx context.Context) (time.Time, error) {
	if _, ok := a.space.store.(assigner.Clock); !ok {
		return time.Time{}, fmt.Errorf("lease: %s tells no time", a)
	}
	return a.space.tell(ctx)
}

// BindLayout returns an Assigner for claims of one layout. The first claim of a store decides which
// layout that is. If that claim names none, a later one brings its layout only if no window that
// was given out reaches beyond the layout's epoch.
func (a *Assigner) BindLayout(layout string) assigner.Assigner {
	bound := *a
	bound.space.layout = layout
	return &bound
}

// BindOwner returns an Assigner with another Options.Owner. Package service names the client by it.
func (a *Assigner) BindOwner(owner string) assigner.Assigner {
	bound := *a
	bound.space.options.Owner = owner
	return &bound
}

// Assign claims a worker id: a free one, of those that have been free for longest unless others are
// faster there, or a new one. A worker id is free when it was given back, or when its window has
// passed, by the store's clock if it has one, else by the process's. If there is neither a free nor
// a new one, Assign fails with assigner.ErrWorkersExhausted and says when the next one is free.
//
// Many processes may claim at once. Assign waits for a store that is away until ctx ends, with
// growing pauses. A refusal is an error at once. Errors: ErrRefused, ErrSkew,
// assigner.ErrWentBack, assigner.ErrWorkersExhausted, assigner.ErrLayoutMismatch,
// assigner.ErrSuperseded, and ctx's.
func (a *Assigner) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	s := a.space
	first, last := s.options.First, s.options.Last
	if last == 0 {
		last = maxWorker
	}
	if last > maxWorker || first > last {
		return nil, fmt.Errorf("%w: lease: First is %d and Last %d, the layout's highest "+
			"worker id is %d",
			assigner.ErrWorkersExhausted, first, last, maxWorker)
	}
	if len(s.layout) > maxLayout {
		return nil, fmt.Errorf("lease: the layout's text has %d bytes, want at most %d",
			len(s.layout), maxLayout)
	}
	s.options.Owner = s.options.owner()
	c := newClaimer(&s, first, last)
	defer c.close()
	var got *claim
	err := s.retry(ctx, "claiming a worker id", 0, func(ctx context.Context) (err error) {
		if err = c.compareClocks(ctx); err == nil {
			got, err = c.claim(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, ok := s.store.(assigner.Clock); ok {
		return clockClaim{got}, nil
	}
	return got, nil
}
