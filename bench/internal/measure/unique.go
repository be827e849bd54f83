package measure

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/uid"
)

// Duplicates makes n ids on the given number of goroutines at once and returns how many of them are
// equal to another one. Every id is kept and compared; nothing is summed or sampled.
func Duplicates(in contender.Keyer, goroutines, n int) (int, error) {
	keys := make([]contender.Key, n)
	if err := share(keys, goroutines, in.Keys); err != nil {
		return 0, err
	}
	slices.SortFunc(keys, contender.Key.Compare)
	return n - len(slices.Compact(keys)), nil
}

// Skipped makes n ids on the given number of goroutines at once, and returns how many are equal to
// another one and how many numbers are missing between the lowest and the highest. g has one lane
// and does not jump, so that a missing number is one that a caller skipped. position counts the ids
// that g can make.
func Skipped(g uid.Generator, goroutines, n int, position func(uid.ID) int64) (skipped,
	duplicates int, err error) {
	ids := make([]uid.ID, n)
	err = share(ids, goroutines, func(part []uid.ID) (err error) {
		ctx := context.Background()
		for i := range part {
			if part[i], err = g.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	low := position(slices.Min(ids))
	span := position(slices.Max(ids)) - low + 1
	seen := make([]uint64, span/64+1)
	for _, id := range ids {
		at := position(id) - low
		if seen[at/64]>>(at%64)&1 != 0 {
			duplicates++
		}
		seen[at/64] |= 1 << (at % 64)
	}
	return int(span) - (n - duplicates), duplicates, nil
}

// share has goroutines set their parts of all at once.
func share[T any](all []T, goroutines int, set func([]T) error) error {
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			errs[g] = set(all[len(all)*g/goroutines : len(all)*(g+1)/goroutines])
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
