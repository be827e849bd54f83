package compat

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Baidu returns the default layout of Baidu's UidGenerator: 28-22-13 with one-second ticks since
// 2016-05-20 at +08:00. It is for taking existing ids apart. Nothing can be stamped with it any
// more: its last second was 2024-11-20T13:24:15Z. The zero Layout has the same widths and a live
// epoch.
func Baidu() bitsalloc.Layout {
	return bitsalloc.Layout{
		TimeBits: 28, WorkerBits: 22, SeqBits: 13, Tick: time.Second,
		Epoch: time.Date(2016, time.May, 19, 16, 0, 0, 0, time.UTC),
	}
}

// BaiduSample returns the layout of the sample configuration that comes with Baidu's UidGenerator
// and that many services copied: 29-21-13 with one-second ticks since 2016-09-20, here at +08:00.
// It expires at 2033-09-24T10:48:32Z.
//
// The original reads its epoch in the zone of the process. Ids of a service that ran in another
// zone need the Epoch of midnight in that zone.
func BaiduSample() bitsalloc.Layout {
	return bitsalloc.Layout{
		TimeBits: 29, WorkerBits: 21, SeqBits: 13, Tick: time.Second,
		Epoch: time.Date(2016, time.September, 19, 16, 0, 0, 0, time.UTC),
	}
}

// BaiduJSON returns the text that the original's parseUID returns for id, with the time in zone
// (the original uses that of the process, time.Local):
//
//	{"UID":"…","timestamp":"2006-01-02 15:04:05","workerId":"…","sequence":"…"}
func BaiduJSON(a *bitsalloc.Allocator, id int64, zone *time.Location) string {
	tick, worker, seq, _ := a.Split(id)
	return fmt.Sprintf(`{"UID":"%d","timestamp":"%s","workerId":"%d","sequence":"%d"}`,
		id, a.TimeAt(tick).In(zone).Format(time.DateTime), worker, seq)
}
