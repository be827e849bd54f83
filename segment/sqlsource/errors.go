package sqlsource

import (
	"errors"
	"fmt"
)

// ErrTicketServer says that a ticket server's settings or table would repeat ids or waste them. The
// message names the setting, its value and what it should be. A Ticket leaves the server out until
// it is repaired.
var ErrTicketServer = errors.New("ticket server is set up wrong")

// wrong is ErrTicketServer with what is wrong.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTicketServer, fmt.Sprintf(format, args...))
}
