package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// planReport is what a layout can do.
type planReport struct {
	Layout      string    `json:"layout"`
	Spare       string    `json:"spare_bits,omitempty"`
	Bits        int       `json:"bits"`
	MaxID       string    `json:"max_id"`
	JavaScript  bool      `json:"javascript_safe"`
	Begins      time.Time `json:"begins"`
	Expires     time.Time `json:"expires"`
	Tick        string    `json:"tick"`
	Workers     int64     `json:"workers"`
	IDsPerTick  int64     `json:"ids_per_tick"`
	IDsPerSec   float64   `json:"ids_per_second"`
	Genes       int64     `json:"genes,omitempty"`
	Borrow      *borrow   `json:"borrow,omitempty"`
	WorkersLast string    `json:"worker_ids_used_up_after,omitempty"`
	Rings       []ring    `json:"rings,omitempty"`
	NoRings     string    `json:"no_rings,omitempty"` // why Rings is empty

	now time.Time
}

// borrow is what a rate above the layout's capacity means.
type borrow struct {
	Rate     float64   `json:"rate"`
	PerSec   float64   `json:"seconds_per_second"` // lead gained in each second
	Burst    string    `json:"burst,omitempty"`
	BurstSec float64   `json:"lead_after_burst_seconds,omitempty"`
	Expires  time.Time `json:"expires_at_this_rate"`
}

// ring is the ring of one BoostPower.
type ring struct {
	BoostPower int     `json:"boost_power"`
	IDs        int64   `json:"ids"`
	RunLength  int     `json:"run_length"`
	Slots      int64   `json:"slots"`
	Bytes      int64   `json:"bytes"`
	Seconds    float64 `json:"seconds"` // of ids at the layout's own rate
	AtRate     float64 `json:"seconds_at_rate,omitempty"`
}

// slotBytes is what a slot of the ring takes: its uid and the cache line of its flag.
const slotBytes = int64(8 + max(8, unsafe.Sizeof(cpu.CacheLinePad{})))

// newPlanReport works out what the layout of a can do and how it bears the rates of g.
func newPlanReport(ctx context.Context, a *bitsalloc.Allocator, g *goalFlags, now time.Time) *planReport {
	l := a.Layout()
	r := &planReport{
		Layout: l.String(), Bits: l.TimeBits + l.WorkerBits + l.SeqBits + l.GeneBits,
		MaxID: strconv.FormatInt(a.MaxID(), 10), Begins: l.Epoch, Expires: a.Expires(), Tick: l.Tick.String(),
		Workers: a.MaxWorker() + 1, IDsPerTick: a.MaxSeq() + 1, now: now,
	}
	r.JavaScript = r.Bits <= 53
	r.IDsPerSec = float64(r.IDsPerTick) / l.Tick.Seconds()
	if a.MaxGene() > 0 {
		r.Genes = a.MaxGene() + 1
	}
	if g.Rate > 0 {
		r.Borrow = newBorrow(a, r.IDsPerSec, g, now)
	}
	if g.Restarts > 0 {
		days := float64(r.Workers) / (float64(max(1, g.Workers)) * g.Restarts)
		r.WorkersLast = years(days / 365.25)
		if days < 730 {
			r.WorkersLast = fmt.Sprintf("%d days", int(days))
		}
	}
	r.Rings, r.NoRings = rings(ctx, l, r.IDsPerSec, g.Rate)
	return r
}

// newBorrow works out the lead at g.Rate. Positions then move faster than the clock by the factor rate/capacity, and
// so the time bits last that much shorter.
func newBorrow(a *bitsalloc.Allocator, capacity float64, g *goalFlags, now time.Time) *borrow {
	b := &borrow{Rate: g.Rate, PerSec: max(0, g.Rate/capacity-1), Expires: a.Expires()}
	if g.Burst > 0 {
		b.Burst, b.BurstSec = g.Burst.String(), b.PerSec*g.Burst.Seconds()
	} else if b.PerSec > 0 && b.Expires.After(now) {
		left := float64(b.Expires.Unix()-now.Unix()) / (1 + b.PerSec)
		b.Expires = time.Unix(now.Unix()+int64(left), 0).UTC()
	}
	return b
}

