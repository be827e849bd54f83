package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/human"
)

type erasCmd struct {
	layoutFlags `embed:""`
	Next        string `placeholder:"LAYOUT" help:"Widths of the era to add, and optionally /TICK. Default: at most 14 bits for the worker id, and all free ones for the time."`
	From        string `placeholder:"TIME" help:"The instant at which it begins, in the forms of --epoch. Default: the first of January halfway to the end of the last era."`
	JSON        bool   `help:"Print one JSON object."`
}

// erasJSON is what eras --json prints.
type erasJSON struct {
	Layout string    `json:"layout"` // the whole list, as --layout takes it
	Eras   []eraJSON `json:"eras"`
}

// eraJSON is one era.
type eraJSON struct {
	From    time.Time `json:"from"`
	Until   instant   `json:"until"` // the next era's From, or the end of the time bits
	Layout  string    `json:"layout"`
	Lowest  string    `json:"lowest_id"`
	Workers int64     `json:"workers"`
}

// Run shows the eras that --layout lists, followed by the next one.
func (c *erasCmd) Run(p *program) error {
	n, err := c.resolveToMake()
	if err != nil {
		return err
	}
	now := p.now()
	end := n.last().Expires()
	if c.Next == "" && c.From == "" && len(n.eras.All()) > 1 {
		return c.show(p, n.eras, "")
	}
	next := suggest(n.last().Layout())
	if c.Next != "" {
		if next, err = bitsalloc.ParseLayout(c.Next); err != nil {
			return usagef("--next %q: %w", c.Next, err)
		}
		next.Epoch = time.Time{}
	}
	if !end.After(now) {
		return fmt.Errorf("the layout %s ended at %s, and an era has to begin before that; "+
			"\"uid plan --above ID\" tries to find a layout whose ids lie above those that exist",
			n.last().Layout(), end.Format(time.RFC3339))
	}
	from := time.Date((now.UTC().Year()+end.Year()+1)/2, time.January, 1, 0, 0, 0, 0, time.UTC)
	if !from.After(now) { // the layout ends this year
		from = now.Add(end.Sub(now) / 2).UTC().Truncate(time.Second)
	}
	if c.From != "" {
		if from, err = parseInstant("--from", c.From); err != nil {
			return err
		}
	}
	if !from.After(now) {
		return usagef("--from is %s, want an instant after now: windows that were granted "+
			"may reach further", from.Format(time.RFC3339))
	}
	o := n.options()
	eras, err := bitsalloc.NewEras(o.Layout,
		append(o.Eras, bitsalloc.Era{From: from, Layout: next})...)
	if err != nil {
		return err
	}
	a := eras.All()[len(eras.All())-1]
	if c.Next == "" && !a.Expires().After(end.AddDate(1, 0, 0)) {
		return c.show(p, n.eras, fmt.Sprintf("%s ends in %s: with %s workers and %s ids a tick "+
			"nothing lasts longer, --next names other widths",
			widths(n.last().Layout()), human.Between(now, end),
			human.Count(n.last().MaxWorker()+1), human.Count(n.last().MaxSeq()+1)))
	}
	return c.show(p, eras, fmt.Sprintf("%s ends in %s: continue as %s from %s on, %s",
		widths(n.last().Layout()), human.Between(now, end), widths(next),
		from.Format(time.DateOnly), human.Between(from, a.Expires())))
}

// show prints advice and the list of eras.
func (c *erasCmd) show(p *program, eras *bitsalloc.Eras, advice string) error {
	all := eras.All()
	list := erasJSON{Layout: eras.String()}
	for i, a := range all {
		e := eraJSON{
			From: a.Layout().Epoch, Until: instant{a.Expires()}, Layout: a.Layout().String(),
			Lowest: fmt.Sprint(a.First(a.Layout().Epoch)), Workers: a.MaxWorker() + 1,
		}
		if i+1 < len(all) {
			e.Until = instant{all[i+1].Layout().Epoch}
		}
		list.Eras = append(list.Eras, e)
	}
	if c.JSON {
		return json.NewEncoder(p.out).Encode(list)
	}
	if advice != "" {
		fmt.Fprintln(p.out, advice)
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FROM\tUNTIL\tLAYOUT\tLOWEST ID\tWORKERS")
	for _, e := range list.Eras {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n",
			e.From.Format(time.RFC3339Nano), e.Until.Format(time.RFC3339Nano),
			e.Layout, e.Lowest, human.Count(e.Workers))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "--layout %s\n", list.Layout)
	return err
}

// suggest returns a layout that lasts longer than l. It has all 63 bits, and the time gets the bits
// that l has unused and those that its worker id has above 14.
func suggest(l bitsalloc.Layout) bitsalloc.Layout {
	const leased = 14 // enough bits for leased worker ids, which are used again
	l.WorkerBits = min(l.WorkerBits, leased)
	l.TimeBits = bitsMax - l.WorkerBits - l.SeqBits - l.GeneBits
	l.FirstTick, l.Epoch = 0, time.Time{}
	return l
}

// widths returns the widths of a layout as text.
func widths(l bitsalloc.Layout) string {
	text := fmt.Sprintf("%d-%d-%d", l.TimeBits, l.WorkerBits, l.SeqBits)
	if l.GeneBits > 0 {
		text += fmt.Sprintf("-%d", l.GeneBits)
	}
	return text
}
