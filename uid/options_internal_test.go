package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/ringbuffer"
)

// eraOptions are options of two eras: the second has the wider sequence and the shorter tick.
func eraOptions(o Options) Options {
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	o.Layout = bitsalloc.Layout{TimeBits: 30, WorkerBits: 16, SeqBits: 8, Tick: time.Minute,
		Epoch: epoch}
	o.Eras = []bitsalloc.Era{{From: epoch.AddDate(1, 0, 0), Layout: bitsalloc.Layout{TimeBits: 36,
		WorkerBits: 10, SeqBits: 12, Tick: time.Second}}}
	return o
}

// seqOf returns a layout whose ticks have 1<<bits ids.
func seqOf(bits int) bitsalloc.Layout {
	return bitsalloc.Layout{TimeBits: 62 - bits, WorkerBits: 1, SeqBits: bits}
}

// most is the BoostPower whose ring has maxSlots if a run is as long as a tick's ids. The core's
// tests run on 386 too, where a ring has fewer slots.
var most = bits.Len(maxSlots) - 1

// TestOptionsFilledIn checks what becomes of fields that are left out, and of values at their
// bounds, which are allowed.
func TestOptionsFilledIn(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	type filled struct {
		boost, padding, run, lanes int
		slots                      int64
		lag, interval              time.Duration
	}
	std := filled{3, 50, 2048, 1, 32, 2 * time.Second, 250 * time.Millisecond}
	with := func(change func(f *filled)) filled {
		f := std
		change(&f)
		return f
	}
	ring := func(boost, run, lanes int, slots int64) filled {
		return with(func(f *filled) { f.boost, f.run, f.lanes, f.slots = boost, run, lanes, slots })
	}
	times := func(lag, interval time.Duration) filled {
		return with(func(f *filled) { f.lag, f.interval = lag, interval })
	}
	ms := time.Millisecond
	laterNarrow := Options{Layout: eraOptions(Options{}).Eras[0].Layout}
	laterNarrow.Layout.Epoch = DefaultEpoch
	laterNarrow.Eras = []bitsalloc.Era{{From: laterNarrow.Layout.Epoch.AddDate(1, 0, 0),
		Layout: bitsalloc.Layout{TimeBits: 35, WorkerBits: 16, SeqBits: 8}}}
	for _, tc := range []struct {
		o    Options
		want filled
	}{
		{Options{}, std},
		{Options{BoostPower: NoBoost}, ring(0, 2048, 1, 4)},
		{Options{BoostPower: 1}, ring(1, 2048, 1, 8)},
		// A run is not longer than a quarter of a tick, however many slots that makes.
		{Options{BoostPower: 12}, ring(12, 2048, 1, 1<<14)},
		{Options{BoostPower: most, RunLength: 8192}, ring(most, 8192, 1, maxSlots)},
		{Options{RunLength: 1}, ring(3, 1, 1, 1<<16)},
		{Options{Lanes: 2}, ring(3, 1024, 2, 64)},
		{Options{Lanes: 8}, ring(3, 512, 8, 128)},
		{Options{Lanes: 1024}, ring(6, 512, 1024, 1024)}, // a run for every lane
		{Options{Lanes: 1024, BoostPower: 3}, ring(3, 512, 1024, 128)},
		{Options{Lanes: 64, BoostPower: NoBoost}, ring(0, 512, 64, 16)},
		{Options{Lanes: AutoLanes, RunLength: 4},
			ring(3, 4, autoLanes(runtime.GOMAXPROCS(0)), 1<<14)},
		{Options{Layout: seqOf(1)}, ring(3, 1, 1, 16)},
		{Options{Layout: seqOf(4)}, ring(3, 4, 1, 32)},
		{Options{Layout: seqOf(11)}, ring(3, 512, 1, 32)},
		{Options{Layout: seqOf(20)}, ring(3, 2048, 1, 1<<12)},
		{Options{Layout: seqOf(21)}, ring(3, 4096, 1, 1<<12)},
		{Options{Layout: seqOf(30)}, ring(3, 1<<21, 1, 1<<12)},
		{Options{PaddingFactor: 1}, with(func(f *filled) { f.padding = 1 })},
		{Options{PaddingFactor: 100}, with(func(f *filled) { f.padding = 100 })},
		{Options{seqStart: 8192, TakePolicy: TakeReject, PutPolicy: ringbuffer.PutFail, rollback: RollbackHold(1)},
			std},
		{Options{MaxLag: 1004 * ms}, times(1004*ms, ms)},
		{Options{MaxLag: day}, times(day, time.Minute)},
		{Options{ScheduleInterval: ms}, times(2*time.Second, ms)},
		{Options{ScheduleInterval: 500 * ms}, times(2*time.Second, 500*ms)},
		{Options{Layout: bitsalloc.Layout{TimeBits: 37, WorkerBits: 13, SeqBits: 13, Tick: ms}},
			times(time.Second, 999*ms/4)},
		{Options{Layout: bitsalloc.Layout{TimeBits: 37, WorkerBits: 13, SeqBits: 13, Tick: 700 * ms}},
			times(1400*ms, 175*ms)},
		{Options{Layout: bitsalloc.Layout{TimeBits: 5, WorkerBits: 13, SeqBits: 13, Tick: 200 * 365 * day}},
			times(forever, time.Minute)},
		// The narrower sequence bounds the run, the wider one the ring, the longer tick MaxLag.
		{eraOptions(Options{}), filled{3, 50, 64, 1, 512, 2 * time.Minute, 15 * time.Second}},
		{laterNarrow, filled{3, 50, 64, 1, 512, 2 * time.Second, 250 * time.Millisecond}},
		{eraOptions(Options{RunLength: 256, seqStart: 4096}), filled{3, 50, 256, 1, 128,
			2 * time.Minute, 15 * time.Second}},
	} {
		o, eras, err := tc.o.withDefaults()
		if err != nil {
			t.Errorf("%+v: %v", tc.o, err)
			continue
		}
		got := filled{o.BoostPower, o.PaddingFactor, o.RunLength, o.Lanes, o.slots(), o.MaxLag,
			o.ScheduleInterval}
		if got != tc.want || o.Layout != eras.All()[0].Layout() || o.Logger == nil {
			t.Errorf("%+v: got %+v, want %+v", tc.o, got, tc.want)
		}
	}
}

