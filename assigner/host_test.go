package assigner

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"
)

func ExampleHost() {
	claim, err := Host().Assign(context.Background(), 1023)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker() >= 0, claim.Worker() <= 1023)
	fmt.Printf("%.3f\n", collisionProbability(10, 1023))
	// Output:
	// true true
	// 0.043
}

// fixed returns a Host whose facts and random bits stand still.
func fixed(facts []string, random byte) host {
	return host{
		facts:  func() []string { return slices.Clone(facts) },
		random: bytes.NewReader(bytes.Repeat([]byte{random}, 1<<12)),
	}
}

func TestHostStaysInRange(t *testing.T) {
	t.Parallel()
	for _, maxWorker := range []int64{0, 1, 2, 30, 1023, 1<<22 - 1, math.MaxInt64 - 1, math.MaxInt64} {
		for range 50 {
			c, err := Host().Assign(t.Context(), maxWorker)
			if err != nil {
				t.Fatal(err)
			}
			if w := c.Worker(); w < 0 || w > maxWorker {
				t.Errorf("maxWorker %d: worker %d, want it in range", maxWorker, w)
			}
		}
	}
}

// KeyWorker hashes interface names and pid: all containers of an image get the same worker id. Here
// they share all facts, and each still draws for itself.
func TestHostIdenticalContainersDiffer(t *testing.T) {
	t.Parallel()
	facts := []string{"1", "0", "eth0", "lo", "02:42:ac:11:00:02"}
	seen := map[int64]bool{}
	for range 64 {
		h := host{facts: func() []string { return slices.Clone(facts) }, random: rand.Reader}
		c, err := h.Assign(t.Context(), math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		seen[c.Worker()] = true
	}
	if len(seen) != 64 {
		t.Errorf("64 containers with the same facts drew %d worker ids of 2^63, want 64", len(seen))
	}
}

// Clones of a machine whose random generators are in the same state still differ in what the clone
// was given: its address.
func TestHostFactsCount(t *testing.T) {
	t.Parallel()
	base := []string{"machine", "boot", "1", "02:42:ac:11:00:02"}
	seen := map[int64]string{draw(base, math.MaxInt64): "base"}
	for i := range base {
		facts := slices.Clone(base)
		facts[i] += "3"
		w := draw(facts, math.MaxInt64)
		if other, ok := seen[w]; ok {
			t.Errorf("changing fact %d gives the worker id of %s, want another", i, other)
		}
		seen[w] = fmt.Sprint("fact ", i)
	}
	if draw([]string{"ab", "c"}, math.MaxInt64) == draw([]string{"a", "bc"}, math.MaxInt64) {
		t.Error("facts ab,c and a,bc give one worker id: the border between facts is lost")
	}
}

func TestHostRandomCounts(t *testing.T) {
	t.Parallel()
	a, err := fixed(nil, 1).Assign(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fixed(nil, 2).Assign(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if a.Worker() == b.Worker() {
		t.Error("different random bits gave one worker id")
	}
	broken := host{facts: func() []string { return nil }, random: bytes.NewReader(nil)}
	if _, err := broken.Assign(t.Context(), 1); err == nil {
		t.Error("Assign without random bits succeeded, want an error")
	}
}

// The spread is even for a number of worker ids that is not a power of two: chi-square with 99
// degrees of freedom, whose
// 99.99th percentile is 161. The facts are numbers, so the outcome is the same in every run.
func TestDrawIsEven(t *testing.T) {
	t.Parallel()
	const workers, draws = 100, 100_000
	var count [workers]float64
	for i := range draws {
		count[draw([]string{fmt.Sprint(i)}, workers-1)]++
	}
	var chi float64
	for _, n := range count {
		d := n - draws/workers
		chi += d * d / (draws / workers)
	}
	if chi > 161 {
		t.Errorf("chi-square is %.1f, want at most 161", chi)
	}
}

func TestHostFacts(t *testing.T) {
	t.Parallel()
	if facts := hostFacts(); len(facts) < 2+2*len(factFiles)+2*len(factLinks) {
		t.Errorf("got %d facts, want one per source at least", len(facts))
	}
	mac := func(s string) net.HardwareAddr {
		a, err := net.ParseMAC(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	got := hardwareAddrs([]net.Interface{
		{Name: "eth1", HardwareAddr: mac("02:00:00:00:00:02")},
		{Name: "lo"},
		{Name: "eth0", HardwareAddr: mac("02:00:00:00:00:01")},
		{Name: "eth0.7", HardwareAddr: mac("02:00:00:00:00:01")},
	})
	if want := []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}; !slices.Equal(got, want) {
		t.Errorf("hardwareAddrs = %q, want %q", got, want)
	}
}

func TestHostRefuses(t *testing.T) {
	t.Parallel()
	if _, err := Host().Assign(t.Context(), -1); !errors.Is(err, ErrWorkersExhausted) {
		t.Errorf("maxWorker -1: error %v, want ErrWorkersExhausted", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Host().Assign(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want context.Canceled", err)
	}
}

// The window begins no earlier than the Assign, so that the tick in which an earlier run stopped is
// left alone.
func TestOpenWindow(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "7")
	o := &LocalOptions{RepeatsAfterRestart: true}
	for name, a := range map[string]Assigner{
		"host": Host(), "stateful set": PodNamed("web-7", o), "env": Env("UIDRING_TEST_WORKER", o),
	} {
		before := time.Now().Round(0)
		c, err := InNewProcess(a).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		from, until := c.Window()
		if from.Before(before) || from.After(time.Now()) || !until.IsZero() {
			t.Errorf("%s: window [%v, %v), want [time of Assign, no end)", name, from, until)
		}
		if end, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil || !end.IsZero() {
			t.Errorf("%s: Extend = %v, %v, want no end and no error", name, end, err)
		}
		for range 2 {
			if err := c.Release(t.Context(), time.Now()); err != nil {
				t.Errorf("%s: Release: %v", name, err)
			}
		}
	}
}

// exactCollision multiplies the factors 1 - i/m as exact fractions.
func exactCollision(n, m int64) float64 {
	p := big.NewRat(1, 1)
	for i := range n {
		p.Mul(p, big.NewRat(m-i, m))
	}
	p.Sub(big.NewRat(1, 1), p)
	f, _ := p.Float64()
	return f
}

func TestCollisionProbability(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, maxWorker int64
		want         float64
	}{
		{-1, 1023, 0}, {0, 1023, 0}, {1, 0, 0}, {2, 0, 1}, {2, -1, 1},
		{1025, 1023, 1}, {math.MaxInt64, 1023, 1}, {math.MaxInt64, math.MaxInt64, 1},
		{2, 1023, 1.0 / 1024}, {2, 1<<22 - 1, 1.0 / (1 << 22)}, {2, math.MaxInt64, 0x1p-63},
		{23, 364, 0.5072972343239854},
		{3, 1<<60 - 1, 3 * 0x1p-60}, // 1 - (1-a)(1-2a): plain subtraction from 1 gives 0
	} {
		if got := collisionProbability(tt.n, tt.maxWorker); !near(got, tt.want) {
			t.Errorf("collisionProbability(%d, %d) = %g, want %g", tt.n, tt.maxWorker, got, tt.want)
		}
	}
	for _, m := range []int64{2, 10, 32, 1024, 1 << 22, 1<<31 - 1} {
		for _, n := range []int64{2, 3, 5, 10, 31, 32, 300} {
			if n > m {
				continue
			}
			if got, want := collisionProbability(n, m-1), exactCollision(n, m); !near(got, want) {
				t.Errorf("collisionProbability(%d, %d) = %g, want %g", n, m-1, got, want)
			}
		}
	}
}

// Above exactDraws the closed form has to give what adding term by term gives.
func TestCollisionProbabilityLarge(t *testing.T) {
	t.Parallel()
	for _, m := range []float64{1 << 22, 1 << 34, 1 << 45, 1 << 62} {
		for _, n := range []int64{exactDraws + 1, exactDraws + 1000, 1 << 20} {
			var sum, lost float64 // Kahan: the plain sum of a million terms is not good enough to judge by
			for i := range n {
				y := math.Log1p(-float64(i)/m) - lost
				s := sum + y
				lost, sum = (s-sum)-y, s
			}
			if got, want := collisionProbability(n, int64(m)-1), -math.Expm1(sum); !near(got, want) {
				t.Errorf("collisionProbability(%d, %g) = %.15g, want %.15g", n, m-1, got, want)
			}
		}
	}
	last := 0.0
	for n := int64(2); n < 1<<40; n *= 2 {
		p := collisionProbability(n, 1<<62)
		if p < last || p > 1 {
			t.Errorf("collisionProbability(%d, 2^62) = %g after %g, want it to grow towards 1", n, p, last)
		}
		last = p
	}
}

// near reports whether got is want to nine digits.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Abs(want) }

// What the documentation promises about Host is what Host does: 2,000 fleets of 40 instances on
// 1,024 worker ids, whose collisions are binomial with a standard deviation of 22.
func TestCollisionProbabilityIsObserved(t *testing.T) {
	t.Parallel()
	const fleets, n, maxWorker = 2000, 40, 1023
	collided := 0
	for fleet := range fleets {
		seen := map[int64]bool{}
		for i := range n {
			seen[draw([]string{fmt.Sprint(fleet), fmt.Sprint(i)}, maxWorker)] = true
		}
		if len(seen) < n {
			collided++
		}
	}
	want := collisionProbability(n, maxWorker) * fleets
	if math.Abs(float64(collided)-want) > 5*22 {
		t.Errorf("%d of %d fleets collided, want about %.0f", collided, fleets, want)
	}
}

// javaHash is String.hashCode of Java.
func javaHash(s string) int32 {
	var h int32
	for _, c := range s {
		h = 31*h + c
	}
	return h
}

// KeyWorker's own worker id is process (pid & 31) above machine (the hash of the interfaces' text &
// 31). A program that needs that very number computes it and uses Static. It is the same in all containers
// of an image; Host's is not.
func TestKeyWorkerIdentity(t *testing.T) {
	t.Parallel()
	original := func(pid int64, interfaces string) int64 { return (pid&31)<<5 | int64(javaHash(interfaces)&31) }
	const container = "name:eth0 (eth0)name:lo (lo)" // what NetworkInterface.toString gives: no address in it
	if got, want := javaHash("hello"), int32(99162322); got != want {
		t.Fatalf("javaHash = %d, want %d as in Java", got, want)
	}
	worker := original(1, container)
	c, err := Static(worker).Assign(t.Context(), 1023)
	if err != nil || c.Worker() != worker || worker>>5 != 1 {
		t.Errorf("Static(%d) = %v, %v, want that worker id, of process 1", worker, c, err)
	}
	if a, b := original(1, container), original(33, container); a != b {
		t.Errorf("the original gives %d and %d to pids 1 and 33, want them equal: only 1,024 combinations exist", a, b)
	}
	seen := map[int64]bool{}
	for range 20 {
		c, err := Host().Assign(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		seen[c.Worker()] = true
	}
	if len(seen) != 20 {
		t.Errorf("Host drew %d worker ids of 2^40 for 20 generators of one process, want 20", len(seen))
	}
}
