package bitsalloc_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// exactTick computes TickAt without any bound on the numbers.
func exactTick(l bitsalloc.Layout, t time.Time) *big.Int {
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	d := nanos(t)
	d.Sub(d, nanos(l.Epoch))
	return d.Div(d, big.NewInt(int64(l.Tick))) // Div rounds down for a positive divisor
}

// held returns v within -2^62..2^62.
func held(v *big.Int) int64 {
	bound := big.NewInt(1 << 62)
	if v.Cmp(bound) > 0 {
		return 1 << 62
	}
	if v.Cmp(bound.Neg(bound)) < 0 {
		return -1 << 62
	}
	return v.Int64()
}

// after65Bits returns the instant 2^65 nanoseconds after or, with sign -1, before t, or nearer by a
// few nanoseconds.
func after65Bits(t time.Time, sign, nearer int64) time.Time {
	const sec, nano = (1 << 65) / 1000000000, (1 << 65) % 1000000000
	return time.Unix(t.Unix()+sign*sec, int64(t.Nanosecond())+sign*(nano-nearer))
}

func TestTickAt(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	half := epoch.Add(500 * time.Millisecond)
	early := time.Date(1960, 4, 23, 18, 23, 33, 267e6, time.UTC)
	for _, tc := range []struct {
		name  string
		tick  time.Duration
		epoch time.Time
		at    time.Time
		want  int64
	}{
		{"the epoch", time.Second, epoch, epoch, 0},
		{"the last nanosecond of tick 0", time.Second, epoch, epoch.Add(time.Second - 1), 0},
		{"tick 1", time.Second, epoch, epoch.Add(time.Second), 1},
		{"a nanosecond before the epoch", time.Second, epoch, epoch.Add(-1), -1},
		{"a second before the epoch", time.Second, epoch, epoch.Add(-time.Second), -1},
		{"a second and a nanosecond before", time.Second, epoch, epoch.Add(-time.Second - 1), -2},
		{"an epoch inside a second", time.Second, half, half.Add(time.Second - 1), 0},
		{"an epoch inside a second, tick 1", time.Second, half, half.Add(time.Second), 1},
		{"an epoch inside a second, before", time.Second, half, half.Add(-1), -1},
		{"another zone", time.Second, epoch, epoch.In(time.FixedZone("", 3600)).Add(time.Minute), 60},
		{"milliseconds", time.Millisecond, epoch, epoch.Add(time.Second), 1000},
		{"nanoseconds", time.Nanosecond, epoch, epoch.Add(time.Hour), 3600e9},
		{"nanoseconds, 300 years", time.Nanosecond, epoch, time.Date(2326, 1, 1, 0, 0, 0, 0, time.UTC), 1 << 62},
		{"odd tick", 7 * time.Millisecond, epoch, epoch.Add(20 * time.Millisecond), 2},
		{"odd tick before", 7 * time.Millisecond, epoch, epoch.Add(-20 * time.Millisecond), -3},
		{"long tick", 90 * time.Second, epoch, epoch.Add(3 * time.Minute), 2},
		{"long tick with a fraction", 1500 * time.Millisecond, epoch, epoch.Add(3 * time.Second), 2},
		{"before 1970", time.Millisecond, early, early.Add(time.Hour), 3600e3},
		{"before 1970, whole seconds", time.Second, early, time.UnixMilli(0), 305789786},
		{"milliseconds, 300 years", time.Millisecond, epoch, time.Date(2326, 1, 1, 0, 0, 0, 0, time.UTC), 9467020800e3},
		{"milliseconds, 300 years back", time.Millisecond, epoch,
			time.Date(1726, 1, 1, 0, 0, 0, 0, time.UTC), -9467107200e3},
		{"milliseconds, 300 years back and a nanosecond", time.Millisecond, epoch,
			time.Date(1726, 1, 1, 0, 0, 0, -1, time.UTC), -9467107200e3 - 1},
		{"milliseconds, 300 years less a nanosecond", time.Millisecond, epoch,
			time.Date(2326, 1, 1, 0, 0, 0, -1, time.UTC), 9467020800e3 - 1},
		{"2^65 nanoseconds in twos: the quotient has 65 bits", 2, epoch, after65Bits(epoch, 1, 0), 1 << 62},
		{"2^65 nanoseconds back", 2, epoch, after65Bits(epoch, -1, 0), -1 << 62},
		{"2^65-1 nanoseconds back: the quotient is all ones", 2, epoch, after65Bits(epoch, -1, 1), -1 << 62},
		{"the zero time", time.Second, epoch, time.Time{}, -63902822400},
		{"the end of time", time.Second, epoch, time.Unix(math.MaxInt64, 999999999), 1 << 62},
		{"the start of time", time.Second, epoch, time.Unix(math.MinInt64, 0), -1 << 62},
		{"the end of time in 292-year ticks", math.MaxInt64, epoch, time.Unix(math.MaxInt64, 999999999), 1e9 - 1},
		{"the start of time in 292-year ticks", math.MaxInt64, epoch, time.Unix(math.MinInt64, 0), -1e9 - 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, bitsalloc.Layout{Tick: tc.tick, Epoch: tc.epoch})
			if got := a.TickAt(tc.at); got != tc.want {
				t.Errorf("TickAt(%v) = %d, want %d", tc.at, got, tc.want)
			}
			if exact := exactTick(a.Layout(), tc.at); held(exact) != tc.want {
				t.Errorf("the test's own figure is wrong: want %d, exact is %d", tc.want, exact)
			}
		})
	}
}

