package asterisk_test

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/confdsvc"
)

// mailed is a mail of a voicemail, as its reader sees it.
type mailed struct {
	from, to      *mail.Address
	subject, body string
	sound         []byte
	soundName     string
}

// keepMails makes Asterisk hand its mails to a program that keeps them, as an operator chooses one: at the end of their own file.
func (a *pbxUnderTest) keepMails() {
	a.t.Helper()
	for _, err := range []error{
		os.Mkdir(a.dir+"/mails", 0o755),
		os.WriteFile(a.dir+"/mail", []byte("#!/bin/sh\ncat > "+a.dir+"/mails/$$.part && mv "+a.dir+"/mails/$$.part "+a.dir+"/mails/$$\n"), 0o700),
		appendTo(a.dir+"/etc/voicemail.conf", "[general](+)\nmailcmd = "+a.dir+"/mail\n"),
	} {
		if err != nil {
			a.t.Fatal(err)
		}
	}
	a.cli("module reload app_voicemail.so")
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// mailed waits for the only mail, reads it, and takes it away.
func (a *pbxUnderTest) mailed() (m mailed) {
	a.t.Helper()
	var found []string
	wait(a.t, "a mail", func() bool {
		found, _ = filepath.Glob(a.dir + "/mails/*[0-9]")
		return len(found) > 0
	}, a.log)
	text, err := os.ReadFile(found[0])
	if err == nil {
		err = os.Remove(found[0])
	}
	if err != nil || len(found) > 1 {
		a.t.Fatalf("%d mails, %v", len(found), err)
	}
	fail := func(what string, err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatalf("%s: %v\n%s", what, err, text)
		}
	}
	read, err := mail.ReadMessage(strings.NewReader(strings.ReplaceAll(string(text), "\r\n", "\n")))
	fail("a mail", err)
	parser := mail.AddressParser{}
	m.from, err = parser.Parse(read.Header.Get("From"))
	fail("From", err)
	m.to, err = parser.Parse(read.Header.Get("To"))
	fail("To", err)
	m.subject, err = new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	fail("Subject", err)
	plain := func(header mail.Header, body io.Reader) string {
		_, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
		fail("Content-Type", err)
		if got := parameters["charset"]; !strings.EqualFold(got, "UTF-8") {
			a.t.Errorf("the text is said to be %s", got)
		}
		if strings.EqualFold(header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			body = quotedprintable.NewReader(body)
		}
		all, err := io.ReadAll(body)
		fail("the text", err)
		return string(all)
	}
	kind, parameters, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	fail("Content-Type", err)
	if !strings.HasPrefix(kind, "multipart/") {
		m.body = plain(read.Header, read.Body)
		return m
	}
	parts := multipart.NewReader(read.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return m
		}
		fail("a part", err)
		if name := part.FileName(); name != "" {
			m.soundName = name
			m.sound, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
			fail("the sound", err)
			continue
		}
		m.body += plain(mail.Header(part.Header), part)
	}
}

// keepPIN stores a PIN that was chosen by telephone, as the gateway does.
func (a *pbxUnderTest) keepPIN(m apply.Mailbox, pin string, last *string) (stored bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.snapshot.Voicemails {
		if v.Context == m.Context && v.Number == m.Number && (last == nil || asterisk.PIN(v) == *last) {
			v.Password, stored = &pin, true
		}
	}
	return stored
}

// pin returns the PIN that is stored for a voicemail.
func (a *pbxUnderTest) pin(of *confdsvc.Voicemail) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return asterisk.PIN(of)
}

