package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/storekind"
)

// watch has a Proxy show each request to see before it passes it on.
func watch(p *dbtest.Proxy, see func(request []byte)) {
	p.SetMatching(dbtest.CutBeforeRequest, func(b []byte) bool { see(b); return false })
}

// count returns how many requests that match a Proxy has passed on from here on.
func count(p *dbtest.Proxy, match func([]byte) bool) *atomic.Int64 {
	var n atomic.Int64
	watch(p, func(b []byte) {
		if match(b) {
			n.Add(1)
		}
	})
	return &n
}

// first has a Proxy call f before it passes on the first request that matches.
func first(p *dbtest.Proxy, match func([]byte) bool, f func() error) (failed *error) {
	failed = new(error)
	*failed = errors.New("there was no such request")
	done := false
	watch(p, func(b []byte) {
		if !done && match(b) {
			done, *failed = true, f()
		}
	})
	return failed
}

// TestRequests: a List writes to the clock and reads the header, the names and each slot, a Get writes to the
// clock and reads a node, and Now writes to the clock, in one request each. All nodes outlive the session.
func TestRequests(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	n := srv.Prefix()
	s := openStore(t, p.Addr(), n)
	ctx := within(t, time.Minute)
	for _, name := range []string{"header", "slot-0"} { // the namespace is there for the second only
		if _, err := s.Put(ctx, lease.Entry{Name: name}, nil); err != nil {
			t.Fatal(err)
		}
		_, stat, err := raw(t, srv.Addr()).Get("/" + n + "/" + name)
		if err != nil || stat.EphemeralOwner != 0 {
			t.Errorf("%s is a node of session %d, %v, want a persistent one", name, stat.EphemeralOwner, err)
		}
	}
	if _, err := s.(assigner.Clock).Now(ctx); err != nil {
		t.Fatal(err)
	}
	var ops []uint32
	watch(p, func(b []byte) {
		if op := binary.BigEndian.Uint32(b[8:]); op != opPing {
			ops = append(ops, op)
		}
	})
	_, listed := s.List(ctx)
	_, got := s.Get(ctx, "header")
	_, told := s.(assigner.Clock).Now(ctx)
	p.Set(dbtest.None)
	want := []uint32{opSet, opGet, opChildren, opGet, opSet, opGet, opSet}
	if err := errors.Join(listed, got, told); err != nil || !slices.Equal(ops, want) {
		t.Errorf("List, Get and Now made the requests %v, %v, want %v", ops, err, want)
	}
}

// TestLostRead: a read fails if the answer to one of its requests is lost, and so does a Put before it writes,
// which is no conflict. What was read before and after would be taken for all there is.
func TestLostRead(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	n := srv.Prefix()
	s, c := openStore(t, p.Addr(), n), raw(t, srv.Addr())
	ctx := within(t, time.Minute)
	header, err := s.Put(ctx, lease.Entry{Name: "header"}, []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"slots", "used-7", "used-x"}
	for i := range 32 { // two for each goroutine that reads them
		names = append(names, fmt.Sprint("slot-", i))
	}
	for _, name := range names {
		if _, err := c.Create("/"+n+"/"+name, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	notes := func() ([]int64, error) { return s.(storekind.Noter).Notes(ctx) }
	list := func() error { _, err := s.List(ctx); return err }
	for i, lost := range []struct {
		request func([]byte) bool
		read    func() error
	}{
		{request(opGet, "/header"), list},
		{request(opChildren, "/"+n+"\x00"), list}, // the path ends there
		{request(opChildren, "/slots"), list},
		{request(opGet, "/slot-"), list},
		{request(opChildren, "/"+n), func() error { _, err := notes(); return err }},
		{request(opGet, "/header"), func() error { _, err := s.Put(ctx, header, nil); return err }},
		{request(opExists, "/"+n), func() error { // the first of a session
			_, err := openStore(t, p.Addr(), n).Get(ctx, "header")
			return err
		}},
	} {
		hits := p.Hits()
		p.SetOnce(dbtest.CutBeforeReply, lost.request)
		if err := lost.read(); err == nil || errors.Is(err, lease.ErrConflict) || p.Hits() != hits+1 {
			t.Errorf("read %d with an answer that is lost: %v, want an error that is no conflict", i, err)
		}
		p.Set(dbtest.None)
	}
	if all, err := openStore(t, p.Addr(), n).List(ctx); err != nil || len(all) != 33 {
		t.Errorf("the first List of a session = %d entries, %v, want 33", len(all), err)
	}
	if ids, err := notes(); err != nil || !slices.Equal(ids, []int64{7}) {
		t.Errorf("Notes = %v, %v, want 7", ids, err)
	}
}

// TestNothingThere: a namespace that is not there has no notes and no entries, and neither has one with the
// clock alone.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	s := openStore(t, srv.Addr(), srv.Prefix())
	ctx := within(t, time.Minute)
	for range 2 {
		if ids, err := s.(storekind.Noter).Notes(ctx); err != nil || len(ids) != 0 {
			t.Errorf("Notes = %v, %v, want none", ids, err)
		}
		if all, err := s.List(ctx); err != nil || len(all) != 0 {
			t.Errorf("List = %v, %v, want none", all, err)
		}
		now, err := s.(assigner.Clock).Now(ctx)
		if err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("Now = %v, %v, want the time", now, err)
		}
	}
}

