package bitsalloc

import "time"

// DecodeLeaf takes an id apart by the formulas of Leaf's decode endpoint:
//
//	time   = (id >> 22) + epoch
//	worker = (id >> 12) ^ (id >> 22 << 10)
//	seq    = id ^ (id >> 12 << 12)
//
// Two things are better than there. The epoch is the caller's, where Leaf always takes its default (which the zero time
// means here too), so that ids of a service with an epoch of its own get the right time. And the shift is unsigned: an
// id that went negative because the 41 bits of its generator had run out is decoded to when it was made, not to before
// the epoch.
func DecodeLeaf(id int64, epoch time.Time) (t time.Time, worker, seq int64) {
	since := int64(twitterEpoch)
	if !epoch.IsZero() {
		since = epoch.UnixMilli()
	}
	tick := int64(uint64(id) >> 22)
	return time.UnixMilli(tick + since).UTC(), id>>12 ^ id>>22<<10, id ^ id>>12<<12
}
