package main

import (
	"encoding/json"
	"time"
)

// instant is a time that JSON shows in any year. Time bits may last beyond the year 9999, which
// time.Time refuses to marshal.
type instant struct{ time.Time }

// MarshalJSON returns the form of time.RFC3339Nano, with as many digits as the year has.
func (t instant) MarshalJSON() ([]byte, error) { return json.Marshal(t.Format(time.RFC3339Nano)) }