// TestTickAtHighFirstTick: ticks of a nanosecond that begin high up do not wrap around, however far
// from the epoch the instant is.
func TestTickAtHighFirstTick(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const first = 1<<62 - 10
	a := mustNew(t, bitsalloc.Layout{TimeBits: 62, SeqBits: 1, Tick: 1, Epoch: epoch, FirstTick: first})
	for years := 1; years < 400; years++ {
		for _, sign := range []int{1, -1} {
			at := epoch.AddDate(sign*years, 0, 0)
			want := first + held(exactTick(a.Layout(), at))
			if got := a.TickAt(at); got != want || (got > a.MaxTick()) != (sign > 0) {
				t.Fatalf("TickAt(%v) = %d, want %d", at, got, want)
			}
		}
		at := epoch.AddDate(years, 0, 0)
		if a.First(at) != a.MaxID() {
			t.Fatalf("First(%v) = %d, want MaxID", at, a.First(at))
		}
	}
}

func TestTimeAt(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 750, time.UTC)
	for _, tc := range []struct {
		name string
		tick time.Duration
		at   int64
		want time.Time
	}{
		{"the epoch", time.Second, 0, epoch},
		{"a second", time.Second, 1, epoch.Add(time.Second)},
		{"the default's expiry", time.Second, 1 << 28, epoch.Add(1 << 28 * time.Second)},
		{"before the epoch", time.Second, -1, epoch.Add(-time.Second)},
		{"milliseconds", time.Millisecond, 1001, epoch.Add(1001 * time.Millisecond)},
		{"milliseconds before", time.Millisecond, -1, epoch.Add(-time.Millisecond)},
		{"the last of 41 bits", time.Millisecond, 1<<41 - 1, epoch.Add((1<<41 - 1) * time.Millisecond)},
		{"nanoseconds", time.Nanosecond, 1<<62 - 1, epoch.Add(1<<62 - 1)},
		{"odd", 999999999, 1e9, epoch.AddDate(0, 0, 0).Add(999999999e9)},
		{"one 292-year tick", math.MaxInt64, 1, epoch.Add(math.MaxInt64)},
		{"one 292-year tick back", math.MaxInt64, -1, epoch.Add(-math.MaxInt64)},
		{"two 292-year ticks", math.MaxInt64, 2, epoch.Add(math.MaxInt64).Add(math.MaxInt64)},
		{"2^61 seconds", time.Second, 1 << 61, time.Unix(epoch.Unix()+1<<61, 750)},
		{"held at 2^62 seconds", time.Second, 1 << 62, time.Unix(epoch.Unix()+1<<62, 750)},
		{"held beyond", time.Second, math.MaxInt64, time.Unix(epoch.Unix()+1<<62, 750)},
		{"held beyond 128 bits", math.MaxInt64, math.MaxInt64, time.Unix(epoch.Unix()+1<<62, 750)},
		{"held where 2^64 seconds begin", 4 * time.Second, 1 << 62, time.Unix(epoch.Unix()+1<<62, 750)},
		{"held half a second beyond 2^62 seconds", 1500 * time.Millisecond, (1<<63 + 1) / 3,
			time.Unix(epoch.Unix()+1<<62, 750)},
		{"the lowest tick of nanoseconds", 1, math.MinInt64, epoch.Add(math.MinInt64)},
		{"held before", math.MaxInt64, math.MinInt64, time.Unix(epoch.Unix()-1<<62, 750)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, bitsalloc.Layout{Tick: tc.tick, Epoch: epoch})
			got := a.TimeAt(tc.at)
			if !got.Equal(tc.want) {
				t.Errorf("TimeAt(%d) = %v, want %v", tc.at, got, tc.want)
			}
			if got.Location() != time.UTC {
				t.Errorf("TimeAt(%d) is in %v, want UTC", tc.at, got.Location())
			}
		})
	}
}