// TestOptionsRefused checks values right beyond a bound that depends on other options.
func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{BoostPower: most, RunLength: 4096}, fmt.Sprintf("BoostPower is %d, want a ring of at "+
			"most %d slots: (MaxSeq+1)<<BoostPower/RunLength is 2^%d", most, maxSlots, most+1)},
		{Options{BoostPower: 21, RunLength: 1, Layout: seqOf(40)}, "is 2^61"},
		{Options{BoostPower: 24, RunLength: 1, Layout: seqOf(60)}, "is 2^62"},
		{Options{MaxLag: 1004*time.Millisecond - 1}, "MaxLag is 1.003999999s, want at least Tick + 4ms"},
		{Options{ScheduleInterval: time.Millisecond - 1}, "ScheduleInterval is 999.999µs, want 1ms..500ms"},
		{Options{ScheduleInterval: 500*time.Millisecond + 1}, "ScheduleInterval is 500.000001ms"},
		{Options{Lanes: math.MinInt}, "Lanes is"},
		{Options{RunLength: math.MinInt}, "RunLength is"},
		{Options{MaxLead: -1}, "MaxLead is -1ns, want 0 or more"},
		{Options{PutPolicy: ringbuffer.PutFail + 1}, "PutPolicy is"},
		{Options{TakePolicy: TakeReject + 1}, "TakePolicy is"},
		{Options{rollback: RollbackWait(0)}, "Rollback's bound is 0s, want above 0"},
		{eraOptions(Options{RunLength: 512}), "RunLength is 512, want a power of two in 1..256"},
		{eraOptions(Options{seqStart: 4097}), "SeqStart is 4097, want 1..4096"},
		{eraOptions(Options{MaxLag: time.Minute}), "MaxLag is 1m0s, want at least Tick + 4ms = 1m0.004s"},
	} {
		if _, _, err := tc.o.withDefaults(); !errors.Is(err, ErrOptions) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.o, err, tc.want)
		}
	}
}

// procs is GOMAXPROCS before any test has run.
var procs = runtime.GOMAXPROCS(0)

// TestAutoLanes gives each processor at least eight lanes, as far as there are as many.
func TestAutoLanes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 8, 1: 8, 2: 16, 3: 32, 4: 32, 5: 64, 64: 512, 65: 1024,
		128: 1024, 129: 1024, 1 << 20: 1024} {
		if got := autoLanes(n); got != want {
			t.Errorf("autoLanes(%d) = %d, want %d", n, got, want)
		}
	}
	if _, _, err := (&Options{Lanes: AutoLanes}).withDefaults(); err != nil ||
		runtime.GOMAXPROCS(0) != procs {
		t.Errorf("%v; a generator of AutoLanes leaves %d processors of %d", err,
			runtime.GOMAXPROCS(0), procs)
	}
}

// TestDefaultOptionsOptions: each field of DefaultOptions reaches the generator, by its name.
func TestDefaultOptionsOptions(t *testing.T) {
	t.Parallel()
	o := &DefaultOptions{Layout: bitsalloc.Layout{SeqBits: 7}, Eras: make([]bitsalloc.Era, 1), MaxLead: 1,
		TakePolicy: TakeReject, TakeFunc: func(context.Context, error) error { return nil },
		Rollback: RollbackHold(1), SeqStart: 1, Clock: systemClock(), Logger: slog.Default()}
	want, got := reflect.ValueOf(o).Elem(), reflect.ValueOf(o.options()).Elem()
	for i := range want.NumField() {
		name := want.Type().Field(i).Name
		if name == "_" {
			continue
		}
		field := got.FieldByName(name)
		if !field.IsValid() {
			field = got.FieldByName(strings.ToLower(name[:1]) + name[1:])
		}
		if want.Field(i).IsZero() || fmt.Sprint(field) != fmt.Sprint(want.Field(i)) {
			t.Errorf("%s is %v, want %v", name, field, want.Field(i))
		}
	}
}

// TestOptionsClock: both generators read the clock that the options name.
func TestOptionsClock(t *testing.T) {
	t.Parallel()
	clock := NewTestClock()
	c, err := NewCached(t.Context(), claimtest.Static(1), &Options{Clock: clock.read})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := clock.Reads.Load()
	d, err := NewDefault(t.Context(), claimtest.Static(1), &DefaultOptions{Clock: clock.read})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if read == 0 || clock.Reads.Load() == read {
		t.Errorf("Cached has read the clock %d times, Default %d times", read, clock.Reads.Load()-read)
	}
}
