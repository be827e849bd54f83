package suite

import "math"

// calmest calls f up to n times and returns the result of the call during which the count of
// disturbances rose least. It stops at a call without one: on an idle machine that is mostly the
// first.
func calmest[T any](n int, count func() int64, f func() (T, error)) (best T, err error) {
	least := int64(math.MaxInt64)
	for i := 0; i < n && least > 0; i++ {
		before := count()
		v, err := f()
		if err != nil {
			return v, err
		}
		if rose := count() - before; rose < least {
			best, least = v, rose
		}
	}
	return best, nil
}
