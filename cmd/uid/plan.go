package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

type planCmd struct {
	layoutFlags `embed:""`
	goalFlags   `embed:""`
	JSON        bool `help:"Print one JSON object."`
}

// goalFlags say what a layout has to do.
type goalFlags struct {
	Years    float64       `placeholder:"N" help:"Time bits for so many years from today."`
	Workers  int64         `placeholder:"N" help:"Processes that make ids at the same time."`
	Rate     float64       `placeholder:"N" help:"Ids a second and worker."`
	Restarts float64       `placeholder:"N" help:"Restarts a day and worker; each takes a new worker id from WORKER_NODE. Leave it out for leased worker ids, which are used again."`
	Burst    time.Duration `placeholder:"DURATION" help:"How long --rate lasts at a time. Default: for ever."`
	Bits     int           `default:"63" help:"Bits that an id may have; 53 for ids that JavaScript numbers hold."`
	GeneBits int           `placeholder:"N" help:"Low bits that carry a shard gene."`
}

// Run plans a layout that reaches the goals, or looks at the layout that --layout names, and prints what it can do.
func (c *planCmd) Run(ctx context.Context, p *program) error {
	if err := c.check(); err != nil {
		return err
	}
	now := p.now()
	var spare string
	if c.wanted() {
		if c.Layout != "" {
			return usagef("--layout names a layout, --years, --workers, --bits and --gene-bits ask for one: give one or the other")
		}
		var err error
		if c.Layout, spare, err = c.fit(now); err != nil {
			return err
		}
	}
	layout, err := c.resolve()
	if err != nil {
		return err
	}
	r := newPlanReport(ctx, layout.alloc, &c.goalFlags, now)
	r.Spare = spare
	if c.JSON {
		return json.NewEncoder(p.out).Encode(r)
	}
	return r.print(p.out)
}

// wanted reports whether a layout is to be planned rather than looked at. The rate alone asks how a layout bears it.
func (g *goalFlags) wanted() bool {
	return g.Years > 0 || g.Workers > 0 || g.Bits != bitsMax || g.GeneBits > 0
}

// bitsMax is how many bits an id has below the sign.
const bitsMax = 63

// check finds the goals that make no sense.
func (g *goalFlags) check() error {
	for _, f := range []struct {
		name   string
		v, max float64
	}{{"--years", g.Years, 1e9}, {"--workers", float64(g.Workers), 1 << 61}, {"--rate", g.Rate, 1e15}, {"--restarts", g.Restarts, 1e6}} {
		if math.IsNaN(f.v) || f.v < 0 || f.v > f.max {
			return usagef("%s is %v, want 0..%v", f.name, f.v, f.max)
		}
	}
	if g.Burst < 0 {
		return usagef("--burst is %v, want above 0", g.Burst)
	}
	if g.Bits < 3 || g.Bits > bitsMax {
		return usagef("--bits is %d, want 3..%d", g.Bits, bitsMax)
	}
	if g.GeneBits < 0 || g.GeneBits > g.Bits-3 {
		return usagef("--gene-bits is %d, want 0..%d", g.GeneBits, g.Bits-3)
	}
	return nil
}

// fit returns the text of a layout that reaches the goals and a sentence about the bits that were left over. What is not
// asked for gets the default: 7 years, one worker, one id a second.
//
// Left-over bits go to the worker id and then to the sequence, each up to the default layout's width, because restarts
// and bursts use those up, and the rest to the time.
func (c *planCmd) fit(now time.Time) (text, spare string, err error) {
	base := layoutFlags{Epoch: c.Epoch, Tick: c.Tick}
	like, err := base.resolve()
	if err != nil {
		return "", "", err
	}
	layout := like.alloc.Layout()
	years, workers := c.Years, float64(max(c.Workers, 1))
	if years == 0 {
		years = 7
	}
	workers += workers * c.Restarts * 365.25 * years
	ticks := (now.Sub(layout.Epoch).Seconds() + years*year.Seconds()) / layout.Tick.Seconds()
	if ticks < 1 {
		return "", "", usagef("--epoch %s lies beyond the %v years planned for", layout.Epoch.Format(time.RFC3339), years)
	}
	need := []int{max(1, widthFor(ticks)), widthFor(workers), max(1, widthFor(c.Rate*layout.Tick.Seconds()))}
	left := c.Bits - c.GeneBits - need[0] - need[1] - need[2]
	if left < 0 {
		return "", "", fmt.Errorf("no layout does that: time %d + worker %d + sequence %d + gene %d = %d bits, there are %d; "+
			"lower a goal, or leave --rate to borrowing from the future and plan for the rate over the day",
			need[0], need[1], need[2], c.GeneBits, c.Bits-left, c.Bits)
	}
	toWorker := max(0, min(left, bitsalloc.DefaultWorkerBits-need[1]))
	toSeq := max(0, min(left-toWorker, bitsalloc.DefaultSeqBits-need[2]))
	toTime := left - toWorker - toSeq
	if left > 0 {
		spare = fmt.Sprintf("%d: %d to the time, %d to the worker id, %d to the sequence", left, toTime, toWorker, toSeq)
	}
	return fmt.Sprintf("%d-%d-%d-%d", need[0]+toTime, need[1]+toWorker, need[2]+toSeq, c.GeneBits), spare, nil
}

// widthFor returns how many bits n different values take.
func widthFor(n float64) int {
	if n <= 1 {
		return 0
	}
	if n > 1<<62 {
		return bitsMax
	}
	return bits.Len64(uint64(math.Ceil(n)) - 1)
}
