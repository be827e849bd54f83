package uid

import (
	"database/sql/driver"
	"fmt"
	"math"
)

// Value returns the id as an int64, for a BIGINT column. A negative id is an error that wraps
// ErrBadID. It implements driver.Valuer, so that an ID is an argument of a statement as it stands.
func (id ID) Value() (driver.Value, error) {
	if id < 0 {
		return nil, errNegative(id)
	}
	return int64(id), nil
}

// Scan reads what a driver returns for a BIGINT (int64, uint64) or for a column of decimal text
// (string, []byte). NULL is an error: a column that may be NULL is scanned into sql.Null[ID] or
// *ID. So is a float, which has lost its last digits. A *ID is copied: ent scans the ids that it
// has just stored in bulk. Errors wrap ErrBadID and leave id as it was. It implements sql.Scanner.
func (id *ID) Scan(src any) error {
	// The types are those that database/sql promises, and uint64 for the drivers that return it for
	// an unsigned column.
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return errNegative(ID(v))
		}
		*id = ID(v)
		return nil
	// MySQL's driver returns it for BIGINT UNSIGNED, where a signed column would be an int64.
	case uint64:
		if v > math.MaxInt64 {
			return fmt.Errorf("%w: column is %d, want 0..%d", ErrBadID, v, int64(math.MaxInt64))
		}
		*id = ID(v)
		return nil
	case []byte: // belongs to the driver; nothing of it is kept
		return id.UnmarshalText(v)
	// It cannot be *id's own UnmarshalText without a copy of the text.
	case string:
		p, err := parseDecimal(v)
		if err == nil {
			*id = p
		}
		return err
	case *ID:
		if v == nil {
			return id.Scan(nil)
		}
		return id.Scan(int64(*v))
	case nil:
		return fmt.Errorf("%w: column is NULL; scan into sql.Null[uid.ID] or *uid.ID", ErrBadID)
	}
	return fmt.Errorf("%w: column is a %T, want int64, uint64, string or []byte", ErrBadID, src)
}

// GormDataType names the column type for GORM's migrations, which find this method by its name: a
// 64-bit integer in every dialect.
func (ID) GormDataType() string { return "bigint" }
