package lease

import (
	"cmp"
	"slices"
)

// used is a set of worker ids, as half-open ranges in ascending order that do not touch. That of a
// header are those that are not given out as new, because the store may have forgotten up to when
// ids were stamped with them: see Restore and Move.
type used [][2]int64

// unused returns the number in [first, last] before which skip others are not in u. ok reports
// whether there is one.
func (u used) unused(first, last, skip int64) (n int64, ok bool) {
	n = first + skip
	for _, r := range u {
		if r[0] <= n {
			n += max(0, r[1]-max(r[0], first))
		}
	}
	return n, n <= last
}

// has reports whether n is in u.
func (u used) has(n int64) bool {
	return slices.ContainsFunc(u, func(r [2]int64) bool { return n >= r[0] && n < r[1] })
}

// with returns the union of u and [first, end). It leaves u as it is.
func (u used) with(first, end int64) used { return u.union(used{{first, end}}) }

// union returns the union of u and o, which may be in any order and overlap.
func (u used) union(o used) used {
	all := slices.Concat(u, o)
	slices.SortFunc(all, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	merged := used{}
	for _, r := range all {
		if n := len(merged) - 1; n >= 0 && r[0] <= merged[n][1] {
			merged[n][1] = max(merged[n][1], r[1])
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

// valid reports whether the ranges of u are not empty, ascend and do not touch.
func (u used) valid() bool {
	end := int64(-1)
	for _, r := range u {
		if r[0] <= end || r[1] <= r[0] {
			return false
		}
		end = r[1]
	}
	return true
}

// count returns how many numbers are in u.
func (u used) count() (n int64) {
	for _, r := range u {
		n += r[1] - r[0]
	}
	return n
}
