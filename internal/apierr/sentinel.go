package apierr

import (
	"errors"
	"time"
)

// Sentinel returns an error to compare with, for a package that knows nothing of requests. refusal makes the default refusal for
// clients from the whole error, which is for the log.
func Sentinel(text string, refusal func(cause error) *Error) error {
	return &sentinelError{text, refusal}
}

type sentinelError struct {
	text    string
	refusal func(cause error) *Error
}

func (e *sentinelError) Error() string { return e.text }

// OfSentinel returns the refusal that a sentinel in err stands for, or nil if there is none.
func OfSentinel(err error) *Error {
	if e, ok := errors.AsType[*sentinelError](err); ok {
		return e.refusal(err)
	}
	return nil
}

// DatabaseUnavailable returns the refusal for an unreachable database.
func DatabaseUnavailable(cause error) *Error {
	return &Error{
		Kind: Unavailable, RetryAfter: 2 * time.Second, Err: cause,
		Message: "The database cannot answer now; nothing was changed that was not confirmed. Try again shortly",
	}
}
