package suite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// unique makes ids on several goroutines and compares every id with all others of its generator.
// Nothing is summed or sampled. Of one lane it counts the ids that callers skip.
func unique(ctx context.Context, c *Config, f *result.File) error {
	cached := func(lanes int) func() (uid.Generator, error) {
		return func() (uid.Generator, error) {
			return uid.NewCached(ctx, claimtest.Static(1), &uid.Options{Lanes: lanes})
		}
	}
	list := []struct {
		name  string
		start func() (uid.Generator, error)
	}{
		{contender.OneLane, cached(1)},
		{contender.ManyLanes, cached(uid.AutoLanes)},
		{contender.DefaultWide, func() (uid.Generator, error) {
			return uid.NewDefault(ctx, claimtest.Static(1), &uid.DefaultOptions{
				Layout: bitsalloc.Layout{TimeBits: 31, WorkerBits: 4, SeqBits: 28}})
		}},
	}
	n := pick(c, 1<<20, 1<<24)
	return rounds(ctx, pick(c, 1, 2), func(int) error {
		for _, x := range list {
			for _, goroutines := range []int{1, procs(), 4 * procs()} {
				g, err := x.start()
				if err != nil {
					return err
				}
				name := x.name + ", " + human.Plural(goroutines, "goroutine")
				ids, err := taken(ctx, g, goroutines, n)
				skipped, duplicates := 0, 0
				if err == nil {
					slices.Sort(ids)
					skipped, duplicates = gaps(g, ids)
				}
				f.Add("ids", name, "ids", "", float64(n), err)
				f.Add("ids", name, "duplicates", "", float64(duplicates), err)
				if x.name == contender.OneLane {
					f.Add("ids", name, "skipped", "", float64(skipped), err)
				}
				if err := g.Close(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// taken makes n ids on goroutines at once.
func taken(ctx context.Context, g uid.Generator, goroutines, n int) ([]uid.ID, error) {
	ids := make([]uid.ID, n)
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			part := ids[n*i/goroutines : n*(i+1)/goroutines]
			for j := range part {
				if part[j], errs[i] = g.Next(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return ids, errors.Join(errs...)
}

// narrow is the width of the default layout's sequence.
const narrow = 13

// gaps returns, of sorted ids, how many numbers of the default layout are missing between the first
// and the last, and how many ids are equal to another one.
func gaps(g uid.Generator, ids []uid.ID) (skipped, duplicates int) {
	position := func(id uid.ID) int {
		p := g.Parse(id)
		return int(p.Tick<<narrow | p.Seq)
	}
	span := position(ids[len(ids)-1]) - position(ids[0]) + 1
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			duplicates++
		}
	}
	return span - (len(ids) - duplicates), duplicates
}
