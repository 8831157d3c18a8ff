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

// Header is the message's header section.
func (m Message) Header(t testing.TB) mail.Header {
	t.Helper()
	return m.parse(t).Header
}

// Subject is the decoded subject.
func (m Message) Subject(t testing.TB) string {
	t.Helper()
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header(t).Get("Subject"))
	if err != nil {
		t.Fatalf("subject: %v", err)
	}
	return subject
}

// Text is the decoded text/plain part, with its lines ending in LF.
func (m Message) Text(t testing.TB) string {
	t.Helper()
	return m.part(t, "text/plain")
}

// HTML is the decoded text/html part, with its lines ending in LF.
func (m Message) HTML(t testing.TB) string {
	t.Helper()
	return m.part(t, "text/html")
}

// Link is the first web address in the plain text.
func (m Message) Link(t testing.TB) string {
	t.Helper()
	link := regexp.MustCompile(`https?://\S+`).FindString(m.Text(t))
	if link == "" {
		t.Fatalf("no link in the mail:\n%s", m.Data)
	}
	return link
}

func (m Message) parse(t testing.TB) *mail.Message {
	t.Helper()
	parsed, err := mail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		t.Fatalf("the mail is none: %v\n%s", err, m.Data)
	}
	return parsed
}

// part is a part of a multipart/alternative message, which has each kind of text once.
func (m Message) part(t testing.TB, want string) string {
	t.Helper()
	parsed := m.parse(t)
	kind, params, err := mime.ParseMediaType(parsed.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the mail is %q (%v), not multipart/alternative", kind, err)
	}
	var found []string
	for parts := multipart.NewReader(parsed.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // multipart answers it unwrapped, and an unexpected end is another
			break
		}
		if err != nil {
			t.Fatalf("the mail's parts: %v", err)
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			t.Fatalf("a part's kind: %v", err)
		}
		if kind != want {
			continue
		}
		if params["charset"] != "UTF-8" || part.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			t.Fatalf("a part has the header %v", part.Header)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatalf("a part's text: %v", err)
		}
		found = append(found, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(found) != 1 {
		t.Fatalf("%d parts are %s, want 1", len(found), want)
	}
	return found[0]
}
