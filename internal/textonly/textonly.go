// Package textonly takes from an error what callers branch on, and leaves its text to people.
package textonly

// Error returns an error with the text of err, in which errors.Is and errors.As find nothing. It is
// for a sentinel that is true of one server and would be read as true of all of them.
func Error(err error) error { return opaque{err} }

type opaque struct{ err error } // no Unwrap

func (o opaque) Error() string { return o.err.Error() }
