package zookeeper_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestPut: a Put succeeds only on the version that was read, or if there is no entry and none was
// read. A late write of a process that was overtaken fails.
func TestPut(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	namespace := srv.Prefix() + "/deep"
	s := openStore(t, srv.Addr(), namespace)
	ctx := within(t, time.Minute)
	none := lease.Entry{Name: "header"}
	if got, err := s.Get(ctx, none.Name); err != nil || got.Version != "" {
		t.Errorf("Get without a namespace = %+v, %v, want no version", got, err)
	}
	first, err := s.Put(ctx, none, []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Put(ctx, first, []byte("2"))
	if err != nil {
		t.Fatal(err)
	}
	gone := lease.Entry{Name: "slot-0", Version: second.Version}
	for what, old := range map[string]lease.Entry{"none": none, "the first": first, "an entry that is gone": gone} {
		if _, err := s.Put(ctx, old, []byte("x")); !errors.Is(err, lease.ErrConflict) {
			t.Errorf("Put in place of %s = %v, want ErrConflict", what, err)
		}
	}
	for _, version := range []string{"-1", "x", "2147483648"} { // -1 would be any version
		_, err := s.Put(ctx, lease.Entry{Name: none.Name, Version: version}, nil)
		if !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Put with version %s = %v, want ErrRefused", version, err)
		}
	}
	got, err := s.Get(ctx, none.Name)
	if err != nil || got.Version != second.Version || string(got.Value) != "2" || got.Name != second.Name {
		t.Errorf("Get = %+v, %v, want %+v", got, err, second)
	}
	if got, err := s.Get(ctx, gone.Name); err != nil || got.Version != "" {
		t.Errorf("Get of none = %+v, %v, want no version", got, err)
	}
	// ZooKeeper counts versions for each node, so they come again after a restore.
	c, path := raw(t, srv.Addr()), "/"+namespace+"/header"
	if err := c.Delete(path, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(path, []byte("restored"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	stat, err := c.Set(path, []byte("repaired"), 0)
	if err != nil || strconv.Itoa(int(stat.Version)) != second.Version {
		t.Fatalf("Set made version %v, %v, want %s", stat, err, second.Version)
	}
	if _, err := s.Put(ctx, second, []byte("x")); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put in place of another value with the same version = %v, want ErrConflict", err)
	}
	now, err := s.(assigner.Clock).Now(ctx) // makes the clock
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{none.Name, gone.Name} {
		if got, err := s.Get(ctx, name); err != nil || got.Name != name || got.At.Before(now) {
			t.Errorf("Get = %+v, %v, want the name %s and a time from %v on", got, err, name, now)
		}
	}
	if all, err := s.List(ctx); err != nil || len(all) != 1 || all[0].Version != second.Version {
		t.Errorf("List = %+v, %v, want one entry", all, err)
	}
}

// TestReadAfterWrite: a read whose write to the clock may not have been carried out fails. It could
// show an old state.
func TestReadAfterWrite(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	s := openStore(t, p.Addr(), srv.Prefix())
	assign(t, newAssigner(t, s, lease.Options{}))
	for name, read := range map[string]func() error{
		"Get":  func() error { _, err := s.Get(within(t, time.Minute), "header"); return err },
		"List": func() error { _, err := s.List(within(t, time.Minute)); return err },
	} {
		p.SetOnce(dbtest.CutBeforeRequest, request(opSet, "/clock"))
		if err := read(); err == nil {
			t.Errorf("%s succeeded without its write", name)
		}
		do(t, persist(within(t, time.Minute), func(context.Context) error { return read() }))
	}
}

// TestReadInOneSession: a read fails in which one session ends and another begins. The new one may be
// with a server that lags behind what the old one has seen. The error of a read that fails is its own.
func TestReadInOneSession(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	s := openStore(t, p.Addr(), srv.Prefix())
	assign(t, newAssigner(t, s, lease.Options{}))
	var failure error
	expire := func() error {
		p.Set(dbtest.Refuse)
		p.Cut()
		time.Sleep(2 * time.Second) // five times as long as a session lives
		p.Set(dbtest.None)
		return failure
	}
	ctx := within(t, time.Minute)
	if err := zookeeper.ReadAround(ctx, s, func() error { return nil }); err != nil {
		t.Errorf("a read in one session: %v", err)
	}
	if err := zookeeper.ReadAround(ctx, s, expire); err == nil || !strings.Contains(err.Error(), "the session ended") {
		t.Errorf("a read in two sessions: %v, want an error", err)
	}
	fresh := openStore(t, p.Addr(), srv.Prefix())
	if err := zookeeper.ReadAround(ctx, fresh, expire); err == nil ||
		!strings.Contains(err.Error(), "the session ended") {
		t.Errorf("the first read of all, in two sessions: %v, want an error", err)
	}
	failure = errors.New("the read's own")
	if err := zookeeper.ReadAround(ctx, fresh, expire); !errors.Is(err, failure) {
		t.Errorf("a read in two sessions that fails: %v, want its own error", err)
	}
	if e, err := s.Get(ctx, "header"); err != nil || e.Version == "" || e.At.IsZero() {
		t.Errorf("Get in the new session = %+v, %v, want the header and a time", e, err)
	}
}

// TestOldForm: a root that an earlier version made, with a node for each worker id under slots, is
// refused, and the error says what to do. An empty node of that name is none.
func TestOldForm(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	c := raw(t, s.Addr())
	create := func(path, data string, flags int32) {
		t.Helper()
		if _, err := c.Create("/"+n+path, []byte(data), flags, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	create("", "", 0)
	create("/layout", "41-10-12-0/1ms@2010-11-04T01:42:54.657Z", 0)
	create("/peers", "", 0)
	create("/slots", "", 0)
	a := open(t, s.Addr(), n, lease.Options{})
	old := assign(t, a)
	create("/slots/w-", `{"v":1,"token":"x","instance":"one","until_ms":1}`, zk.FlagSequence)
	_, listed := a.Slots(t.Context())
	_, assigned := a.Assign(t.Context(), maxWorker)
	for _, err := range []error{listed, assigned, a.Restore(t.Context(), 1, time.Hour, "")} {
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "/slots/w-0000000000 is a slot "+
			"of an earlier version") || !strings.Contains(err.Error(), "take another Namespace") {
			t.Errorf("a root of an earlier version: %v, want a refusal that says what to do", err)
		}
	}
	extend(t, old, time.Minute)
	wantWorker(t, open(t, s.Addr(), n+"/ids", lease.Options{}), 0)
}

// TestNotes: List leaves the notes out, and Notes has their worker ids alone.
func TestNotes(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	claimtest.Notes(within(t, time.Minute), t, openStore(t, srv.Addr(), srv.Prefix()))
}
