package apierr

import (
	"errors"
	"time"
)

// Sentinel is an error to compare with, in a package that knows no requests, which says what a client reads where nobody
// has made more of it. refusal is given the whole error, for the log.
func Sentinel(text string, refusal func(cause error) *Error) error {
	return &sentinelError{text, refusal}
}

type sentinelError struct {
	text    string
	refusal func(cause error) *Error
}

func (e *sentinelError) Error() string { return e.text }

// OfSentinel returns the refusal that a sentinel in err stands for, or nil when there is none.
func OfSentinel(err error) *Error {
	if e, ok := errors.AsType[*sentinelError](err); ok {
		return e.refusal(err)
	}
	return nil
}

// DatabaseUnavailable is the refusal where the database cannot answer now.
func DatabaseUnavailable(cause error) *Error {
	return &Error{
		Kind: Unavailable, RetryAfter: 2 * time.Second, Err: cause,
		Message: "The database cannot answer now; nothing was changed that was not confirmed. Try again shortly",
	}
}