// TestTimeAtFirstTick: ticks count from FirstTick also where the difference exceeds an int64.
func TestTimeAtFirstTick(t *testing.T) {
	t.Parallel()
	const first = 1<<62 - 1
	epoch := time.Unix(0, 0)
	a := mustNew(t, bitsalloc.Layout{TimeBits: 62, SeqBits: 1, Tick: 1, Epoch: epoch, FirstTick: first})
	for tick, want := range map[int64]time.Time{
		first:         epoch,
		first + 1:     epoch.Add(1),
		first - 1:     epoch.Add(-1),
		math.MaxInt64: epoch.Add(math.MaxInt64 - first),
		math.MinInt64: epoch.Add(math.MinInt64).Add(-first),
	} {
		if got := a.TimeAt(tick); !got.Equal(want) {
			t.Errorf("TimeAt(%d) = %v, want %v", tick, got, want)
		}
	}
}

// Expires is the end of the last tick, also where that lies beyond what a Duration or an int64 of
// nanoseconds can hold.
func TestExpires(t *testing.T) {
	t.Parallel()
	for _, l := range append(presets(),
		bitsalloc.Layout{TimeBits: 40, SeqBits: 1},                                    // the year 36867
		bitsalloc.Layout{TimeBits: 61, SeqBits: 1},                                    // 73 billion years
		bitsalloc.Layout{TimeBits: 62, SeqBits: 1, Tick: 1},                           // 146 years
		bitsalloc.Layout{TimeBits: 62, SeqBits: 1, Tick: time.Millisecond},            // 146 million years
		bitsalloc.Layout{TimeBits: 30, SeqBits: 1, Tick: math.MaxInt64 / (1 << 30)},   // 292 years
		bitsalloc.Layout{TimeBits: 1, SeqBits: 1, Epoch: time.Unix(-62135596799, 1)},  // the year 1
		bitsalloc.Layout{TimeBits: 50, SeqBits: 1, Epoch: time.Unix(253402300799, 9)}, // the year 9999
	) {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, l)
			end := a.Expires()
			if got := a.TickAt(end); got != a.MaxTick()+1 {
				t.Errorf("TickAt(Expires) = %d, want MaxTick+1 = %d", got, a.MaxTick()+1)
			}
			if got := a.TickAt(end.Add(-1)); got != a.MaxTick() {
				t.Errorf("TickAt(Expires - 1 ns) = %d, want MaxTick = %d", got, a.MaxTick())
			}
			if begin := a.TimeAt(a.MaxTick()); !begin.Before(end) || !a.Layout().Epoch.Before(end) {
				t.Errorf("Expires is %v, want it after the epoch and the last tick's begin, %v", end, begin)
			}
		})
	}
}

