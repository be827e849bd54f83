//go:build linux

package zookeeper_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
)

// offline is a ZooKeeper behind a link that can be cut, and a cache file.
type offline struct {
	tb    testing.TB
	proxy *dbtest.Proxy
	file  string
}

func newOffline(tb testing.TB) *offline {
	return &offline{tb: tb, proxy: dbtest.NewProxy(tb, zoo.get(tb).addr), file: filepath.Join(tb.TempDir(), "cache")}
}

// start begins a run of the instance that has the cache file. Closing its Assigner is what a crash
// is to the file.
func (o *offline) start() *zookeeper.Assigner {
	o.tb.Helper()
	return open(o.tb, o.proxy.Addr(), zookeeper.Options{Instance: "one",
		CacheFile: o.file, SessionTimeout: 400 * time.Millisecond,
		MaxAhead: time.Hour, MaxSkew: zookeeper.AnySkew})
}

// refused starts offline and wants an error that wraps ErrUnavailable and says why the file is no
// help.
func (o *offline) refused(a *zookeeper.Assigner, want error, part string) {
	o.tb.Helper()
	ctx, cancel := context.WithTimeout(o.tb.Context(), 2*time.Second)
	defer cancel()
	c, err := a.Assign(ctx, maxWorker)
	if !errors.Is(err, zookeeper.ErrUnavailable) || !errors.Is(err, want) || !strings.Contains(err.Error(), part) {
		o.tb.Errorf("Assign = %v, %v, want ErrUnavailable and %v with %q", c, err, want, part)
	}
}

