package bitsalloc

import "time"

// Baidu returns the layout that Baidu's UidGenerator has by default: 28-22-13 with one-second ticks since 2016-05-20 at
// +08:00. It is for taking existing ids apart. Nothing can be stamped with it any more: its last second was
// 2024-11-20T13:24:15Z, and it expired at 2024-11-20T13:24:16Z. The zero Layout has the same widths and a live epoch.
func Baidu() Layout {
	return Layout{
		TimeBits: 28, WorkerBits: 22, SeqBits: 13, Tick: time.Second,
		Epoch: time.Date(2016, time.May, 19, 16, 0, 0, 0, time.UTC),
	}
}

// BaiduSample returns the layout of the sample configuration that comes with Baidu's UidGenerator and that many
// services copied: 29-21-13 with one-second ticks since 2016-09-20, here at +08:00. It expires at 2033-09-24T10:48:32Z.
//
// The original reads its epoch in the zone of the process. Ids of a service that ran in another zone need the Epoch of
// midnight in that zone.
func BaiduSample() Layout {
	return Layout{
		TimeBits: 29, WorkerBits: 21, SeqBits: 13, Tick: time.Second,
		Epoch: time.Date(2016, time.September, 19, 16, 0, 0, 0, time.UTC),
	}
}
