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
	// ErrNotConfigured is the error of every send if there is no mail server.
	ErrNotConfigured = errors.New("no mail server is configured")
	// ErrTemporary is wrapped by an error if the same mail may succeed later: the server was not reached in time, closed the
	// connection, or asked to try again (a 4xx reply, such as greylisting). If it closed the connection after receiving the whole
	// text, the mail may have arrived, and another attempt sends it twice. Without ErrTemporary the mail, or the configuration,
	// must change first.
	ErrTemporary = errors.New("temporary failure")
	// ErrRecipient is wrapped by an error if nothing was sent because the recipient's address or a name cannot stand in a mail
	// header.
	ErrRecipient = errors.New("unfit recipient")
)

// sendError is a failed send. Its text is safe to log: it has the server's reply without anything that looks secret.
type sendError struct {
	step      string
	text      string
	cause     error // set only if the network or TLS failed: other errors may quote the server
	temporary bool
}

func (e *sendError) Error() string { return e.step + ": " + e.text }

// Unwrap returns ErrTemporary and the cause, where they apply.
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

// failed returns the error of one step of a send, without the secrets.
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

// connectionError reports whether an error comes from the network or from TLS, and not from the server's reply, and whether it
// may be temporary.
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

// long matches what may be a token, a link or an encoded password.
var long = regexp.MustCompile(`[A-Za-z0-9+/_=%-]{20,}`)

// quotable makes a server's reply fit for a log line. Servers quote commands that they do not know and links that they do not
// like, so the secrets, and every run of characters that could be an encoded secret, are removed.
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
