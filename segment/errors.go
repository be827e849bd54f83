package segment

import "errors"

// The errors that a caller can test for with errors.Is. After an error marked as lasting, the
// Generator asks the source again only at the next refresh, so a repair takes effect without a
// restart. Until then, calls that find no id fail at once.
var (
	// ErrUnknownTag: the source has no counter of that name, or no longer has one. A Generator asks
	// the source again at the first call after a second or after Refresh, so a tag that is added
	// later works then.
	ErrUnknownTag = errors.New("segment: unknown tag")

	// ErrRangeWentBack: the source handed out a range that does not lie above all earlier ranges of
	// its tag. A replica that was promoted without the last writes does this, and so does a
	// restored backup. None of the range's ids is handed out. Lasting: other processes may hold ids
	// that this one has never seen, so an operator has to raise the counter above every id in use.
	// The message says from which id on this Generator accepts ranges again.
	ErrRangeWentBack = errors.New("segment: range went back")

	// ErrExhausted: the counter has no further range below 2^63. Lasting.
	ErrExhausted = errors.New("segment: counter exhausted")

	// ErrBadRange: the source handed out a range that is empty, negative or too long, or one that
	// may have ids of another Origin, or its row describes such a range. Lasting.
	ErrBadRange = errors.New("segment: bad range")

	// ErrFormat: the name of a Period was first used with another Format. Permanent: use another
	// name.
	ErrFormat = errors.New("segment: the name has another format")

	// ErrPastPeriod: a Period is below the floor of its name, so its counter may have been deleted
	// and must not begin anew. It lasts until the clock that named the period is right.
	ErrPastPeriod = errors.New("segment: the period is over for good")

	// ErrClosed: the Generator is closed. Permanent.
	ErrClosed = errors.New("segment: generator is closed")

	// ErrOptions: an option is out of range, or a database is not fit for use. The message names
	// the option, its value and its bound.
	ErrOptions = errors.New("segment: invalid options")
)

// errDropped says that the Generator dropped the tag, which never had a range, after the caller
// looked it up. The caller repeats the look-up.
var errDropped = errors.New("segment: the tag was dropped")

// isPermanent reports whether err lasts until someone changes the rows of the source. Every other
// error, of a network or a database, is temporary: fetching is tried again.
func isPermanent(err error) bool {
	return errors.Is(err, ErrUnknownTag) || errors.Is(err, ErrRangeWentBack) ||
		errors.Is(err, ErrExhausted) || errors.Is(err, ErrBadRange)
}
