package typed

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/opaque"
)

// Shown is an ID as strangers see it: its text is the code that P's Codec gives the id, behind the
// prefix. It converts to and from ID[P], so a program keeps the one and shows the other:
//
//	type View struct { ID typed.Shown[order] }
//	View{ID: typed.Shown[order](o.ID)}
//
// It is for texts that people see. In a column its number would be the plain id, so Value and Scan
// refuse it.
//
// Codec is called on the zero P for each text. A nil Codec is an error.
type Shown[P interface {
	Prefix() string
	Codec() *opaque.Codec
}] uid.ID

// errColumn says that a Shown is no column.
var errColumn = errors.New("typed: a Shown is for showing, want typed.ID for a column")

// ParseShown reads what String returns, in either case, and returns the id. Every text that is well
// formed reveals some id: look it up, and check that the caller may see it. Errors wrap
// uid.ErrBadID or opaque.ErrVersion.
func ParseShown[P interface {
	Prefix() string
	Codec() *opaque.Codec
}](text string) (Shown[P], error) {
	var p P
	digits, err := cut(p.Prefix(), text)
	if err != nil {
		return 0, err
	}
	codec, err := codecOf(p.Prefix(), p.Codec())
	if err != nil {
		return 0, err
	}
	code, err := opaque.ParseID(digits)
	if err != nil {
		return 0, fmt.Errorf("typed: %w", err)
	}
	id, err := codec.Reveal(code)
	if err != nil {
		return 0, fmt.Errorf("typed: %w", err)
	}
	return Shown[P](id), nil
}

// String returns the text. A negative id, a prefix that is none or a nil Codec give a text that no
// parser accepts.
func (id Shown[P]) String() string {
	return text(id.appendTo(make([]byte, 0, textLen)))
}

// appendTo appends the text to b. Errors wrap uid.ErrBadID.
func (id Shown[P]) appendTo(b []byte) ([]byte, error) {
	var p P
	b, err := appendPrefix(b, p.Prefix(), int64(id))
	if err != nil {
		return nil, err
	}
	codec, err := codecOf(p.Prefix(), p.Codec())
	if err != nil {
		return nil, err
	}
	b, err = codec.Hide(uid.ID(id)).AppendText(b)
	lower(b)
	return b, err
}

// MarshalText returns the text. It implements encoding.TextMarshaler.
func (id Shown[P]) MarshalText() ([]byte, error) {
	return id.appendTo(make([]byte, 0, textLen))
}

// UnmarshalText reads what ParseShown reads; on an error id is left as it was. It implements
// encoding.TextUnmarshaler.
func (id *Shown[P]) UnmarshalText(text []byte) error {
	v, err := ParseShown[P](string(text))
	if err == nil {
		*id = v
	}
	return err
}

// Value refuses to store a Shown. It implements driver.Valuer, without which database/sql would
// store the number.
func (Shown[P]) Value() (driver.Value, error) { return nil, errColumn }

// Scan refuses to read a Shown. It implements sql.Scanner.
func (*Shown[P]) Scan(any) error { return errColumn }

// codecOf refuses a nil Codec.
func codecOf(prefix string, codec *opaque.Codec) (*opaque.Codec, error) {
	if codec == nil {
		return nil, fmt.Errorf("typed: %w: the Codec of %q is nil", uid.ErrBadID, prefix)
	}
	return codec, nil
}
