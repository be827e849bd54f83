package opaque

import (
	"fmt"

	"github.com/uidring/uidring/uid"
)

// maxVersion is the highest version of a key, of the two bits that a code has for it.
const maxVersion = 3

// ID is the code that hides an id: 63 bits that look random, and the version of the key. Codec.Hide
// makes it and Codec.Reveal reads it. IDs are comparable. Their order means nothing. The zero ID
// hides nothing: Reveal returns ErrVersion.
//
// Its text is 13 characters of Crockford's base 32, the version in the two highest of 65 bits.
type ID struct {
	code    uid.ID // negative if there is nothing to hide
	version uint8
}

const (
	textLen      = 13
	base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// errNegative is the error of a code that hides no id.
var errNegative = fmt.Errorf("opaque: %w: the hidden id is negative", uid.ErrBadID)

// Version returns the version of the key that hides the id.
func (id ID) Version() int { return int(id.version) }

// String returns the text. It allocates the string.
func (id ID) String() string {
	b, err := id.AppendText(make([]byte, 0, textLen))
	if err != nil {
		return "-" // no parser accepts it
	}
	return string(b)
}

// AppendText appends the text to b. It allocates only when b has to grow. The code of a
// negative id is an error that wraps uid.ErrBadID, and b is returned as it was.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if id.code < 0 {
		return b, errNegative
	}
	first := len(b)
	b = uid.Base32.Append(b, id.code)
	b[first] = base32Digits[id.version<<3|uint8(id.code>>60)]
	return b, nil
}

// MarshalText returns what AppendText appends, in a slice of its own. It implements
// encoding.TextMarshaler, so the code is a string in JSON.
func (id ID) MarshalText() ([]byte, error) {
	if id.code < 0 { // before AppendText, which would return its buffer
		return nil, errNegative
	}
	return id.AppendText(make([]byte, 0, textLen))
}

// UnmarshalText reads what ParseID reads. On an error id is left as it was. It implements
// encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	v, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// ParseID reads the text as uid.Base32.Parse does. It has no key, so it does not tell codes that
// were shown from others. It allocates only for an error, which wraps uid.ErrBadID.
func ParseID(text string) (ID, error) {
	if len(text) != textLen {
		return ID{}, fmt.Errorf("opaque: %w: the text has %d bytes, want %d of base 32",
			uid.ErrBadID, len(text), textLen)
	}
	// The first character has the version and the three highest bits of the code.
	first, err := uid.Base32.Parse("000000000000" + text[:1])
	if err != nil {
		return ID{}, fmt.Errorf("opaque: %w", err)
	}
	code, err := uid.Base32.Parse(base32Digits[first&7:first&7+1] + text[1:])
	if err != nil {
		return ID{}, fmt.Errorf("opaque: %w", err)
	}
	return ID{code, uint8(first >> 3)}, nil
}
