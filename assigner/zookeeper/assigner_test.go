package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

func ExampleNew() {
	a, err := zookeeper.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, &zookeeper.Options{
		Root:     "/ids/orders",
		Instance: "orders-1:8080",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close() // after the generator that uses it
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claim, err := a.Assign(ctx, 1023)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker())
}

// In Leaf two nodes that start at the same instant on an empty tree both get worker id 0: the node
// that creates the root takes 0 without looking at the number that ZooKeeper gave it.
func TestConcurrentFirstStarts(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	const n = 24
	var ledger ledger
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		a := open(t, s.addr, zookeeper.Options{Instance: fmt.Sprint("node-", i)})
		wg.Go(func() {
			<-begin
			c, err := a.BindLayout("twitter").Assign(within(t, time.Minute), n-1)
			if err != nil {
				t.Errorf("node %d: %v", i, err)
				return
			}
			ledger.add(c, until(c), fmt.Sprint("node ", i))
		})
	}
	close(begin)
	wg.Wait()
	if got := ledger.check(t); got != n {
		t.Errorf("%d claims, want %d", got, n)
	}
	seen := map[int64]bool{}
	for _, st := range ledger.all {
		seen[st.worker] = true
	}
	if len(seen) != n {
		t.Errorf("%d worker ids for %d nodes in 0..%d, want one each", len(seen), n, n-1)
	}
}

// An instance finds its slot again by its name, whatever the name looks like. Leaf splits names at
// hyphens.
func TestReuseByName(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	names := []string{"web-1:8080", "web-1-8080", "web", "web-", "-web-0000000001", "a/b",
		"10.0.0.1:80", "žluťoučký-kůň", `"{}"`, strings.Repeat("x-", 127)}
	for want, name := range names {
		a := open(t, s.addr, zookeeper.Options{Instance: name})
		c := claim(t, a) // the window stays reserved, so that the next name needs a slot of its own
		wantWorker(t, c, int64(want))
		a.Close()
	}
	// A day later all windows have passed. In the opposite order, each finds its own, not the lowest.
	for want, name := range slices.Backward(names) {
		a := open(t, s.addr, zookeeper.Options{Instance: name, MaxSkew: zookeeper.AnySkew})
		clock := wallClock{shift: 24 * time.Hour}
		a.SetClock(clock.now)
		wantWorker(t, claim(t, a), int64(want))
	}
}

// Two instances with the same name, or one that starts again while its window is reserved, do not
// share a slot.
func TestSameNameTwice(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	wantWorker(t, claim(t, open(t, s.addr, zookeeper.Options{Instance: "twin"})), 0)
	wantWorker(t, claim(t, open(t, s.addr, zookeeper.Options{Instance: "twin"})), 1)
}

// Leaf never gives a worker id to another node. Here slots whose window has passed are taken, and
// the window of the new owner begins where the old one ended or later.
func TestRecycling(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	clock := new(wallClock)
	next := 0
	start := func() (assigner.Claim, error) {
		a := open(t, s.addr, zookeeper.Options{Instance: fmt.Sprint("pod-", next), MaxSkew: zookeeper.AnySkew})
		a.SetClock(clock.now)
		next++
		return a.Assign(within(t, time.Minute), 2)
	}
	var ledger ledger
	var claims []assigner.Claim
	for want := range int64(3) {
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		wantWorker(t, c, want)
		claims = append(claims, c)
	}
	if _, err := start(); !errors.Is(err, assigner.ErrWorkersExhausted) ||
		!strings.Contains(err.Error(), "all 3 slots of 0..2") {
		t.Fatalf("a fourth claim of three: error %v, want ErrWorkersExhausted with the number of slots", err)
	}
	for _, i := range []int{2, 1} {
		used := clock.now().Truncate(time.Second).Add(90 * time.Second)
		release(t, claims[i], used)
		ledger.add(claims[i], used, fmt.Sprint("first ", i))
	}
	ledger.add(claims[0], until(claims[0]), "first 0")
	if _, err := start(); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Fatalf("claim before the released windows have passed: error %v, want ErrWorkersExhausted", err)
	}
	clock.step(2 * time.Minute)
	for range 2 { // in any order
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		if c.Worker() == 0 {
			t.Error("worker id 0 was claimed, whose window has not passed")
		}
		ledger.add(c, until(c), "second")
	}
	clock.step(time.Hour) // the crashed one's window has passed as well
	seen := map[int64]bool{}
	for range 3 {
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		seen[c.Worker()] = true
		ledger.add(c, until(c), "third")
	}
	if len(seen) != 3 {
		t.Errorf("workers = %v, want 0 to 2 once each", seen)
	}
	ledger.check(t)
	// The numbers stay below the limit however often instances come and go.
	for range 5 {
		clock.step(time.Hour)
		if c, err := start(); err != nil || c.Worker() > 2 {
			t.Fatalf("after an hour: %v, %v, want a worker id in 0..2", c, err)
		}
	}
}

