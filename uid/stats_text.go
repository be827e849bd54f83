package uid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"
)

// attrs returns the fields of s that are not zero, in the order of Stats, with durations and errors
// as text. It is the one list of keys for LogValue and MarshalJSON, so that a log line and a
// debug page call a figure by the same name. The worker id is there even when it is 0.
func (s Stats) attrs() []slog.Attr {
	var all []slog.Attr
	add := func(key string, value any) {
		switch v := value.(type) {
		case nil:
			return
		case string:
			if v == "" {
				return
			}
		case int:
			if v == 0 {
				return
			}
		case int64:
			if v == 0 && key != "worker" {
				return
			}
		// A number of nanoseconds would need its unit in the key.
		case time.Duration:
			if v == 0 {
				return
			}
			value = v.String()
		// UTC, so that two processes in two zones write comparable lines.
		case time.Time:
			if v.IsZero() {
				return
			}
			value = v.UTC().Format(time.RFC3339Nano)
		// encoding/json would write an error as an empty object.
		case error:
			value = v.Error()
		}
		all = append(all, slog.Any(key, value))
	}
	add("status", string(s.Health().Status))
	// 0 is a worker id like any other, and a line without one would be of no generator.
	add("worker", s.Worker)
	add("authority", s.Authority)
	add("universe", s.Universe)
	add("layout", s.Layout.String())
	add("expires", s.Expires)
	add("window_from", s.WindowFrom)
	add("window_until", s.WindowUntil)
	add("ids_until", s.IDsUntil)
	add("last_extended", s.LastExtended)
	add("failing_since", s.FailingSince)
	add("extend_error", s.ExtendErr)
	add("claims", s.Claims)
	add("claims_lost", s.ClaimsLost)
	add("extends", s.Extends)
	add("extend_failures", s.ExtendFailures)
	add("position", s.Position)
	add("lead", s.Lead)
	add("lag", s.Lag)
	add("issued", s.Issued)
	add("tail", s.Tail)
	add("cursor", s.Cursor)
	add("len", s.Len)
	add("cap", s.Cap)
	add("run_length", s.RunLength)
	add("lanes", s.Lanes)
	add("runs_taken", s.RunsTaken)
	add("runs_stale", s.RunsStale)
	add("padder_runs", s.PadderRuns)
	add("pads", s.Pads)
	add("waits", s.Waits)
	add("waited", s.Waited)
	add("rejects_empty", s.RejectsEmpty)
	add("rejects_lead", s.RejectsLead)
	add("rejects_claim", s.RejectsClaim)
	add("rejects_exhausted", s.RejectsExhausted)
	add("rejects_rollback", s.RejectsRollback)
	add("rejects_put", s.RejectsPut)
	add("clock_held", s.ClockHeld)
	add("error", s.Err)
	return all
}

// LogValue returns the fields of s that are not zero as a group, with the keys of MarshalJSON. It
// implements slog.LogValuer. It allocates, and is called only for a line that a handler writes.
func (s Stats) LogValue() slog.Value { return slog.GroupValue(s.attrs()...) }

// MarshalJSON returns the fields of s that are not zero as an object: times in RFC 3339, durations
// as Go writes them, errors as their text, and the Status. Keys are in the order of Stats, with
// underscores. It implements json.Marshaler; there is no way back, because errors are texts.
func (s Stats) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, a := range s.attrs() {
		value, err := json.Marshal(a.Value.Any())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:%s", a.Key, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// String returns one line for a person: worker, layout, status and its reason, window, lead and
// lag. It leaves counters out; MarshalJSON has them.
func (s Stats) String() string {
	h := s.Health()
	text := fmt.Sprintf("worker %d of %v, %s", s.Worker, s.Layout, h.Status)
	if h.Reason != "" {
		text += " (" + h.Reason + ")"
	}
	if !s.WindowUntil.IsZero() {
		text += ", window until " + s.WindowUntil.UTC().Format(time.RFC3339)
	}
	return text + fmt.Sprintf(", lead %v, lag %v", s.Lead, s.Lag)
}

// String returns that of Stats, so that a generator in a log line is readable and its words are not
// printed one by one, which would be a data race.
func (c *Cached) String() string { return c.Stats().String() }

// String returns that of Stats, see Cached.String.
func (d *Default) String() string { return d.Stats().String() }
