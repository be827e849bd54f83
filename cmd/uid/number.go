package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
)

type numberCmd struct {
	Next   numberNextCmd   `cmd:"" help:"Take numbers of a name."`
	Parse  numberParseCmd  `cmd:"" help:"Take a number apart, and find what was mistyped."`
	List   numberListCmd   `cmd:"" help:"List the names, their formats and periods."`
	Delete numberDeleteCmd `cmd:"" help:"Delete the counters of old periods, or show how many."`
}

// formatFlags name a format. A name that was used has one in the database.
type formatFlags struct {
	sourceFlags `embed:""`
	Format      string `placeholder:"FORMAT" help:"The format of a name's first use, such as {20060102}-{n 6 day}. Default: that in the database."`
	Zone        string `placeholder:"ZONE" help:"Its time zone, such as Asia/Shanghai. Default: that in the database, or UTC."`
}

// numbers calls do with the numbers of a name. What is left of a range goes back.
func (f *formatFlags) numbers(
	ctx context.Context, p *program, name string, do func(context.Context, *number.Number) error,
) error {
	return f.tags(ctx, p, noPeriods, func(ctx context.Context, src tagTable) (err error) {
		names, err := src.Names(ctx)
		if err != nil {
			return err
		}
		format, zone, err := f.kept(names, name)
		if err != nil {
			return err
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			return usagef("--zone: %v", err)
		}
		g, err := segment.New(ctx, src, &segment.Options{Refresh: -1, Checkpoint: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
		n, err := p.newNumber(ctx, g, name, format, location)
		if err != nil {
			return err
		}
		return do(ctx, n)
	})
}

// kept returns the format and the zone of a name: those of the flags, or else of the database.
func (f *formatFlags) kept(names []segment.Name, name string) (format, zone string, err error) {
	format, zone = f.Format, "UTC"
	if at := indexOf(names, name); at >= 0 {
		last := strings.LastIndexByte(names[at].Format, ' ')
		zone = names[at].Format[last+1:]
		if format == "" {
			format = names[at].Format[:max(last, 0)]
		}
	}
	if f.Zone != "" {
		zone = f.Zone
	}
	if format == "" {
		return "", "", usagef("the name %q was never used with --source %s, want --format", name,
			f.Source)
	}
	return format, zone, nil
}

// indexOf returns the index of a name, -1 if it is not there.
func indexOf(names []segment.Name, name string) int {
	return slices.IndexFunc(names, func(n segment.Name) bool { return n.Name == name })
}

// gapless calls do with the names of gapless counters. They are in a table of their own, which no
// source reads.
func (f *sourceFlags) gapless(
	ctx context.Context, p *program,
	do func(ctx context.Context, db *gorm.DB, dialect string, names []segment.Name) error,
) error {
	return f.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) error {
		db = db.WithContext(ctx)
		var names []segment.Name
		if m := db.Migrator(); m.HasTable("number_name") && m.HasTable("number_gapless") {
			err := db.Raw("SELECT name, format FROM number_name" +
				" WHERE counters = 'number_gapless'").Scan(&names).Error
			if err != nil {
				return err
			}
		}
		return do(ctx, db, s.Dialect, names)
	})
}

// noPeriods is what ticket servers lack.
const noPeriods = "periods, want leaf or sequence"

type numberNextCmd struct {
	Name        string   `arg:"" help:"The name, such as order."`
	Keys        []string `arg:"" optional:"" help:"The keys of the format, in its order."`
	formatFlags `embed:""`
	Count       int `short:"n" default:"1" placeholder:"N" help:"How many numbers, 1..100000."`
}

// Help names the keys of hidden counters.
func (*numberNextCmd) Help() string { return numberKeysHelp }

// numberKeysHelp says where the keys of hidden counters come from.
const numberKeysHelp = "A hidden counter needs UID_NUMBER_KEYS in the environment: VERSION:HEX, " +
	"separated by commas, the key of new numbers first, each 16, 24 or 32 random bytes."

// Run prints numbers.
func (c *numberNextCmd) Run(ctx context.Context, p *program) error {
	if c.Count < 1 || c.Count > 100_000 {
		return usagef("-n is %d, want 1..100000", c.Count)
	}
	return c.numbers(ctx, p, c.Name, func(ctx context.Context, n *number.Number) error {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		texts := make([]string, c.Count)
		made, err := n.Fill(ctx, texts, c.Keys...)
		for _, text := range texts[:made] {
			fmt.Fprintln(p.out, text)
		}
		if errors.Is(err, number.ErrKey) {
			return usageError{err}
		}
		return err
	})
}

type numberParseCmd struct {
	Name        string `arg:"" help:"The name, such as order."`
	Number      string `arg:"" help:"The number."`
	formatFlags `embed:""`
}

// Help names the keys of hidden counters.
func (*numberParseCmd) Help() string { return numberKeysHelp }

