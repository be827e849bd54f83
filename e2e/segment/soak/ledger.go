package main

import "sync"

// pageBits is how many ids a page of a ledger has.
const pageBits = 1 << 15

// ledger has a bit for each id of one source, so that an id that comes again meets itself, whatever
// else is missing.
type ledger struct {
	mu    sync.Mutex
	pages map[int64]*[pageBits / 64]uint64
	ids   int64
	twice int64
	first int64 // the first that came twice
	high  int64
}

// add enters ids.
func (l *ledger) add(ids []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// sum returns what the ledger has seen.
func (l *ledger) sum() (ids, twice, first, high int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids, l.twice, l.first, l.high
}
