package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Instant is an instant that may be missing: null in JSON and the zero time in Go.
type Instant struct{ time.Time }

// MarshalJSON returns null for the zero time.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	return i.Time.MarshalJSON()
}

// Decode decodes a body into out, which points to a struct of this package. It returns an error
// that names the field if a field is missing or null: a worker id of 0, or a window without an end,
// must not come about because the sender left something out. Fields with an omit option may be
// missing, and an Instant may be null.
func Decode(body []byte, out any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	if members == nil {
		return errors.New("it is null, want an object")
	}
	of := reflect.TypeOf(out).Elem()
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, ok := members[name]
		switch {
		case strings.HasPrefix(options, "omit"):
		case !ok:
			return fmt.Errorf("%s is missing", name)
		case string(value) == "null" && field.Type != reflect.TypeFor[Instant]():
			return fmt.Errorf("%s is null", name)
		}
	}
	return json.Unmarshal(body, out)
}
