package uid

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// ErrBadID is what every error about a text, a JSON value or a column that is no id wraps. The
// message says what was wrong and quotes at most the input's first 32 bytes.
var ErrBadID = errors.New("uid: bad id")

// ID is a unique 63-bit id, 0 to 2^63-1. Ids of one layout order by time first.
//
// It has three text forms. The decimal one is what encoding/json, encoding.TextMarshaler and
// flag.TextVar use, always as a string, because a JavaScript number holds 53 bits only. Base32 and
// Base62, which Encoding has, have a fixed width, so that their texts sort as the numbers do. In a
// database an ID is a BIGINT.
//
// A negative number is no id. No method reads one, and methods that return an error write none.
// String and Encoding.Text return no error; they give it a text that no parser accepts.
type ID int64

// Parts is an id taken apart. It is a value and refers to nothing.
type Parts struct {
	// ID is the id as a whole.
	ID ID

	// Time is the instant, in UTC, at which the id's tick begins. The id was handed out up to
	// MaxLead before and MaxLag after it.
	Time time.Time

	// Tick is the time field: the ticks since the layout's epoch, counted from its FirstTick.
	Tick int64

	// Worker is the worker id of the generator that made the id.
	Worker int64

	// Seq is the sequence number within tick and worker, 0..MaxSeq.
	Seq int64

	// Gene is the shard gene, 0 without GeneBits.
	Gene int64
}

// ParseParts takes id apart by the layout of alloc. The caller must ensure that the two belong
// together: any id can be taken apart by any layout. It does not allocate and has no error: a
// number that no generator made gets the parts that its bits say.
func ParseParts(alloc *bitsalloc.Allocator, id ID) Parts {
	p := Parts{ID: id}
	p.Tick, p.Worker, p.Seq, p.Gene = alloc.Split(int64(id))
	p.Time = alloc.TimeAt(p.Tick)
	return p
}

// maxDecimal is the number of digits of the largest id.
const maxDecimal = 19

// String returns the decimal form, 1 to 19 digits. It allocates the string.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// ParseID reads the decimal form: 1 to 19 ASCII digits and nothing else, neither sign nor space.
// Leading zeros are accepted, since zero-padded decimals sort as the numbers do. It allocates only
// for an error, which wraps ErrBadID.
func ParseID(text string) (ID, error) { return parseDecimal(text) }

// AppendText appends the decimal form to b. It allocates only when b has to grow. A negative id is
// an error that wraps ErrBadID, and b is returned as it was. It implements encoding.TextAppender.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if id < 0 {
		return b, errNegative(id)
	}
	return strconv.AppendInt(b, int64(id), 10), nil
}

// MarshalText returns the decimal form. It implements encoding.TextMarshaler, which makes an ID the
// key of a JSON object as well. A negative id is an error that wraps ErrBadID.
func (id ID) MarshalText() ([]byte, error) {
	if id < 0 { // before AppendText, which would return its buffer together with the error
		return nil, errNegative(id)
	}
	return id.AppendText(make([]byte, 0, maxDecimal))
}

// UnmarshalText reads what ParseID reads; on an error id is left as it was. It implements
// encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	v, err := parseDecimal(text)
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// parseDecimal is ParseID for both kinds of text, so that bytes need no copy. It is stricter than
// strconv.ParseInt, which accepts a plus sign: every id has one spelling but for leading zeros, so
// two programs agree on which texts are equal ids. The length is checked first, which bounds the
// work on hostile input.
func parseDecimal[T string | []byte](text T) (ID, error) {
	if len(text) == 0 || len(text) > maxDecimal {
		return 0, fmt.Errorf("%w: decimal text %s has %d bytes, want 1..%d digits",
			ErrBadID, quote(text), len(text), maxDecimal)
	}
	var v uint64 // 19 digits stay below 2^64
	for i := range len(text) {
		d := text[i] - '0' // wraps around to more than 9 for what sorts before '0'
		if d > 9 {
			return 0, fmt.Errorf("%w: decimal text %s has %q at index %d, want a digit",
				ErrBadID, quote(text), text[i], i)
		}
		v = v*10 + uint64(d)
	}
	if v > math.MaxInt64 {
		return 0, errTooLarge("decimal", text)
	}
	return ID(v), nil
}

// errNegative is the error of writing an id that nothing would read back.
func errNegative(id ID) error {
	return fmt.Errorf("%w: %d is negative, want 0..%d", ErrBadID, int64(id), int64(math.MaxInt64))
}

// errTooLarge is the error of a well-formed text whose number has more than 63 bits. form is the
// name of the text form, as the error shows it.
func errTooLarge[T string | []byte](form string, text T) error {
	return fmt.Errorf("%w: %s text %s is above %d", ErrBadID, form, quote(text),
		int64(math.MaxInt64))
}

// quote returns text as an error shows it: escaped, and no more than 32 bytes of it, since it may
// be anything: a line break that forges a line of a log, or a megabyte.
func quote[T string | []byte](text T) string {
	const most = 32
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(string(text[:most])) + "..."
}
