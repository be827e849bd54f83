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

// maxExact is the largest number that JavaScript holds exactly together with the one above it.
const maxExact = 1<<53 - 1

// UnmarshalJSON reads a JSON string that holds what ParseID reads, or a JSON number of digits alone
// that is below 2^53. A larger number is refused: a browser, and whatever else keeps numbers as
// floats, has rounded it already, and there is no telling from which id. JSONNumber reads the
// numbers of programs that keep them exact. The tag json:",string" makes a number of a string
// before Go 1.27: an ID needs none, and is a string without it. A fraction or an exponent, even of
// integral value, is refused, because it has been through a float. Null leaves id as it was, as
// encoding/json asks for, and so does an error, which wraps ErrBadID. It implements
// json.Unmarshaler. It cannot help a number that was decoded into an any first: that is a float64
// already.
func (id *ID) UnmarshalJSON(data []byte) error {
	v, err := parseJSON(data, *id)
	if err == nil && v > maxExact && data[0] != '"' && data[0] != 'n' {
		err = fmt.Errorf("%w: JSON number %d is above %d: a browser has rounded it; want a "+
			"string, on a field without the tag \",string\", or uid.JSONNumber for exact numbers",
			ErrBadID, int64(v), int64(maxExact))
	}
	if err == nil {
		*id = v
	}
	return err
}

// JSONNumber is an ID whose JSON form is a number, for programs that keep 64 bits of a number, as
// those in Go and Java do. A browser does not: see ID.UnmarshalJSON. Convert it by ID(n).
type JSONNumber ID

// MarshalJSON returns the decimal form as a JSON number. A negative id is an error that wraps
// ErrBadID. It allocates its result. It implements json.Marshaler.
func (n JSONNumber) MarshalJSON() ([]byte, error) { return ID(n).MarshalText() }

// UnmarshalJSON reads what ID.UnmarshalJSON reads, and every number of an id. It implements
// json.Unmarshaler.
func (n *JSONNumber) UnmarshalJSON(data []byte) error {
	v, err := parseJSON(data, ID(*n))
	if err == nil {
		*n = JSONNumber(v)
	}
	return err
}

// parseJSON reads a string or a number. Null is old.
func parseJSON(data []byte, old ID) (ID, error) {
	if len(data) == 0 {
		return 0, fmt.Errorf("%w: JSON value is empty, want a string or a number", ErrBadID)
	}
	// encoding/json passes one well-formed value without space around it: its first byte tells what
	// it is.
	switch c := data[0]; {
	case c >= '0' && c <= '9':
		return parseDecimal(data)
	case c == '"' && len(data) > 1 && data[len(data)-1] == '"':
		text := data[1 : len(data)-1]
		if bytes.IndexByte(text, '\\') < 0 {
			return parseDecimal(text)
		}
		// JSON permits escapes in place of digits.
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return 0, fmt.Errorf("%w: JSON value %s is not a string: %w",
				ErrBadID, quote(data), err)
		}
		return parseDecimal(s)
	case string(data) == "null":
		return old, nil
	}
	return 0, fmt.Errorf("%w: JSON value is %s, want a string or a number of digits",
		ErrBadID, quote(data))
}
