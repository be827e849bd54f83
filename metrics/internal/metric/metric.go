// Package metric lists the figures of a generator. Each exporter makes its own kind of metric from
// the list. All figures are read from Stats when the exporter collects.
package metric

import (
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// Figure is a number that can be read from an S.
type Figure[S any] struct {
	Name    string // in snake case, without prefix, unit and _total
	Unit    string // "s", or empty for a count
	Help    string
	Counter bool   // it never decreases; else it is a gauge
	Label   string // empty: the figure has none of its own

	// Value returns the value of Label. Figures with the same Name differ in it.
	Value func(S) string

	// Read returns the figure. ok is false if this S does not have it.
	Read func(S) (v float64, ok bool)
}

// Prometheus returns the name by Prometheus' conventions: the unit, and _total for a counter.
func (f Figure[S]) Prometheus() string {
	name := "uidring_" + f.Name
	if f.Unit == "s" {
		name += "_seconds"
	}
	if f.Counter {
		name += "_total"
	}
	return name
}

// OpenTelemetry returns the name by OpenTelemetry's conventions, without the unit.
func (f Figure[S]) OpenTelemetry() string { return "uidring." + f.Name }

// Generator returns the figures of a time-ordered generator.
func Generator() []Figure[uid.Stats] {
	type stats = uid.Stats
	count := func(name, help string, read func(stats) int64) Figure[stats] {
		return Figure[stats]{Name: name, Help: help, Counter: true,
			Read: func(s stats) (float64, bool) { return float64(read(s)), true }}
	}
	instant := func(name, help string, read func(stats) time.Time) Figure[stats] {
		return Figure[stats]{Name: name + "_timestamp", Unit: "s", Help: help,
			Read: func(s stats) (float64, bool) { return seconds(read(s)) }}
	}
	length := func(name, help string, read func(stats) time.Duration) Figure[stats] {
		return Figure[stats]{Name: name, Unit: "s", Help: help,
			Read: func(s stats) (float64, bool) { return read(s).Seconds(), true }}
	}
	all := []Figure[stats]{
		{Name: "worker_id", Help: "Worker id of the claim, while the claim is held.",
			Label: "universe", Value: func(s stats) string { return s.Universe },
			Read: func(s stats) (float64, bool) { return float64(s.Worker), held(s) }},
		length("lead", "How far the ids that are handed out are ahead of the clock.",
			func(s stats) time.Duration { return s.Lead }),
		length("lag", "How far the oldest id that may be handed out is behind the clock.",
			func(s stats) time.Duration { return s.Lag }),
		length("clock_held", "Jump of the wall clock that is held back.",
			func(s stats) time.Duration { return s.ClockHeld }),
		instant("window_end", "When the claim's window ends unless it is extended.",
			func(s stats) time.Time { return s.WindowUntil }),
		instant("ids_end", "When ids stop if nothing changes: the end of window or time bits.",
			func(s stats) time.Time { return s.IDsUntil }),
		instant("last_extended", "When the claim was made or last extended.",
			func(s stats) time.Time { return s.LastExtended }),
		instant("layout_end", "When the time bits of the layout are used up.",
			func(s stats) time.Time { return s.Expires }),
		count("claims", "Claims made.", func(s stats) int64 { return s.Claims }),
		count("claims_lost", "Claims lost to another owner.",
			func(s stats) int64 { return s.ClaimsLost }),
		count("extends", "Times that the claim was extended.",
			func(s stats) int64 { return s.Extends }),
		count("extend_failures", "Times that extending the claim failed.",
			func(s stats) int64 { return s.ExtendFailures }),
		count("ids_issued", "Ids handed out.", func(s stats) int64 { return s.Issued }),
		count("waits", "Calls that had to wait.", func(s stats) int64 { return s.Waits }),
	}
	waited := length("wait", "How long calls waited, all together.",
		func(s stats) time.Duration { return s.Waited })
	waited.Counter = true
	all = append(all, waited)
	for _, status := range []uid.Status{uid.Up, uid.Degraded, uid.Down} {
		all = append(all, Figure[stats]{Name: "status", Label: "status",
			Value: func(stats) string { return string(status) },
			Help:  "1 for the status of the generator, 0 for the others.",
			Read: func(s stats) (float64, bool) {
				return truth(s.Health().Status == status), true
			}})
	}
	for _, reject := range []struct {
		reason string
		read   func(stats) int64
	}{
		{"empty", func(s stats) int64 { return s.RejectsEmpty }},
		{"lead", func(s stats) int64 { return s.RejectsLead }},
		{"claim", func(s stats) int64 { return s.RejectsClaim }},
		{"exhausted", func(s stats) int64 { return s.RejectsExhausted }},
		{"rollback", func(s stats) int64 { return s.RejectsRollback }},
		{"put", func(s stats) int64 { return s.RejectsPut }},
	} {
		f := count("rejects", "Calls that failed; put: padding runs that PutPolicy refused.",
			reject.read)
		f.Label, f.Value = "reason", func(stats) string { return reject.reason }
		all = append(all, f)
	}
	// The figures of a uid.Cached only.
	for _, f := range []Figure[stats]{
		count("runs_taken", "Runs taken from the ring.",
			func(s stats) int64 { return s.RunsTaken }),
		count("runs_stale", "Runs dropped because the clock had passed them.",
			func(s stats) int64 { return s.RunsStale }),
		count("padder_runs", "Times that the padder looked at the ring.",
			func(s stats) int64 { return s.PadderRuns }),
		count("pads", "Times that a caller found the ring empty and filled it.",
			func(s stats) int64 { return s.Pads }),
		{Name: "ring_ids", Help: "Ids in the ring.",
			Read: func(s stats) (float64, bool) { return float64(s.Len), true }},
		{Name: "ring_capacity_ids", Help: "Ids that fit into the ring.",
			Read: func(s stats) (float64, bool) { return float64(s.Cap), true }},
	} {
		read := f.Read
		f.Read = func(s stats) (float64, bool) {
			v, _ := read(s)
			return v, s.RunLength > 0
		}
		all = append(all, f)
	}
	return all
}

// Tag returns the figures of a tag of a segment generator.
func Tag() []Figure[segment.TagStats] {
	type stats = segment.TagStats
	figure := func(name, unit, help string, counter bool, read func(stats) float64) Figure[stats] {
		return Figure[stats]{Name: "segment_" + name, Unit: unit, Help: help, Counter: counter,
			Read: func(s stats) (float64, bool) { return read(s), true }}
	}
	all := []Figure[stats]{
		figure("left_ids", "", "Ids that can be handed out without the source.", false,
			func(s stats) float64 { return float64(s.Left) }),
		figure("step_ids", "", "Ids that are asked for at once.", false,
			func(s stats) float64 { return float64(s.Step) }),
		figure("failing", "", "1 while fetching fails, or there will be no further range.", false,
			func(s stats) float64 { return truth(s.Err != nil) }),
		figure("waiting", "", "Calls that wait for a range now.", false,
			func(s stats) float64 { return float64(s.Waiting) }),
		figure("ids_issued", "", "Ids handed out.", true,
			func(s stats) float64 { return float64(s.Issued) }),
		figure("fetches", "", "Ranges that arrived.", true,
			func(s stats) float64 { return float64(s.Fetches) }),
		figure("fetch_failures", "", "Fetches that failed.", true,
			func(s stats) float64 { return float64(s.Failures) }),
		figure("waits", "", "Calls that had to wait for a range.", true,
			func(s stats) float64 { return float64(s.Waits) }),
	}
	last := Figure[stats]{Name: "segment_last_fetch_timestamp", Unit: "s",
		Help: "When the last range arrived.",
		Read: func(s stats) (float64, bool) { return seconds(s.LastFetch) }}
	return append(all, last)
}

// Segments returns the figures of a segment generator itself, apart from those of its tags.
func Segments() []Figure[segment.Stats] {
	return []Figure[segment.Stats]{{
		Name: "segment_list_failing", Help: "1 while listing the tags of the source fails.",
		Read: func(s segment.Stats) (float64, bool) { return truth(s.ListErr != nil), true },
	}}
}

// held reports whether the worker id is this generator's. Another process may have it once the
// generator is closed, once the claim's window is over, and once the claim will not be extended.
func held(s uid.Stats) bool {
	for _, over := range []error{uid.ErrClosed, uid.ErrClaimExpired, assigner.ErrBeyondReach} {
		if errors.Is(s.Err, over) {
			return false
		}
	}
	return !errors.Is(s.ExtendErr, assigner.ErrClaimLost) &&
		!errors.Is(s.ExtendErr, assigner.ErrSuperseded)
}

// seconds returns t in unix seconds. It returns false for the zero time.
func seconds(t time.Time) (float64, bool) {
	return float64(t.UnixMilli()) / 1000, !t.IsZero()
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
