package ami

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of what is read and written.
const (
	// maxLine is the longest line read, in bytes.
	maxLine = 64 << 10
	// maxMessage is the largest message read, in bytes: the output of a command is one message.
	maxMessage = 8 << 20
	// maxSentLine and maxSentHeaders are what Asterisk reads of an action: longer lines and further headers it drops.
	maxSentLine    = 1000
	maxSentHeaders = 120
)

// Header is one line of a message.
type Header struct{ Name, Value string }

// Message is a response or an event: its headers in the order in which they came.
type Message []Header

// Get returns the value of the first header of that name, in whatever case, or "".
func (m Message) Get(name string) string {
	for _, h := range m {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// All returns the values of all headers of that name: the lines of a command's output, for instance.
func (m Message) All(name string) []string {
	var values []string
	for _, h := range m {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}

// Event returns the name of the event, or "" if m is a response.
func (m Message) Event() string { return m.Get("Event") }

// Action is what a client asks for: its name and its headers.
type Action struct {
	Name    string
	Headers []Header
}

// errUnsendable says that an action has a header that cannot be sent.
var errUnsendable = errors.New("not a header of the manager interface")

// text returns the action as it is sent. It names a bad header and never shows its value, which may be a secret.
func (a Action) text(id string) (string, error) {
	if len(a.Headers) > maxSentHeaders {
		return "", fmt.Errorf("action %s has %d headers, more than %d: %w", a.Name, len(a.Headers), maxSentHeaders, errUnsendable)
	}
	var b strings.Builder
	for _, h := range append([]Header{{"Action", a.Name}, {"ActionID", id}}, a.Headers...) {
		if h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return r <= ' ' || r == ':' || r >= 0x7f }) {
			return "", fmt.Errorf("action %q: header %q: %w", a.Name, h.Name, errUnsendable)
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("action %q: %s has a control character: %w", a.Name, h.Name, errUnsendable)
		}
		if len(h.Name)+len(h.Value) > maxSentLine {
			return "", fmt.Errorf("action %q: %s is longer than %d bytes: %w", a.Name, h.Name, maxSentLine, errUnsendable)
		}
		b.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String(), nil
}

// ErrProtocol says that the other side does not speak the manager interface, or sent more than is accepted of it.
var ErrProtocol = errors.New("not the manager interface")

// newReader returns the reader that readLine and readMessage need.
func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, maxLine) }

// readLine returns the next line without its end.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("a line is longer than %d bytes: %w", maxLine, ErrProtocol)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}

// readMessage returns the next message. Lines without a colon, which some events have, are skipped.
func readMessage(r *bufio.Reader) (Message, error) {
	var m Message
	for size := 0; ; {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if size += len(line); size > maxMessage {
			return nil, fmt.Errorf("a message is longer than %d bytes: %w", maxMessage, ErrProtocol)
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			m = append(m, Header{name, strings.TrimPrefix(value, " ")})
			continue
		}
		if line != "" || size == 0 {
			continue
		}
		if m.Get("Response") == "" && m.Event() == "" {
			return nil, fmt.Errorf("a message is neither a response nor an event: %w", ErrProtocol)
		}
		return m, nil
	}
}

// shown returns what the other side said, for an error: short, and quoted so that it cannot forge a line of a log.
func shown(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}
