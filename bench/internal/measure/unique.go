package measure

import (
	"errors"
	"slices"
	"sync"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Unique makes n ids on the given number of goroutines at once and returns how many were handed out before: n minus the
// number of different ones. Every id is kept and compared; nothing is summed or sampled.
func Unique(in *contender.Instance, goroutines, n int) (duplicates int, err error) {
	keys := make([]contender.Key, n)
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		share := keys[n*g/goroutines : n*(g+1)/goroutines]
		wg.Go(func() { errs[g] = in.Keys(share) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return Duplicates(keys), nil
}

// Duplicates sorts keys and returns how many of them are equal to the one before.
func Duplicates(keys []contender.Key) int {
	slices.SortFunc(keys, contender.Key.Compare)
	n := 0
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			n++
		}
	}
	return n
}