// A lifetime beyond what time.Time orders is held there, not wrapped into the past.
func TestExpiresSaturates(t *testing.T) {
	t.Parallel()
	for _, l := range []bitsalloc.Layout{
		{TimeBits: 62, SeqBits: 1},
		{TimeBits: 62, SeqBits: 1, Tick: time.Hour},
		{TimeBits: 62, SeqBits: 1, Tick: math.MaxInt64},
		{TimeBits: 40, SeqBits: 1, Tick: math.MaxInt64, Epoch: time.Unix(253402300799, 999999999)},
	} {
		a := mustNew(t, l)
		end := a.Expires()
		if want := a.Layout().Epoch.Unix() + 1<<62; end.Unix() != want || !end.After(a.Layout().Epoch) {
			t.Errorf("%v: Expires() = %v, want 2^62 seconds after the epoch", l, end)
		}
		if tick := a.TickAt(end); tick < 0 || tick > a.MaxTick()+1 {
			t.Errorf("%v: TickAt(Expires) = %d, want 0..%d", l, tick, a.MaxTick()+1)
		}
	}
}

// FuzzTick: TickAt agrees with arithmetic that knows no bounds, and TimeAt gives the start of the
// tick.
func FuzzTick(f *testing.F) {
	f.Add(int64(time.Second), int64(1767225600), int64(0), int64(1800000000), int64(5))
	f.Add(int64(time.Millisecond), int64(1288834974), int64(657e6), int64(3487858230), int64(209e6))
	f.Add(int64(1), int64(-305789787), int64(267e6), int64(9223372036), int64(999999999))
	f.Add(int64(math.MaxInt64), int64(253402300799), int64(999999999), int64(math.MinInt64), int64(0))
	f.Add(int64(1), int64(0), int64(0), int64(math.MinInt64), int64(0))
	f.Add(int64(7), int64(-62135596799), int64(1), int64(math.MaxInt64), int64(1))
	f.Fuzz(func(t *testing.T, tick, epochSec, epochNano, sec, nano int64) {
		epochNano, nano = epochNano&(1<<29-1), nano&(1<<29-1)
		a, err := bitsalloc.New(bitsalloc.Layout{Tick: time.Duration(tick), Epoch: time.Unix(epochSec, epochNano)})
		if err != nil {
			return
		}
		at := time.Unix(sec, nano)
		got := a.TickAt(at)
		if want := held(exactTick(a.Layout(), at)); got != want {
			t.Fatalf("%v: TickAt(%d s, %d ns) = %d, want %d", a.Layout(), sec, nano, got, want)
		}
		// sec doubles as a tick count: any int64 has an instant.
		begin := a.TimeAt(sec)
		apart := new(big.Int).Mul(big.NewInt(sec), big.NewInt(int64(a.Layout().Tick)))
		if bound := new(big.Int).Mul(big.NewInt(1<<62), big.NewInt(1e9)); apart.CmpAbs(bound) < 0 {
			if back := exactTick(a.Layout(), begin); back.Int64() != sec || !back.IsInt64() {
				t.Fatalf("%v: TimeAt(%d) = %v lies in tick %d", a.Layout(), sec, begin, back)
			}
			if before := exactTick(a.Layout(), begin.Add(-1)); before.Int64() != sec-1 {
				t.Fatalf("%v: TimeAt(%d) = %v is not the tick's begin: a nanosecond before "+
					"lies in %d", a.Layout(), sec, begin, before)
			}
		} else if want := a.Layout().Epoch.Unix() + int64(apart.Sign())<<62; begin.Unix() != want {
			t.Fatalf("%v: TimeAt(%d) = %v, want it held at %d s", a.Layout(), sec, begin, want)
		}
	})
}
