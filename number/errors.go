package number

import (
	"errors"
	"fmt"
)

// The errors that a caller can test for with errors.Is.
var (
	// ErrFormat: a format, a name or an option is refused, or it is not the one that the name was
	// first used with. Permanent: the message says what is wrong and where.
	ErrFormat = errors.New("number: bad format")

	// ErrKey: a caller's key is not of the field's alphabet and length.
	ErrKey = errors.New("number: bad key")

	// ErrText: a text is not a number of the format, or its check character says that it was
	// mistyped.
	ErrText = errors.New("number: bad number")
)

// invalid returns an error that wraps ErrFormat and says what is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}
