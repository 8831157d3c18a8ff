package mailtest

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"testing"
)

// Header returns the message's header section.
func (m Message) Header(tb testing.TB) mail.Header {
	tb.Helper()
	return m.parse(tb).Header
}

// Subject returns the decoded subject.
func (m Message) Subject(tb testing.TB) string {
	tb.Helper()
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header(tb).Get("Subject"))
	if err != nil {
		tb.Fatalf("subject: %v", err)
	}
	return subject
}

// Text returns the decoded text/plain part, with LF line endings.
func (m Message) Text(tb testing.TB) string {
	tb.Helper()
	return m.part(tb, "text/plain")
}

// HTML returns the decoded text/html part, with LF line endings.
func (m Message) HTML(tb testing.TB) string {
	tb.Helper()
	return m.part(tb, "text/html")
}

// Link returns the first web address in the plain text.
func (m Message) Link(tb testing.TB) string {
	tb.Helper()
	link := regexp.MustCompile(`https?://\S+`).FindString(m.Text(tb))
	if link == "" {
		tb.Fatalf("no link in the mail:\n%s", m.Data)
	}
	return link
}

func (m Message) parse(tb testing.TB) *mail.Message {
	tb.Helper()
	parsed, err := mail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		tb.Fatalf("the mail is none: %v\n%s", err, m.Data)
	}
	return parsed
}

// part returns a part of a multipart/alternative message, which has each kind of text once.
func (m Message) part(tb testing.TB, want string) string {
	tb.Helper()
	parsed := m.parse(tb)
	kind, params, err := mime.ParseMediaType(parsed.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		tb.Fatalf("the mail is %q (%v), not multipart/alternative", kind, err)
	}
	var found []string
	for parts := multipart.NewReader(parsed.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // multipart returns it unwrapped, and an unexpected end is another error
			break
		}
		if err != nil {
			tb.Fatalf("the mail's parts: %v", err)
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			tb.Fatalf("a part's kind: %v", err)
		}
		if kind != want {
			continue
		}
		if params["charset"] != "UTF-8" || part.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			tb.Fatalf("a part has the header %v", part.Header)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			tb.Fatalf("a part's text: %v", err)
		}
		found = append(found, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(found) != 1 {
		tb.Fatalf("%d parts are %s, want 1", len(found), want)
	}
	return found[0]
}