// TestSpread: instances that find several free slots take them in an order of their own. In one
// order for all, a fleet with new names would try the same slots one after the other.
func TestSpread(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	const n = 12
	var ascending [2][]int64
	for round := range ascending {
		var claims []assigner.Claim
		for i := range n {
			o := zookeeper.Options{Instance: fmt.Sprintf("pod-%d-%d", round, i)}
			c := claim(t, open(t, s.addr, o))
			claims = append(claims, c)
			ascending[round] = append(ascending[round], c.Worker())
		}
		for _, c := range claims {
			release(t, c, time.Time{})
		}
	}
	if !slices.IsSorted(ascending[0]) || slices.IsSorted(ascending[1]) {
		t.Errorf("workers = %v, then %v, want new ones in order and free ones not", ascending[0], ascending[1])
	}
}

func TestSlotsBeyondReach(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	a := open(t, s.addr, zookeeper.Options{Instance: "one", MaxSkew: zookeeper.AnySkew})
	wantWorker(t, claim(t, a), 0)
	// What others may have put there: nothing of it stops a start, and no slot of an unknown form is
	// given away.
	for name, data := range map[string]string{"w-0000000001": "nonsense",
		"w-0000000002": `{"v":2,"until_ms":0}`, "w-3": "x", "other": "x"} {
		if err := a.PutSlot(t.Context(), name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, s.addr, zookeeper.Options{Instance: "two", MaxSkew: zookeeper.AnySkew})
	clock := wallClock{shift: time.Hour}
	b.SetClock(clock.now)
	wantWorker(t, claim(t, b), 0)
	if c, err := b.Assign(t.Context(), 2); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Assign = %v, %v, want ErrWorkersExhausted: slots 1 and 2 make no sense", c, err)
	}
	// A slot that was deleted is never given again: what its owner stamped is forgotten.
	for worker := range int64(3) {
		if err := a.DeleteSlot(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
	}
	if c := claim(t, a); c.Worker() < 3 {
		t.Errorf("worker %d after its slot was deleted, want a new number", c.Worker())
	}
	if _, err := a.Assign(t.Context(), -1); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("maxWorker -1: error %v, want ErrWorkersExhausted", err)
	}
}