// TestMeanwhile: another client changes nodes between two requests of one call. What both make is there,
// what is gone is left out, and a Put of what was read before the change is a conflict.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	n := srv.Prefix()
	s, c := openStore(t, p.Addr(), n+"/deep"), raw(t, srv.Addr())
	ctx := within(t, time.Minute)
	create := func(path string) func() error {
		return func() error {
			_, err := c.Create("/"+n+path, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		}
	}
	set := func() error { _, err := c.Set("/"+n+"/deep/header", []byte("theirs"), -1); return err }
	remove := func(path string) func() error { return func() error { return c.Delete("/"+n+path, -1) } }
	put := func(old lease.Entry) error { _, err := s.Put(ctx, old, []byte("ours")); return err }
	list := func() error {
		all, err := s.List(ctx)
		if len(all) != 1 || all[0].Name != "header" {
			return fmt.Errorf("List = %v, %w, want the header alone", all, err)
		}
		return err
	}
	ahead := func() error { // of what the node is when it is read, not when it is written
		e, err := s.Get(ctx, "header")
		if err != nil {
			return err
		}
		version, err := strconv.Atoi(e.Version)
		e.Version = strconv.Itoa(version + 1)
		return errors.Join(put(e), err)
	}
	current := func() error {
		e, err := s.Get(ctx, "header")
		return errors.Join(put(e), err)
	}
	above := func(b []byte) bool { return request(opCreate, "/"+n)(b) && !request(opCreate, "/deep")(b) }
	for _, tt := range []struct {
		name   string
		match  func([]byte) bool
		change func() error
		call   func() error
		want   error
	}{
		{"the namespace is made", above, create(""), func() error { return put(lease.Entry{Name: "header"}) }, nil},
		{"the clock is made", request(opCreate, "/clock"), create("/deep/clock"), func() error {
			_, err := s.(assigner.Clock).Now(ctx)
			return err
		}, nil},
		{"the header is replaced", request(opSet, "/header"), set, current, lease.ErrConflict},
		{"the header is removed", request(opSet, "/header"), remove("/deep/header"), current, lease.ErrConflict},
		{"the header is made", request(opCreate, "/header"), create("/deep/header"), current, lease.ErrConflict},
		{"a slot is removed", request(opGet, "/slot-0"), remove("/deep/slot-0"), func() error {
			return errors.Join(create("/deep/slot-0")(), list())
		}, nil},
		{"old slots are removed", request(opChildren, "/slots"), remove("/deep/slots"), func() error {
			return errors.Join(create("/deep/slots")(), list())
		}, nil},
	} {
		failed := first(p, tt.match, tt.change)
		if err := tt.call(); !errors.Is(err, tt.want) {
			t.Errorf("%s meanwhile: %v, want %v", tt.name, err, tt.want)
		}
		p.Set(dbtest.None)
		if *failed != nil {
			t.Errorf("%s meanwhile: %v", tt.name, *failed)
		}
	}
	first(p, request(opSet, "/header"), set)
	if err := ahead(); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put in place of a version that comes meanwhile with another value: %v, want ErrConflict", err)
	}
}

// TestRights: a namespace that an account may not make is a refusal, not a conflict.
func TestRights(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	n := srv.Prefix()
	if _, err := raw(t, srv.Addr()).Create("/"+n, nil, 0, zk.WorldACL(zk.PermRead)); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, srv.Addr(), n+"/a/b")
	ctx := within(t, time.Minute)
	_, put := s.Put(ctx, lease.Entry{Name: "header"}, nil)
	_, now := s.(assigner.Clock).Now(ctx)
	for _, err := range []error{put, now} {
		if !errors.Is(err, lease.ErrRefused) || !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("without the rights: %v, want a refusal", err)
		}
	}
}

// TestListStops: a List whose ctx has ended reads no more slots. Many that go on would keep ZooKeeper from
// the lists that are waited for.
func TestListStops(t *testing.T) {
	t.Parallel()
	srv := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, srv.Addr())
	n := srv.Prefix()
	s, c := openStore(t, p.Addr(), n), raw(t, srv.Addr())
	ctx := within(t, time.Minute)
	if _, err := s.Put(ctx, lease.Entry{Name: "header"}, nil); err != nil {
		t.Fatal(err)
	}
	const slots, atATime = 100, 16
	for i := range slots {
		if _, err := c.Create(fmt.Sprint("/", n, "/slot-", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	ends, end := context.WithCancel(ctx)
	var read atomic.Int64
	watch(p, func(b []byte) {
		if request(opGet, "/slot-")(b) {
			read.Add(1)
			end()
		}
	})
	all, err := s.List(ends)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("List = %d entries, %v, want Canceled", len(all), err)
	}
	for last := int64(-1); last != read.Load() && read.Load() <= 2*atATime; {
		last = read.Load()
		time.Sleep(2 * time.Second) // for a List that goes on
	}
	if n := read.Load(); n < 1 || n > 2*atATime {
		t.Errorf("List read %d slots of %d, want at most those on their way as it ended", n, slots)
	}
}
