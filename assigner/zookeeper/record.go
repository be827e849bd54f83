package zookeeper

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// record is what a slot's node holds, as JSON.
type record struct {
	Version  int    `json:"v"`        // recordVersion
	Token    string `json:"token"`    // names the write, so that its author knows it again
	Instance string `json:"instance"` // Options.Instance of the owner
	Host     string `json:"host"`     // informative only
	PID      int    `json:"pid"`      // informative only
	Layout   string `json:"layout"`   // canonical text, empty if none was bound
	Until    int64  `json:"until_ms"` // end of the reserved window, Unix milliseconds
	// The point in time that the owner had reached, Unix milliseconds.
	Front int64 `json:"front_ms"`
}

const (
	recordVersion = 1
	maxRecord     = 16 << 10
	maxMillis     = 1 << 53 // beyond the year 287,000: a stored number above it is nonsense
)

// encode returns r as it is stored.
func (r record) encode() []byte {
	r.Version = recordVersion
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// decodeRecord reads what encode wrote. It refuses what it does not understand; such a slot is left
// alone.
func decodeRecord(b []byte) (record, error) {
	var r record
	if len(b) > maxRecord {
		return r, fmt.Errorf("slot data is %d bytes, want at most %d", len(b), maxRecord)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("slot data: %w", err)
	}
	switch {
	case r.Version != recordVersion:
		return r, fmt.Errorf("slot data has version %d, want %d", r.Version, recordVersion)
	case r.Until < 0 || r.Until > maxMillis:
		return r, fmt.Errorf("slot data has until_ms %d, want 0..%d", r.Until, int64(maxMillis))
	case r.Front < 0 || r.Front > maxMillis:
		return r, fmt.Errorf("slot data has front_ms %d, want 0..%d", r.Front, int64(maxMillis))
	}
	return r, nil
}

// newToken returns 130 random bits as text. Each write gets its own, so that even two copies of one
// process, which hold the same claim, never take the other's write for their own.
func newToken() string { return rand.Text() }

// errRange says that a time cannot be stored.
var errRange = errors.New("assigner/zookeeper: time out of range")

// ceilMillis returns t in Unix milliseconds, rounded up: a window's end may grow by rounding and
// never shrink below what was stamped.
func ceilMillis(t time.Time) (int64, error) {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	if ms < 0 || ms > maxMillis {
		return 0, fmt.Errorf("%w: %v is not within 1970 and %v", errRange, t, millis(maxMillis))
	}
	return ms, nil
}

// millis returns the instant of Unix milliseconds.
func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
