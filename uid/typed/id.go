package typed

import (
	"database/sql/driver"
	"fmt"

	"github.com/uidring/uidring/uid"
)

// ID is a uid.ID whose type P names, for instance by an empty struct. It converts to and from
// uid.ID and int64 at no cost. It is comparable, and the order of IDs is that of their numbers.
//
// Prefix is called on the zero P. It returns 1 to 31 lower-case letters, digits and underscores,
// the first a letter and the last no underscore. Any other prefix is an error of every method that
// returns one.
type ID[P interface{ Prefix() string }] uid.ID

// Parse reads what String returns, and what people type for it: upper case, and what
// uid.Base32.Parse reads for digits. An id of another type is refused with an error that names both
// prefixes. It allocates only for an error, which wraps uid.ErrBadID.
func Parse[P interface{ Prefix() string }](text string) (ID[P], error) {
	var p P
	digits, err := cut(p.Prefix(), text)
	if err != nil {
		return 0, err
	}
	id, err := uid.Base32.Parse(digits)
	if err != nil {
		return 0, fmt.Errorf("typed: %w", err)
	}
	return ID[P](id), nil
}

// String returns the text. It allocates the string. A negative id, or a prefix that is none, gives
// a text that no parser accepts.
func (id ID[P]) String() string {
	return text(id.appendTo(make([]byte, 0, textLen)))
}

// appendTo appends the text to b. A negative id, and a prefix that is none, are errors that wrap
// uid.ErrBadID.
func (id ID[P]) appendTo(b []byte) ([]byte, error) {
	var p P
	b, err := appendPrefix(b, p.Prefix(), int64(id))
	if err != nil {
		return nil, err
	}
	b = uid.Base32.Append(b, uid.ID(id))
	lower(b)
	return b, nil
}

// MarshalText returns the text. It implements encoding.TextMarshaler, which makes an ID a string in
// JSON and the key of a JSON object.
func (id ID[P]) MarshalText() ([]byte, error) {
	return id.appendTo(make([]byte, 0, textLen))
}

// UnmarshalText reads what Parse reads; on an error id is left as it was. It implements
// encoding.TextUnmarshaler. JSON's null leaves the id as it was too, and a JSON number is refused:
// it does not say of what type it is.
func (id *ID[P]) UnmarshalText(text []byte) error {
	v, err := Parse[P](string(text))
	if err == nil {
		*id = v
	}
	return err
}

// Value returns the id as an int64, for a BIGINT column. It implements driver.Valuer. A negative id
// is an error that wraps uid.ErrBadID.
func (id ID[P]) Value() (driver.Value, error) { return uid.ID(id).Value() }

// Scan reads what uid.ID.Scan reads: a BIGINT, or a column of decimal text. The database does not
// know the type. NULL is an error that wraps uid.ErrBadID. It implements sql.Scanner.
func (id *ID[P]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		var p P
		return fmt.Errorf("typed: %w: column is NULL, want an id of %q; scan into sql.Null or a "+
			"pointer", uid.ErrBadID, p.Prefix())
	case *ID[P]: // ent scans the ids that it has just stored in bulk
		if v == nil {
			return id.Scan(nil)
		}
		src = int64(*v)
	}
	return (*uid.ID)(id).Scan(src)
}

// GormDataType names the column type for GORM's migrations, which find this method by its name.
func (ID[P]) GormDataType() string { return "bigint" }
