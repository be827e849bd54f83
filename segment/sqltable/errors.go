package sqltable

import (
	"errors"
	"fmt"

	"github.com/uidring/uidring/segment"
)

// ErrTicketServer says that a ticket server's settings or table would repeat or waste ids. The
// message names the setting, its value and the value that it should have. A Ticket does not use the
// server until it is repaired.
var ErrTicketServer = errors.New("sqltable: ticket server is set up wrong")

// wrong returns an error that wraps ErrTicketServer and says what is wrong.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTicketServer, fmt.Sprintf(format, args...))
}

// invalid returns an error that wraps segment.ErrOptions and says what is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", segment.ErrOptions, fmt.Sprintf(format, args...))
}