// A message reaches its owner by mail and by telephone.
func TestRealVoicemail(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 1)
	}
	s.Zones = append(s.Zones, confdsvc.ZoneMessage{Name: "line-islands", Timezone: "Pacific/Kiritimati", Message: new("'vm-received' q 'digits/at' HM")})
	s.VoicemailGeneral = map[string]string{
		"format": "wav", "serveremail": "pbx@example.org", "fromstring": "Büro ACME", "emailsubject": "Nachricht für ${VM_NAME} von ${VM_CIDNAME}",
		"emailbody": "Hallo ${VM_NAME},\nNr. ${VM_MSGNUM} in ${VM_MAILBOX}: \\${HOME}\tüber ${VM_DATE}.\n", "emaildateformat": "%Y-%m-%d %H %z",
		"attach": "no",
	}
	daveBox := s.Voicemails[1]
	daveBox.Name, daveBox.Email, daveBox.AttachAudio, daveBox.Timezone = `Zoë "Z", Müller`, new("dave@example.org"), new(true), new("line-islands")
	s.Users[3].CallerID = new(`"Dave"`)
	s.Voicemails = append(s.Voicemails, &confdsvc.Voicemail{
		ID: 3, TenantUUID: acme, Name: "Carol", Number: "103", Context: inside, Password: new("33"), Email: new("carol@example.org"), AttachAudio: new(true),
		DeleteMessages: true, Enabled: true, AskPassword: true,
	})
	s.UserVoicemail[3] = 3
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	a.keepMails()
	a.clean("the program for mails")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, bobPhone, carolPhone, davePhone}
	rest := func(when string) { t.Helper(); a.rest(when, "ring", all) }

	// leave has somebody leave a message in the mailbox of a number.
	leave := func(from *phone, number string) {
		t.Helper()
		a.news()
		c, got := from.dial(number)
		if got != 200 {
			t.Fatalf("%s calls %s: %d", from.name, number, got)
		}
		a.said("vm-intro")
		c.press("#")
		a.said("beep.")
		wait(t, "some seconds are recorded", func() bool { return size(a, number, "tmp/*.wav") > 40000 }, a.log)
		c.press("#")
		a.said("auth-thankyou")
		c.hangUp()
		a.idle()
	}
	rest("before")
	leave(alice, "104")
	m := a.mailed()
	if m.from.Address != "pbx@example.org" || m.from.Name != "Büro ACME" || m.to.Address != "dave@example.org" || !strings.HasPrefix(m.to.Name, "Zoë") || !strings.Contains(m.to.Name, "Müller") {
		t.Errorf("from %v to %v", m.from, m.to)
	}
	if !strings.HasPrefix(m.subject, "Nachricht für Zoë ") || !strings.HasSuffix(m.subject, " von Alice Martin") {
		t.Errorf("subject %q", m.subject)
	}
	far := time.FixedZone("", 14*3600)
	for _, want := range []string{"Hallo Zoë ", "\nNr. 1 in 104: ", "über " + time.Now().In(far).Format("2006-01-02"), " +1400."} {
		if !strings.Contains(m.body, want) {
			t.Errorf("the text lacks %q:\n%s", want, m.body)
		}
	}
	if strings.Contains(m.body, "/root") || strings.Contains(m.body, "/home") {
		t.Errorf("the text has a variable of Asterisk's own:\n%s", m.body)
	}
	if filepath.Ext(m.soundName) != ".wav" || len(m.sound) < 20000 || !strings.HasPrefix(string(m.sound), "RIFF") {
		t.Errorf("the sound %q has %d bytes", m.soundName, len(m.sound))
	}
	if size(a, "104", "INBOX/msg0000.wav") == 0 {
		t.Error("the message is gone")
	}
	rest("a mail")
	leave(davePhone, "101") // nobody has chosen an attachment
	if m = a.mailed(); m.to.Address != "alice@example.org" || m.sound != nil {
		t.Errorf("to %v, with %d bytes of sound", m.to, len(m.sound))
	}
	rest("a mail without a sound")
	leave(alice, "103") // it is only sent
	if m = a.mailed(); m.to.Address != "carol@example.org" || len(m.sound) < 20000 {
		t.Errorf("to %v, with %d bytes of sound", m.to, len(m.sound))
	}
	if got := size(a, "103", "INBOX/*"); got > 0 {
		t.Errorf("the message is still there: %d bytes", got)
	}
	rest("a mail in place of the message")

	// By telephone: hear it, and delete it.
	c, got := davePhone.dial("*98")
	if got != 200 {
		t.Fatalf("own mailbox: %d", got)
	}
	a.said("vm-youhave")
	c.press("1")
	a.said("Playing '" + a.dir + "/spool/voicemail/" + inside + "/104/INBOX/msg0000")
	c.press("7")
	a.said("vm-deleted")
	c.hangUp()
	a.idle()
	wait(t, "the message is deleted", func() bool { return size(a, "104", "INBOX/*") == 0 && size(a, "104", "Old/*") == 0 }, a.log)
	rest("hear and delete")
	// A wrong PIN opens nothing.
	if c, got = alice.dial("*98"); got != 200 {
		t.Fatalf("own mailbox: %d", got)
	}
	for range 3 {
		a.news()
		a.said("vm-")
		c.press("9999#")
	}
	a.said("vm-goodbye")
	c.ended()
	if size(a, "101", "INBOX/msg0000.wav") == 0 {
		t.Error("the message is gone")
	}
	rest("a wrong PIN")
}
