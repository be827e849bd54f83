package etcd_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestPut: a Put succeeds only if the entry is as it was read, in revision and value, or if there
// is none and none was read.
func TestPut(t *testing.T) {
	t.Parallel()
	srv := servers.Etcd(t)
	s := etcd.NewStore(client(t, srv), "/"+srv.Prefix())
	ctx := t.Context()
	none := lease.Entry{Name: "header"}
	first, err := s.Put(ctx, none, []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Put(ctx, first, []byte("2"))
	if err != nil {
		t.Fatal(err)
	}
	// A restored cluster uses revisions again, so another value may have the same one.
	another := second
	another.Value = []byte("3")
	for what, old := range map[string]lease.Entry{"none": none, "the first": first, "another value": another} {
		if _, err := s.Put(ctx, old, []byte("x")); !errors.Is(err, lease.ErrConflict) {
			t.Errorf("Put in place of %s = %v, want ErrConflict", what, err)
		}
	}
	got, err := s.Get(ctx, "header")
	if err != nil || got.Version != second.Version || string(got.Value) != "2" || got.Name != second.Name {
		t.Errorf("Get = %+v, %v, want %+v", got, err, second)
	}
	if got, err := s.Get(ctx, "slot-0"); err != nil || got.Version != "" || got.Name != "slot-0" {
		t.Errorf("Get of none = %+v, %v, want its name and no version", got, err)
	}
	if all, err := s.List(ctx); err != nil || len(all) != 1 || all[0].Version != second.Version {
		t.Errorf("List = %+v, %v, want one entry", all, err)
	}
	none.Version = "v1" // another store's
	if _, err := s.Put(ctx, none, []byte("x")); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("Put in place of a version that is no revision = %v, want ErrRefused", err)
	}
}

// TestNotes: List leaves the notes out, and Notes has their worker ids alone.
func TestNotes(t *testing.T) {
	t.Parallel()
	srv := servers.Etcd(t)
	claimtest.Notes(t.Context(), t, etcd.NewStore(client(t, srv), "/"+srv.Prefix()))
}