// The second start gets, without ZooKeeper, what the first one reserved and did not use, and
// nothing else; the third what the second left. When ZooKeeper is back, the claim is extended as if
// nothing had happened.
func TestCacheStartInside(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	var ledger ledger
	a := o.start()
	first := claim(t, a)
	extended, err := first.Extend(t.Context(), until(first).Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	ledger.add(first, extended, "first, crashed")
	_, reserved, err := a.ReadSlot(t.Context(), first.Worker())
	if err != nil || !reserved.Equal(extended.Add(10*time.Minute)) {
		t.Fatalf("reserved until %v, %v, want a second window beyond %v", reserved, err, extended)
	}
	a.Close()
	o.proxy.Set(dbtest.Refuse)

	b := o.start()
	second := claim(t, b)
	wantWorker(t, second, first.Worker())
	if from(second).Before(extended) || until(second).After(reserved) {
		t.Errorf("offline window [%v, %v), want it in [%v, %v)", from(second), until(second), extended, reserved)
	}
	used := from(second).Add(3 * time.Second)
	release(t, second, used)
	ledger.add(second, used, "second, released offline")
	b.Close()

	c := o.start()
	third := claim(t, c)
	if !from(third).Equal(used) {
		t.Errorf("offline window after a release begins at %v, want %v", from(third), used)
	}
	// To the end of what is reserved without ZooKeeper, and not beyond.
	if _, err := third.Extend(within(t, 100*time.Millisecond), reserved); err != nil {
		t.Errorf("offline Extend to %v, where the proven window ends: %v", reserved, err)
	}
	if got, err := third.Extend(within(t, 100*time.Millisecond),
		reserved.Add(time.Millisecond)); !errors.Is(err, zookeeper.ErrUnavailable) ||
		!got.Equal(reserved) {
		t.Errorf("offline Extend beyond the proven window = %v, %v, want %v and ErrUnavailable", got, err, reserved)
	}
	o.proxy.Set(dbtest.None)
	extend(t, third, reserved.Add(time.Minute)) // ZooKeeper is back
	ledger.add(third, until(third), "third")
	ledger.check(t)
}

// A start with ZooKeeper there goes on with the slot that the file proves, after what was used of
// it.
func TestCacheStartOnline(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	a := o.start()
	first := claim(t, a)
	used := time.Now().Truncate(time.Millisecond).Add(-time.Millisecond)
	release(t, first, used)
	_, stored, err := a.ReadSlot(t.Context(), 0)
	if err != nil || stored.Before(until(first)) {
		t.Errorf("after Release reserved until %v, %v, want it kept for the next start", stored, err)
	}
	a.Close()
	b := o.start()
	second := claim(t, b)
	wantWorker(t, second, first.Worker())
	if from(second).Before(used) || from(second).After(time.Now()) {
		t.Errorf("the window begins at %v, want it between %v and now", from(second), used)
	}
	// After a crash the window is used up by the file: the next start takes another slot rather than
	// borrow.
	b.Close()
	wantWorker(t, claim(t, o.start()), 1)
}

// A start that goes on with a proven slot while its clock has gone back reserves less than is
// reserved already. The stored end stays where it is: a file may have proven what lies below it.
func TestCacheKeepsReservation(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	a := o.start()
	first := claim(t, a)
	_, stored, err := a.ReadSlot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	release(t, first, time.Now().Add(-8*time.Minute))
	a.Close()
	b := o.start()
	b.SetClock((&wallClock{shift: -5 * time.Minute}).now)
	wantWorker(t, claim(t, b), 0)
	if _, again, err := b.ReadSlot(t.Context(), 0); err != nil || again.Before(stored) {
		t.Errorf("the start lowered the reservation from %v to %v, %v", stored, again, err)
	}
}

// The file does not prove anything beyond the window, after it, or for another purpose.
func TestCacheStartOutside(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	a := o.start()
	claim(t, a)
	a.Close()
	o.proxy.Set(dbtest.Refuse)

	late := o.start()
	late.SetClock((&wallClock{shift: 21 * time.Minute}).now)
	o.refused(late, zookeeper.ErrCache, "is over")
	o.refused(late, zookeeper.ErrCache, "is over")
	late.Close()

	behind := o.start()
	behind.SetClock((&wallClock{shift: -2 * time.Hour}).now)
	o.refused(behind, zookeeper.ErrClock, "MaxAhead is 1h0m0s")
	behind.Close()

	other := o.start()
	if _, err := other.BindLayout("another").Assign(within(t, 200*time.Millisecond),
		maxWorker); !errors.Is(err, zookeeper.ErrCache) {
		t.Errorf("another layout: error %v, want ErrCache", err)
	}
	other.Close()

	small := o.start()
	if _, err := small.Assign(within(t, time.Second), -1); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("maxWorker -1: error %v, want ErrWorkersExhausted", err)
	}
	c, err := small.Assign(within(t, 5*time.Second), 0)
	if err != nil {
		t.Fatal(err)
	}
	// One claim at a time in one process, too.
	o.refused(small, zookeeper.ErrCache, "in use by this process")
	// All of the file's window used: the next start has none.
	for end := until(c); ; {
		got, err := c.Extend(within(t, 50*time.Millisecond), end.Add(time.Minute))
		if err != nil {
			break
		}
		end = got
	}
	small.Close()
	o.refused(o.start(), zookeeper.ErrCache, "is over")
}

// One file, one Assigner at a time. The lock goes with the process, or with Close.
func TestCacheLocked(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	a := o.start()
	_, err := zookeeper.New([]string{o.proxy.Addr()}, &zookeeper.Options{CacheFile: o.file})
	if !errors.Is(err, zookeeper.ErrCache) || !strings.Contains(err.Error(), "in use by another Assigner") {
		t.Errorf("a second Assigner on one file: error %v, want ErrCache", err)
	}
	a.Close()
	o.start()
	if _, err := zookeeper.New([]string{"x"}, &zookeeper.Options{CacheFile: t.TempDir() +
		"/no/such/dir"}); !errors.Is(err, zookeeper.ErrCache) {
		t.Errorf("no directory: error %v, want ErrCache", err)
	}
}

