package segment_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/segment"
)

// staleList is a Source whose list is older than its answers.
type staleList struct {
	*fake
	list []segment.Row
}

func (s staleList) List(context.Context) ([]segment.Row, error) { return s.list, nil }

func (s staleList) Find(_ context.Context, tag string) (segment.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return segment.Row{}, errAway
	}
	if row := s.tags[tag]; row != nil {
		return *row, nil
	}
	return segment.Row{}, segment.ErrUnknownTag
}

// TestListOlderThanTag: a tag that came while the list was read, or was deleted and made again, is
// not taken for gone, nor is any tag while a Finder does not answer.
func TestListOlderThanTag(t *testing.T) {
	t.Parallel()
	f := staleList{fake: newFake(10)}
	f.tags["b"] = &segment.Row{Tag: "b", Step: 77}
	g := generator(t, f, &segment.Options{Refresh: -1})
	handles := map[string]*segment.Tag{}
	for _, name := range []string{"a", "b"} {
		var err error
		if handles[name], err = g.Tag(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	f.set(func(f *fake) { f.tags["b"].Step = 500 })
	if err := g.Refresh(t.Context()); err != nil { // its list is empty
		t.Fatal(err)
	}
	for name, handle := range handles {
		if id, err := handle.Next(t.Context()); err != nil {
			t.Errorf("Next of %s, which the list does not have yet = %d, %v", name, id, err)
		}
	}
	if s := stats(t, g, "b"); s.BaseStep != 500 {
		t.Errorf("the step of b is %d, want 500", s.BaseStep)
	}
	f.set(func(f *fake) { f.away = true; delete(f.tags, "a") })
	if err := g.Refresh(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("Refresh with the Finder away = %v, want errAway", err)
	}
	if err := g.Stats().ListErr; !errors.Is(err, errAway) {
		t.Errorf("Stats has the list's error %v, want errAway", err)
	}
	if id, err := handles["a"].Next(t.Context()); err != nil {
		t.Errorf("Next while nobody knows whether the tag is gone = %d, %v", id, err)
	}
	f.set(func(f *fake) { f.away = false })
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := handles["a"].Next(t.Context()); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of the tag that is gone = %d, %v, want ErrUnknownTag", id, err)
	}
}