// Run prints the parts of a number.
func (c *numberParseCmd) Run(ctx context.Context, p *program) error {
	there := false
	err := c.gapless(ctx, p, func(ctx context.Context, db *gorm.DB, dialect string,
		names []segment.Name) error {
		if there = indexOf(names, c.Name) >= 0; !there {
			return nil
		}
		format, zone, err := c.kept(names, c.Name)
		if err != nil {
			return err
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			return usagef("--zone: %v", err)
		}
		pool, err := db.DB()
		if err != nil {
			return err
		}
		n, err := number.NewGapless(ctx, pool, dialect, c.Name, format,
			&number.Options{Zone: location})
		if errors.Is(err, number.ErrFormat) || errors.Is(err, segment.ErrFormat) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		return c.print(p, n)
	})
	if there || err != nil {
		return err
	}
	return c.numbers(ctx, p, c.Name, func(_ context.Context, n *number.Number) error {
		return c.print(p, n)
	})
}

// print prints the parts of a number of n.
func (c *numberParseCmd) print(p *program, n interface {
	Keys() []string
	Parse(text string) (number.Parts, error)
}) error {
	parts, err := n.Parse(c.Number)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for i, name := range n.Keys() {
		fmt.Fprintf(t, "%s\t%s\n", name, parts.Keys[i])
	}
	if !parts.Start.IsZero() {
		fmt.Fprintf(t, "period\tbegins %s\n", parts.Start.Format(time.DateOnly))
	}
	fmt.Fprintf(t, "count\t%d\ncounter\t%s\n", parts.Count, parts.Tag)
	return t.Flush()
}

type numberListCmd struct {
	sourceFlags `embed:""`
}

// Run lists the names.
func (c *numberListCmd) Run(ctx context.Context, p *program) error {
	var gapless []segment.Name
	var tags []string
	err := c.gapless(ctx, p, func(_ context.Context, db *gorm.DB, _ string,
		names []segment.Name) error {
		if gapless = names; len(names) == 0 {
			return nil
		}
		return db.Raw("SELECT tag FROM number_gapless").Scan(&tags).Error
	})
	if err != nil {
		return err
	}
	return c.tags(ctx, p, noPeriods, func(ctx context.Context, src tagTable) error {
		names, err := src.Names(ctx)
		if err != nil {
			return err
		}
		found, err := periodsOf(ctx, src)
		if err != nil {
			return err
		}
		for _, tag := range tags {
			addPeriod(found, tag)
		}
		names = append(names, gapless...)
		slices.SortFunc(names, func(a, b segment.Name) int { return cmp.Compare(a.Name, b.Name) })
		t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tCOUNTERS\tOLDEST\tNEWEST\tFLOOR\tFORMAT")
		for _, n := range names {
			if !strings.HasPrefix(n.Format, "key ") { // the fingerprint of a key
				all := append(found[n.Name], 0)
				slices.Sort(all)
				fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", n.Name, len(all)-1,
					all[min(1, len(all)-1)], all[len(all)-1], n.Floor, n.Format)
			}
		}
		return t.Flush()
	})
}

// periodsOf returns the numbers of the periods that each name has counters of.
func periodsOf(ctx context.Context, src tagTable) (map[string][]int64, error) {
	rows, err := src.List(ctx)
	found := map[string][]int64{}
	for _, r := range rows {
		addPeriod(found, r.Tag)
	}
	return found, err
}

// addPeriod adds the number of the period that a tag is of, if it is one.
func addPeriod(found map[string][]int64, tag string) {
	name, rest, _ := strings.Cut(tag, "@")
	digits, _, _ := strings.Cut(rest, "@")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		found[name] = append(found[name], n)
	}
}

type numberDeleteCmd struct {
	Name        string `arg:"" help:"The name, such as order."`
	sourceFlags `embed:""`
	Before      int64 `required:"" placeholder:"PERIOD" help:"The oldest period that stays: 20261101 for days, 202644 for weeks, 202611 for months, 20264 for quarters, 2026 for years."`
	Yes         bool  `help:"Delete them. Without it nothing is changed."`
}

// Run deletes the counters of old periods, or prints how many there are.
func (c *numberDeleteCmd) Run(ctx context.Context, p *program) error {
	return c.tags(ctx, p, noPeriods, func(ctx context.Context, src tagTable) error {
		names, err := src.Names(ctx)
		if err != nil {
			return err
		}
		if indexOf(names, c.Name) < 0 {
			return fmt.Errorf("name %q: %w", c.Name, segment.ErrUnknownTag)
		}
		found, err := periodsOf(ctx, src)
		if err != nil {
			return err
		}
		all := found[c.Name]
		// A floor with more digits than periods have would end the name for good.
		if newest := slices.Max(append(all, 0)); c.Before < 1 || newest == 0 || c.Before > newest {
			return usagef("--before is %d, want 1..%d, the newest period of %s", c.Before, newest,
				c.Name)
		}
		n := len(slices.DeleteFunc(all, func(p int64) bool { return p == 0 || p >= c.Before }))
		if !c.Yes {
			_, err = fmt.Fprintf(p.out, "a dry run: nothing is changed; --yes deletes %d counters "+
				"of %s before %d, and none of them begins anew\n", n, c.Name, c.Before)
			return err
		}
		n, err = src.Clear(ctx, c.Name, c.Before)
		fmt.Fprintf(p.out, "deleted %d counters of %s; the floor is %d\n", n, c.Name, c.Before)
		return err
	})
}