func TestLayoutMismatch(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	a := open(t, s.addr, zookeeper.Options{})
	const one, other = "41-10-12-0/1ms@2010-11-04T01:42:54.657Z", "28-22-13-0/1s@2026-01-01T00:00:00Z"
	claim(t, a.BindLayout(one))
	claim(t, a.BindLayout(one))
	_, err := a.BindLayout(other).Assign(t.Context(), maxWorker)
	if !errors.Is(err, assigner.ErrLayoutMismatch) || !strings.Contains(err.Error(), one) ||
		!strings.Contains(err.Error(), other) {
		t.Errorf("error %v, want ErrLayoutMismatch that shows both layouts", err)
	}
	claim(t, open(t, s.addr, zookeeper.Options{Root: root(t) + "/other"}).BindLayout(other))

	// Two first starts with different layouts at the same instant: one of them has to lose.
	for i := range 10 {
		a := open(t, s.addr, zookeeper.Options{Root: fmt.Sprintf("%s/race%d", root(t), i)})
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for j, layout := range []string{one, other} {
			wg.Go(func() { _, errs[j] = a.BindLayout(layout).Assign(within(t, 10*time.Second), maxWorker) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), assigner.ErrLayoutMismatch) {
			t.Errorf("two layouts on an empty root: errors %v, want one ErrLayoutMismatch", errs)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	const secret = "correct-horse"
	o := zookeeper.Options{Digest: "ids:" + secret}
	wantWorker(t, claim(t, open(t, s.addr, o)), 0)
	wantWorker(t, claim(t, open(t, s.addr, o)), 1)
	for _, digest := range []string{"", "ids:wrong"} {
		_, err := open(t, s.addr, zookeeper.Options{Digest: digest}).Assign(within(t, 5*time.Second), maxWorker)
		if err == nil || errors.Is(err, zookeeper.ErrUnavailable) ||
			!strings.Contains(err.Error(), "not authenticated") {
			t.Errorf("digest %q: error %v, want ZooKeeper's refusal at once", digest, err)
		}
	}
	_, err := zookeeper.New([]string{s.addr}, &zookeeper.Options{Digest: secret})
	if !errors.Is(err, zookeeper.ErrOptions) || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v, want ErrOptions without the secret", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    zookeeper.Options
		want string
	}{
		{zookeeper.Options{Root: "ids"}, `Root is "ids"`},
		{zookeeper.Options{Root: "/"}, `Root is "/"`},
		{zookeeper.Options{Root: "/ids/"}, `Root is "/ids/"`},
		{zookeeper.Options{Root: "/a//b"}, `Root is "/a//b"`},
		{zookeeper.Options{Instance: strings.Repeat("x", 256)}, "Instance is 256 bytes, want at most 255"},
		{zookeeper.Options{Window: time.Millisecond}, "Window is 1ms, want 1s..8784h0m0s"},
		{zookeeper.Options{Window: -1}, "Window is -1ns"},
		{zookeeper.Options{Window: 367 * 24 * time.Hour}, "Window is 8808h0m0s"},
		{zookeeper.Options{SessionTimeout: time.Millisecond}, "SessionTimeout is 1ms, want 100ms.."},
		{zookeeper.Options{MaxAhead: -1}, "MaxAhead is -1ns, want 0s.."},
		{zookeeper.Options{MaxSkew: -2}, "MaxSkew is -2ns"},
		{zookeeper.Options{Digest: "x"}, "Digest has no colon"},
	} {
		a, err := zookeeper.New([]string{"127.0.0.1:1"}, &tt.o)
		if !errors.Is(err, zookeeper.ErrOptions) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want ErrOptions with %q", err, tt.want)
		}
		if a != nil {
			a.Close()
		}
	}
	if _, err := zookeeper.New(nil, nil); !errors.Is(err, zookeeper.ErrOptions) {
		t.Errorf("no servers: error %v, want ErrOptions", err)
	}
}

// The client library logs to the standard logger by default; ours keeps silent.
func TestSilent(t *testing.T) {
	var out bytes.Buffer
	defer log.SetOutput(log.Default().Writer()) // evaluated here
	log.SetOutput(&out)
	a := open(t, "127.0.0.1:1", zookeeper.Options{}) // nobody listens there
	if _, err := a.Assign(within(t, 200*time.Millisecond), maxWorker); err == nil {
		t.Error("Assign without a server succeeded")
	}
	a.Close()
	if out.Len() > 0 {
		t.Errorf("logged %q, want nothing", out.String())
	}
}
