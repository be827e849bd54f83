// Package metrictest has the sources whose figures the tests of both exporters compare.
package metrictest

import (
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

var errAway = errors.New("away")

// Generator is a source of statistics whose figures are all different.
type Generator struct{}

// Stats returns the statistics.
func (Generator) Stats() uid.Stats {
	at := func(n int64) time.Time { return time.Unix(1_800_000_000+n, 500e6) }
	return uid.Stats{
		Worker: 1, Universe: "4711",
		WindowUntil: at(2), IDsUntil: at(3), LastExtended: at(4), Expires: at(5),
		Lead: 6500 * time.Millisecond, Lag: 7 * time.Second, ClockHeld: 8 * time.Hour,
		Claims: 9, ClaimsLost: 10, Extends: 11, ExtendFailures: 12, ExtendErr: errAway,
		Waits: 13, Waited: 14250 * time.Millisecond, RejectsEmpty: 15, RejectsLead: 16,
		RejectsClaim: 17, RejectsExhausted: 18, RejectsRollback: 19, RejectsPut: 20, Issued: 21,
		RunsTaken: 22, RunsStale: 23, PadderRuns: 24, Pads: 25, Len: 26, Cap: 27, RunLength: 28,
	}
}

// Segments is a source of statistics with that many tags.
type Segments int

// Stats returns the statistics.
func (n Segments) Stats() (s segment.Stats) {
	for i := range int64(n) {
		one := segment.TagStats{Tag: fmt.Sprintf("tag %d", i), Left: 100 + i, Step: 200 + i,
			Waiting: 300 + int(i), Fetches: 400 + i, Failures: 500 + i, Waits: 600 + i,
			LastFetch: time.Unix(700+i, 0), Issued: 800 + i}
		if i == 1 {
			one.LastFetch, one.Err = time.Time{}, errAway
		}
		s.Tags = append(s.Tags, one)
	}
	if n > 0 {
		s.ListErr = errAway
	}
	return s
}
