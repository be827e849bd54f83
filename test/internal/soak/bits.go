package soak

import "sync"

// pageBits is how many ids a page of Bits has.
const pageBits = 1 << 15

// Bits has a bit for each id of one source, so it finds every id that is repeated. The zero value
// is ready to use, and its methods are safe for concurrent use.
type Bits struct {
	mu    sync.Mutex // guards the fields below
	pages map[int64]*[pageBits / 64]uint64
	ids   int64 // how many came
	twice int64 // how many of them had come before
	first int64 // the first of those
	high  int64 // the highest id
}

// Add records ids.
func (l *Bits) Add(ids []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[int64]*[pageBits / 64]uint64{}
	}
	for _, id := range ids {
		page := l.pages[id/pageBits]
		if page == nil {
			page = new([pageBits / 64]uint64)
			l.pages[id/pageBits] = page
		}
		word, bit := &page[id%pageBits/64], uint64(1)<<(id%64)
		if *word&bit != 0 {
			if l.twice++; l.twice == 1 {
				l.first = id
			}
		}
		*word |= bit
		l.high = max(l.high, id)
	}
	l.ids += int64(len(ids))
}

// Sum returns how many ids came, how many were repeated, the first of those, and the highest id.
func (l *Bits) Sum() (ids, twice, first, high int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids, l.twice, l.first, l.high
}
