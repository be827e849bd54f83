package segment

import "errors"

// The errors that a caller may want to tell apart, with errors.Is. After those that are called
// lasting the Generator asks the source again at the next refresh only, so that a repair takes
// effect without a restart; until then calls that find no id fail at once.
var (
	// ErrUnknownTag: the source has no counter of that name, or has it no longer. A Generator asks
	// again at the first call after a second, or after Refresh, so a tag that is added works then.
	ErrUnknownTag = errors.New("unknown tag")

	// ErrRangeWentBack: the source handed out a range that does not lie above all earlier ones of
	// its tag, as a replica does that was promoted without the last writes, or a backup that was
	// restored. None of its ids is handed out. Lasting: other processes may hold ids that this one
	// has never seen, so an operator has to raise the counter above every id in use. The text says
	// from where on this Generator takes ranges again.
	ErrRangeWentBack = errors.New("range went back")

	// ErrExhausted: the counter has no further range below 2^63. Lasting.
	ErrExhausted = errors.New("counter exhausted")

	// ErrBadRange: the source handed out a range that is empty, negative or too long, or its row
	// asks for one. Lasting.
	ErrBadRange = errors.New("bad range")

	// ErrClosed: the Generator is closed, for good.
	ErrClosed = errors.New("segment: generator is closed")

	// ErrOptions: an option is out of range, or a database is not fit for use. The text names it,
	// its value and the bound.
	ErrOptions = errors.New("invalid options")
)

// errDropped says that the Generator has forgotten a tag, which never had a range, since the caller
// looked it up. The caller looks again.
var errDropped = errors.New("segment: the tag was dropped")

// isPermanent reports whether asking the source again cannot help before somebody changes its rows.
func isPermanent(err error) bool {
	for _, e := range []error{ErrUnknownTag, ErrRangeWentBack, ErrExhausted, ErrBadRange} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