// rings asks real generators, so that the figures are those of the library whatever its defaults are.
func rings(ctx context.Context, l bitsalloc.Layout, capacity, rate float64) (found []ring, reason string) {
	for boost := range 7 {
		o := &uid.Options{Layout: l, BoostPower: boost}
		if boost == 0 {
			o.BoostPower = uid.NoBoost
		}
		g, err := uid.NewCached(ctx, assigner.Static(0), o)
		if err != nil {
			reason = err.Error()
			continue
		}
		s := g.Stats()
		if err := g.Close(); err != nil { //nolint:contextcheck // Close ends what ctx does not: it takes none
			reason = err.Error()
		}
		slots := s.Cap / int64(s.RunLength)
		x := ring{BoostPower: boost, IDs: s.Cap, RunLength: s.RunLength, Slots: slots, Bytes: slots * slotBytes,
			Seconds: float64(s.Cap) / capacity}
		if rate > 0 {
			x.AtRate = float64(s.Cap) / rate
		}
		found = append(found, x)
	}
	if len(found) > 0 {
		reason = ""
	}
	return found, reason
}

// print writes the report as text.
func (r *planReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", label, fmt.Sprintf(format, args...))
	}
	line("layout", "%s", r.Layout)
	if r.Spare != "" {
		line("spare bits", "%s", r.Spare)
	}
	safe := "too large for a JavaScript number: pass ids as strings"
	if r.JavaScript {
		safe = "a JavaScript number holds them"
	}
	line("ids", "%d bits, up to %s; %s", r.Bits, r.MaxID, safe)
	line("begins", "%s", r.Begins.Format(time.RFC3339Nano))
	if r.Expires.After(r.now) {
		line("runs out", "%s, in %s", r.Expires.Format(time.RFC3339Nano), between(r.now, r.Expires))
	} else {
		line("runs out", "%s: %s ago; it makes no ids any more", r.Expires.Format(time.RFC3339Nano), between(r.Expires, r.now))
	}
	line("workers", "%s", grouped(r.Workers))
	if r.WorkersLast != "" {
		line("worker ids last", "%s at these restarts, one id each (WORKER_NODE)", r.WorkersLast)
	}
	line("each worker", "%s ids in a tick of %s: %s/s", grouped(r.IDsPerTick), r.Tick, short(r.IDsPerSec))
	line("all workers", "%s/s", short(r.IDsPerSec*float64(r.Workers)))
	if r.Genes > 0 {
		line("genes", "%s", grouped(r.Genes))
	}
	r.Borrow.print(line)
	if err := t.Flush(); err != nil {
		return err
	}
	return r.printRings(w)
}

func (b *borrow) print(line func(label, format string, args ...any)) {
	switch {
	case b == nil:
	case b.PerSec == 0:
		line("at the rate", "%s/s borrows nothing", short(b.Rate))
	case b.Burst != "":
		line("at the rate", "%s/s for %s borrows %s s from the future, which the clock catches up in as long",
			short(b.Rate), b.Burst, short(b.BurstSec))
	default:
		line("at the rate", "%s/s borrows %s s in every second: the time runs out %s", short(b.Rate), short(b.PerSec),
			b.Expires.Format(time.RFC3339))
	}
}

// printRings writes the table of BoostPower.
func (r *planReport) printRings(w io.Writer) error {
	if len(r.Rings) == 0 {
		_, err := fmt.Fprintf(w, "\nno ring: %s\n", r.NoRings)
		return err
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	head := "BOOST POWER\tIDS\tRUN LENGTH\tSLOTS\tMEMORY\tOF CLOCK\t"
	if r.Borrow != nil {
		head += "AT THE RATE\t"
	}
	fmt.Fprintln(t, head)
	for _, x := range r.Rings {
		power := strconv.Itoa(x.BoostPower)
		if x.BoostPower == 0 {
			power = "NoBoost"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t", power, grouped(x.IDs), x.RunLength, grouped(x.Slots), size(float64(x.Bytes)), seconds(x.Seconds))
		if r.Borrow != nil {
			fmt.Fprintf(t, "%s\t", seconds(x.AtRate))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// seconds writes a length of time that may be far above what a Duration holds.
func seconds(s float64) string {
	if s < 200*year.Seconds() {
		return span(time.Duration(s * float64(time.Second)))
	}
	return years(s / year.Seconds())
}
