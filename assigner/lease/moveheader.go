package lease

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/uidring/uidring/internal/storekind"
)

// The marks of a move.
const (
	sealed = storekind.Sealed
	closed = storekind.Closed
)

// The widths of texts in a header, in characters. The table WORKER_LEASE has 191 for either column.
const (
	sealWidth   = 191
	originWidth = 60
	originHash  = 18 // of originWidth: a space, # and 64 bits
)

// mostRanges bounds the list of used worker ids that a move leaves: an entry has at most 16 KiB,
// and WORKER_LEASE less. Windows that still run are scattered over all worker ids of a large
// universe, so the gaps between them are filled, the smallest first.
const mostRanges, mostInNumberer = 512, 5

// move is what a header says of a move. The target of one may be the source of the next: then it
// has what the next one wrote.
type move struct {
	Token string `json:"token"`          // of the move, in both headers
	From  string `json:"from,omitempty"` // in the target: which store it is from, see originOf
	Done  bool   `json:"done,omitempty"` // in the source: the target was opened
}

// sealed reports whether the ids of h were moved away.
func (h header) sealed() bool { return strings.HasPrefix(h.Layout, sealed) }

// closed reports whether h is that of a target that is not open yet.
func (h header) closed() bool { return strings.HasPrefix(h.Layout, closed) }

// exists reports whether the store has a header.
func (h header) exists() bool { return h.entry.Version != "" }

// movedTo returns where the ids of a sealed header were moved to.
func (h header) movedTo() string { return strings.TrimPrefix(h.Layout, sealed) }

// sealOf returns the text that stands for layouts in the header of a store that was moved to s. It
// holds no secret, as no Store's String does.
func sealOf(s *space) string {
	text := sealed + plain(place(s.store))
	return text[:min(sealWidth, len(text))]
}

// originOf returns what the target of a move keeps of s, to know the same move again: the end of
// the place, for people, and a hash of all of it, because long addresses may have one end.
func originOf(s *space) string {
	text := plain(place(s.store))
	sum := fmt.Sprintf(" #%x", sha256.Sum256([]byte(text)))[:originHash]
	return text[max(0, len(text)-originWidth+originHash):] + sum
}

// plain returns a text without what has a meaning in a list of layouts, and without what not every
// store can hold.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(announcing+takingBack, r) {
			return '?'
		}
		return r
	}, text)
}

// usedOf returns the set of the worker ids of rows.
func usedOf(rows []row) used {
	all := make(used, 0, len(rows))
	for _, r := range rows {
		all = append(all, [2]int64{r.worker, r.worker + 1})
	}
	return all.union(nil)
}

// without returns what is in u and not in o.
func (u used) without(o used) used {
	left := used{}
	for _, r := range u {
		first := r[0]
		for _, gone := range o {
			if end := min(gone[0], r[1]); first < end {
				left = append(left, [2]int64{first, end})
			}
			first = max(first, gone[1])
		}
		if first < r[1] {
			left = append(left, [2]int64{first, r[1]})
		}
	}
	return left
}

// within returns u with the smallest gaps filled, so that at most n ranges are left.
func (u used) within(n int) used {
	var gaps [][2]int64
	for i := range len(u) - 1 {
		gaps = append(gaps, [2]int64{u[i][1], u[i+1][0]})
	}
	slices.SortFunc(gaps, func(a, b [2]int64) int { return cmp.Compare(a[1]-a[0], b[1]-b[0]) })
	return u.union(gaps[:max(0, len(u)-n)])
}
