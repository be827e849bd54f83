package sqltable

import (
	"errors"
	"fmt"
)

// ErrTicketServer says that a ticket server's settings or table would repeat or waste ids. The
// message names the setting, its value and the value that it should have. A Ticket does not use the
// server until it is repaired.
var ErrTicketServer = errors.New("sqltable: ticket server is set up wrong")

// wrong returns an error that wraps ErrTicketServer and says what is wrong.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTicketServer, fmt.Sprintf(format, args...))
}
