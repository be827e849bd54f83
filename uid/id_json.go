package uid

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON returns the decimal form as a JSON string: as a number it would lose its last digits
// in JavaScript. A negative id is an error that wraps ErrBadID. It allocates its result. It
// implements json.Marshaler, which encoding/json prefers to MarshalText.
func (id ID) MarshalJSON() ([]byte, error) {
	if id < 0 {
		return nil, errNegative(id)
	}
	// Digits need no escaping, so that the text goes between the quotes as it is.
	b := append(make([]byte, 0, maxDecimal+2), '"')
	b, err := id.AppendText(b)
	return append(b, '"'), err
}

// UnmarshalJSON reads a JSON string that holds what ParseID reads, or a JSON number of digits
// alone: a fraction or an exponent, even of integral value, is refused, because it has been through
// a float. Null leaves id as it was, as encoding/json asks for, and so does an error, which wraps
// ErrBadID. It implements json.Unmarshaler. It cannot help a number that was decoded into an any
// first: that is a float64 already.
func (id *ID) UnmarshalJSON(data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: JSON value is empty, want a string or a number", ErrBadID)
	}
	// encoding/json passes one well-formed value without space around it: its first byte tells what
	// it is.
	switch c := data[0]; {
	case c >= '0' && c <= '9':
		return id.UnmarshalText(data)
	case c == '"' && len(data) > 1 && data[len(data)-1] == '"':
		text := data[1 : len(data)-1]
		if bytes.IndexByte(text, '\\') < 0 {
			return id.UnmarshalText(text)
		}
		// JSON permits escapes in place of digits.
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("%w: JSON value %s is not a string: %w", ErrBadID, quote(data), err)
		}
		return id.UnmarshalText([]byte(s))
	case string(data) == "null":
		return nil
	}
	return fmt.Errorf("%w: JSON value is %s, want a string or a number of digits",
		ErrBadID, quote(data))
}
