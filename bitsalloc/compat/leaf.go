package compat

import "time"

// DecodeLeaf takes an id apart by the formulas of Leaf's decode endpoint:
//
//	time   = (id >> 22) + epoch
//	worker = (id >> 12) ^ (id >> 22 << 10)
//	seq    = id ^ (id >> 12 << 12)
//
// It differs in two ways. The caller names the epoch, where Leaf always takes its default (which
// the zero time means here too), so that ids of a service with an epoch of its own get the right
// time. And the shift is unsigned: an id that went negative because the 41 bits of its generator
// had run out is decoded to when it was made, not to before the epoch.
func DecodeLeaf(id int64, epoch time.Time) (t time.Time, worker, seq int64) {
	if epoch.IsZero() {
		epoch = Twitter().Epoch
	}
	tick := int64(uint64(id) >> 22)
	return time.UnixMilli(tick + epoch.UnixMilli()).UTC(), id>>12 ^ id>>22<<10, id ^ id>>12<<12
}
