package uid

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Parts is an id taken apart.
type Parts struct {
	ID     ID
	Time   time.Time // the instant, in UTC, at which the id's tick begins
	Tick   int64     // ticks since the layout's epoch
	Worker int64
	Seq    int64 // sequence number within the tick
	Gene   int64 // 0 without GeneBits
}

// ParseParts takes id apart by the layout of alloc. Any id can be taken apart by any layout; that the two belong together is
// the caller's to know.
func ParseParts(alloc *bitsalloc.Allocator, id ID) Parts {
	p := Parts{ID: id}
	p.Tick, p.Worker, p.Seq, p.Gene = alloc.Split(int64(id))
	p.Time = alloc.TimeAt(p.Tick)
	return p
}

// BaiduJSON returns the text that the original's parseUID returns, with the time in zone (the original uses the process's,
// time.Local): {"UID":"…","timestamp":"2006-01-02 15:04:05","workerId":"…","sequence":"…"}.
func (p Parts) BaiduJSON(zone *time.Location) string {
	return fmt.Sprintf(`{"UID":"%d","timestamp":"%s","workerId":"%d","sequence":"%d"}`,
		int64(p.ID), p.Time.In(zone).Format(time.DateTime), p.Worker, p.Seq)
}
