package segment

import (
	"errors"
	"fmt"
)

// The errors that a caller may want to tell apart, with errors.Is. Permanent ones stay until the cause is removed and the
// Generator is replaced.
var (
	// ErrUnknownTag: the source has no counter of that name, or has it no longer. A Generator asks again at the next
	// call, so a tag that is added works at once.
	ErrUnknownTag = errors.New("segment: unknown tag")

	// ErrRangeWentBack: the source handed out a range that does not lie above all earlier ones of its tag, as a replica does
	// that was promoted without the last writes, or a backup that was restored. None of its ids is handed out. Permanent:
	// other processes may hold ids that this one has never seen, so an operator has to raise the counter above every
	// id in use.
	ErrRangeWentBack = errors.New("segment: range went back")

	// ErrExhausted: the counter has no further range below 2^63. Permanent.
	ErrExhausted = errors.New("segment: counter exhausted")

	// ErrBadRange: the source handed out a range that is empty, negative or too long. Permanent.
	ErrBadRange = errors.New("segment: bad range")

	// ErrTicketServer: a ticket server's settings or table would repeat ids or waste them; the message names the
	// setting, its value and what it should be. A Ticket leaves the server out until it is repaired.
	ErrTicketServer = errors.New("segment: ticket server is set up wrong")

	// ErrClosed: the Generator was closed. Permanent.
	ErrClosed = errors.New("segment: generator is closed")

	// ErrOptions: an option is out of range, or a database is not fit for use; the message names it, its value and the bound.
	ErrOptions = errors.New("segment: invalid options")
)

// isPermanent reports whether asking the source again cannot help.
func isPermanent(err error) bool {
	return errors.Is(err, ErrUnknownTag) || errors.Is(err, ErrRangeWentBack) || errors.Is(err, ErrExhausted) || errors.Is(err, ErrBadRange)
}

// unknownTag is ErrUnknownTag with the tag's name and where it was looked for.
func unknownTag(tag, table string) error {
	return fmt.Errorf("%w: no row %q in table %s", ErrUnknownTag, tag, table)
}
