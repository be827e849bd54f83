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
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// planReport is what a layout can do.
type planReport struct {
	Layout      string    `json:"layout"`
	Spare       string    `json:"spare_bits,omitempty"`
	Given       string    `json:"given_up,omitempty"` // by a layout that begins above older ids
	Bits        int       `json:"bits"`
	MaxID       string    `json:"max_id"`
	JavaScript  bool      `json:"javascript_safe"`
	Begins      time.Time `json:"begins"`
	Expires     instant   `json:"expires"`
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
	Rate     float64 `json:"rate"`
	PerSec   float64 `json:"seconds_per_second"` // lead gained in each second
	Burst    string  `json:"burst,omitempty"`
	BurstSec float64 `json:"lead_after_burst_seconds,omitempty"`
	Expires  instant `json:"expires_at_this_rate"`
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

// newPlanReport works out what the layout of a can do and how it copes with the rates of g.
func newPlanReport(
	ctx context.Context, a *bitsalloc.Allocator, g *goalFlags, now time.Time,
) *planReport {
	l := a.Layout()
	r := &planReport{
		Layout: l.String(), Bits: l.TimeBits + l.WorkerBits + l.SeqBits + l.GeneBits,
		MaxID: strconv.FormatInt(a.MaxID(), 10), Begins: l.Epoch, Expires: instant{a.Expires()},
		Tick: l.Tick.String(), Workers: a.MaxWorker() + 1, IDsPerTick: a.MaxSeq() + 1, now: now,
	}
	r.JavaScript = r.Bits <= 53
	r.IDsPerSec = float64(r.IDsPerTick) / l.Tick.Seconds()
	if a.Layout().GeneBits > 0 {
		r.Genes = 1 << a.Layout().GeneBits
	}
	if g.Rate > 0 {
		r.Borrow = newBorrow(a, r.IDsPerSec, g, now)
	}
	if g.Restarts > 0 {
		days := float64(r.Workers) / (float64(max(1, g.Workers)) * g.Restarts)
		r.WorkersLast = human.Seconds(days * 86400)
	}
	for boost := range 7 {
		x, err := newRing(ctx, l, boost)
		if err != nil {
			r.NoRings = err.Error()
			continue
		}
		x.Seconds = float64(x.IDs) / r.IDsPerSec
		if g.Rate > 0 {
			x.AtRate = float64(x.IDs) / g.Rate
		}
		r.Rings = append(r.Rings, x)
	}
	if r.Rings != nil {
		r.NoRings = ""
	}
	return r
}

// newBorrow works out the lead at g.Rate. Positions then move faster than the clock by the factor
// rate/capacity, so the time bits last that much shorter.
func newBorrow(a *bitsalloc.Allocator, capacity float64, g *goalFlags, now time.Time) *borrow {
	b := &borrow{Rate: g.Rate, PerSec: max(0, g.Rate/capacity-1), Expires: instant{a.Expires()}}
	if g.Burst > 0 {
		b.Burst, b.BurstSec = g.Burst.String(), b.PerSec*g.Burst.Seconds()
	} else if b.PerSec > 0 && b.Expires.After(now) {
		left := float64(b.Expires.Unix()-now.Unix()) / (1 + b.PerSec)
		b.Expires = instant{time.Unix(now.Unix()+int64(left), 0).UTC()}
	}
	return b
}

// newRing asks a real generator, so that the figures are the library's.
func newRing(ctx context.Context, l bitsalloc.Layout, boost int) (ring, error) {
	o := &uid.Options{Layout: l, BoostPower: boost}
	if boost == 0 {
		o.BoostPower = -1
	}
	g, err := uid.NewCached(ctx, assigner.Static(0), o)
	if err != nil {
		return ring{}, err
	}
	s := g.Stats()
	slots := s.Cap / int64(s.RunLength)
	return ring{BoostPower: boost, IDs: s.Cap, RunLength: s.RunLength, Slots: slots,
		Bytes: slots * slotBytes}, g.Close()
}

// print writes the report as text.
func (r *planReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(t, label+"\t"+format+"\n", args...)
	}
	line("layout", "%s", r.Layout)
	if r.Spare != "" {
		line("spare bits", "%s", r.Spare)
	}
	if r.Given != "" {
		line("given up", "%s", r.Given)
	}
	safe := "too large for a JavaScript number: pass ids as strings"
	if r.JavaScript {
		safe = "a JavaScript number holds them"
	}
	line("ids", "%d bits, up to %s; %s", r.Bits, r.MaxID, safe)
	line("begins", "%s", r.Begins.Format(time.RFC3339Nano))
	form := "%s, in %s"
	if !r.Expires.After(r.now) {
		form = "%s: %s ago; it makes no ids any more"
	}
	line("runs out", form, r.Expires.Format(time.RFC3339Nano), human.Between(r.now, r.Expires.Time))
	line("workers", "%s", human.Count(r.Workers))
	if r.WorkersLast != "" {
		line("worker ids last", "%s at these restarts, one id each (WORKER_NODE)", r.WorkersLast)
	}
	line("each worker", "%s ids in a tick of %s: %s/s", human.Count(r.IDsPerTick), r.Tick,
		human.Short(r.IDsPerSec))
	line("all workers", "%s/s", human.Short(r.IDsPerSec*float64(r.Workers)))
	if r.Genes > 0 {
		line("genes", "%s", human.Count(r.Genes))
	}
	switch b := r.Borrow; {
	case b == nil:
	case b.PerSec == 0:
		line("at the rate", "%s/s borrows nothing", human.Short(b.Rate))
	case b.Burst != "":
		line("at the rate", "%s/s for %s borrows %s s from the future, which the clock catches up "+
			"in as long", human.Short(b.Rate), b.Burst, human.Short(b.BurstSec))
	default:
		line("at the rate", "%s/s borrows %s s in every second: the time runs out %s",
			human.Short(b.Rate), human.Short(b.PerSec), b.Expires.Format(time.RFC3339))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.printRings(w)
}

// printRings writes the table of BoostPower.
func (r *planReport) printRings(w io.Writer) error {
	if len(r.Rings) == 0 {
		_, err := fmt.Fprintf(w, "\nno ring: %s\n", r.NoRings)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\nBOOST POWER\tIDS\tRUN LENGTH\tSLOTS\tMEMORY\tOF CLOCK\t")
	if r.Borrow != nil {
		fmt.Fprint(t, "AT THE RATE\t")
	}
	for _, x := range r.Rings {
		power := strconv.Itoa(x.BoostPower)
		if x.BoostPower == 0 {
			power = "-1"
		}
		fmt.Fprintf(t, "\n%s\t%s\t%d\t%s\t%s\t%s\t", power, human.Count(x.IDs), x.RunLength,
			human.Count(x.Slots), human.Bytes(x.Bytes), human.Seconds(x.Seconds))
		if r.Borrow != nil {
			fmt.Fprintf(t, "%s\t", human.Seconds(x.AtRate))
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}