// A copy proves nothing: the original may be in use elsewhere. Neither does a file from before the
// last boot, which is what a cloned disk or image looks like, nor one whose bytes have changed.
func TestCacheCopiesRefused(t *testing.T) {
	t.Parallel()
	// sh has the shell do to the file, $1, what people do to files; $2 is a path next to it.
	sh := func(script string) func(o *offline) error {
		return func(o *offline) error { return exec.Command("sh", "-ec", script, "sh", o.file, o.file+".2").Run() }
	}
	for _, tt := range []struct {
		name string
		harm func(o *offline) error
		boot string // what the kernel says when the file is read; empty: the truth
		use2 bool   // start from $2
		want string // part of the message; empty: accepted
	}{
		{name: "untouched", harm: sh(":")},
		{name: "renamed", harm: sh(`mv "$1" "$2"`), use2: true},
		{name: "copied", harm: sh(`cp -p "$1" "$2"`), use2: true, want: "it is a copy"},
		{name: "replaced by a copy", harm: sh(`cp -p "$1" "$2"; mv "$2" "$1"`), want: "it is a copy"},
		{name: "another boot", harm: sh(":"), boot: "another", want: "before the last boot"},
		{name: "a flipped digit", harm: sh(`sed -i 's/"worker":0/"worker":1/' "$1"`), want: "checksum"},
		{name: "cut short", harm: sh(`truncate -s 40 "$1"`), want: "unexpected end"},
		{name: "empty", harm: sh(`truncate -s 0 "$1"`), want: "unexpected end"},
		{name: "gone", harm: sh(`rm "$1"`), want: "no such file"},
		{name: "huge", harm: sh(`truncate -s 1M "$1"`), want: "more than 16384 bytes"},
	} {
		o := newOffline(t)
		options := zookeeper.Options{CacheFile: o.file, Root: root(t) + "/" +
			strings.ReplaceAll(tt.name, " ", "-"), SessionTimeout: 100 * time.Millisecond}
		a := open(t, o.proxy.Addr(), options)
		claim(t, a)
		a.Close()
		if err := tt.harm(o); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		o.proxy.Set(dbtest.Refuse)
		if tt.use2 {
			options.CacheFile += ".2"
		}
		b := open(t, o.proxy.Addr(), options)
		if tt.boot != "" {
			b.SetBoot(tt.boot)
		}
		patience := 300 * time.Millisecond // without a proof, Assign waits for ZooKeeper as long as it may
		if tt.want == "" {
			patience = 10 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := b.Assign(ctx, maxWorker)
		cancel()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.Is(err, zookeeper.ErrCache) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want ErrCache with %q", tt.name, err, tt.want)
		}
		go b.Close() // a second each without a server; the clean-up waits for it
	}
}

// The disk is full, or the file's directory gone: what cannot be recorded is not used.
func TestCacheNotWritable(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	dir := filepath.Join(filepath.Dir(o.file), "sub")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.file = filepath.Join(dir, "cache")
	c := claim(t, o.start())
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	end := until(c)
	if got, err := c.Extend(t.Context(),
		end.Add(time.Minute)); !errors.Is(err, zookeeper.ErrCache) || !got.Equal(end) || !until(c).Equal(end) {
		t.Errorf("Extend = %v, %v, want %v and ErrCache", got, err, end)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Extend(t.Context(), end.Add(time.Minute)); err != nil {
		t.Errorf("Extend when the directory is back: %v", err)
	}
}

// A start sends its claim, hears nothing and falls back to the file. The claim that it sent takes
// effect afterwards. That is one start and one claim, whichever way it is looked at.
func TestCacheLateWrite(t *testing.T) {
	t.Parallel()
	o := newOffline(t)
	a := o.start()
	first := claim(t, a)
	used := time.Now().Add(-time.Second).Truncate(time.Millisecond)
	release(t, first, used)
	a.Close()

	claims := request(opSet, "/slots/w-")
	o.proxy.SetOnce(dbtest.CutBeforeReply, func(b []byte) bool {
		if !claims(b) {
			return false
		}
		go o.proxy.Set(dbtest.Refuse) // waits until the proxy has noted what to do with this request
		return true
	})
	b := o.start()
	second := claim(t, b)
	if from(second).Before(used) {
		t.Errorf("the window begins at %v, before %v", from(second), used)
	}
	wantWorker(t, second, first.Worker())
	o.proxy.Set(dbtest.None)
	var ledger ledger
	extend(t, second, until(second).Add(time.Hour))
	ledger.add(second, until(second), "second")
	other := open(t, o.proxy.Addr(), zookeeper.Options{Instance: "other", MaxSkew: zookeeper.AnySkew})
	other.SetClock((&wallClock{shift: 24 * time.Hour}).now)
	third := claim(t, other)
	ledger.add(third, until(third), "third")
	ledger.check(t)
	if from(third).Before(until(second)) {
		t.Errorf("the next owner begins at %v, before %v", from(third), until(second))
	}
}
