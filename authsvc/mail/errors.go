package mail

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"strings"
	"unicode"
)

var (
	// ErrNotConfigured is the error of every send when there is no mail server.
	ErrNotConfigured = errors.New("no mail server is configured")
	// ErrTemporary is in the chain of an error when the same mail may go through later: the server was not reached in
	// time, went away, or asked to try again (a 4xx answer, as of greylisting). When it went away after it had the whole
	// text, the mail may arrive all the same, and another attempt sends it twice. Without ErrTemporary the
	// mail, or the configuration, has to change first.
	ErrTemporary = errors.New("temporary failure")
	// ErrRecipient is in the chain of an error when nothing was sent because the recipient's
	// address or a name cannot stand in a mail header.
	ErrRecipient = errors.New("unfit recipient")
)

// sendError is a failed send. Its text is safe to log: what the server said is in it without anything that looks secret.
type sendError struct {
	step      string
	text      string
	cause     error // nil unless the network or TLS is the cause: other errors may quote the server
	temporary bool
}

func (e *sendError) Error() string { return e.step + ": " + e.text }

// Unwrap returns ErrTemporary and the cause, if there are.
func (e *sendError) Unwrap() []error {
	var chain []error
	if e.temporary {
		chain = append(chain, ErrTemporary)
	}
	if e.cause != nil {
		chain = append(chain, e.cause)
	}
	return chain
}

// failed makes the error of one step of a send, without the secrets.
func failed(step string, err error, secrets ...string) error {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		text := fmt.Sprintf("the server answered %d %s", reply.Code, quotable(reply.Msg, secrets))
		return &sendError{step: step, text: text, temporary: reply.Code/100 == 4}
	}
	if temporary, known := connectionError(err); known {
		return &sendError{step: step, text: err.Error(), cause: err, temporary: temporary}
	}
	return &sendError{step: step, text: quotable(err.Error(), secrets)}
}

// connectionError tells whether an error comes from the network or from TLS, not
// from what the server said, and whether it may be gone the next time.
func connectionError(err error) (temporary, known bool) {
	var (
		certificate *tls.CertificateVerificationError
		notTLS      tls.RecordHeaderError
		alert       tls.AlertError
		network     net.Error
	)
	if errors.As(err, &certificate) || errors.As(err, &notTLS) || errors.As(err, &alert) {
		return false, true
	}
	gone := errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	return gone, gone
}

// long is what a token, a link or an encoded password looks like.
var long = regexp.MustCompile(`[A-Za-z0-9+/_=%-]{20,}`)

// quotable is what a server said, fit for a log line. Servers quote commands that they do not know and links that they do
// not like, so the secrets, and every run of characters that could be one in another encoding, are left out.
func quotable(said string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			said = strings.ReplaceAll(said, secret, "...")
		}
	}
	said = long.ReplaceAllString(said, "...")
	said = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said, "?"))
	const limit = 300
	if runes := []rune(said); len(runes) > limit {
		said = string(runes[:limit]) + "..."
	}
	return said
}
