package mail

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	texttemplate "text/template"
	"unicode"

	"github.com/google/uuid"
	gomail "github.com/wneessen/go-mail"
)

// Recipient is the recipient of a mail. The address is required, the rest is shown if known.
type Recipient struct {
	Address, Firstname, Lastname, Username string
}

// check refuses what cannot stand in a header. The error does not repeat the text, and wraps ErrRecipient.
func (r Recipient) check() error {
	if err := checkAddress(r.Address); err != nil {
		return fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	for _, field := range []struct{ what, value string }{
		{"first name", r.Firstname}, {"last name", r.Lastname}, {"username", r.Username},
	} {
		if hasControl(field.value) {
			return fmt.Errorf("%w: the %s holds a control character", ErrRecipient, field.what)
		}
	}
	return nil
}

var (
	// linkLike matches a name that mail programs would turn into a link, or that pretends to be an address.
	linkLike = regexp.MustCompile(`[/\\@<>:]|\.\pL{2}`)
	// loginLike matches a username without a path, and too short for a sentence.
	loginLike = regexp.MustCompile(`^[^\s\pZ/\\<>:]{1,100}$`)
)

// name returns the first and last name for the greeting. It is empty if it looks like a web address, or changes the direction of
// writing: a person who registers with somebody else's address must not be able to make us write "Hello win-a-prize.example/now".
func (r Recipient) name() string {
	const limit = 100
	name := strings.TrimSpace(r.Firstname + " " + r.Lastname)
	if len(name) > limit || linkLike.MatchString(name) || strings.ContainsFunc(name, turnsDirection) {
		return ""
	}
	return name
}

// account returns the username, with the same precaution: it may be an e-mail address, but not a sentence or a link.
func (r Recipient) account() string {
	if !loginLike.MatchString(r.Username) || strings.ContainsFunc(r.Username, turnsDirection) {
		return ""
	}
	return r.Username
}

// checkAddress allows local@domain in ASCII. The address is the whole text: no display name, no comment. International addresses
// are refused, since mapping them could reach another's mailbox, and so are IP addresses as domains.
func checkAddress(address string) error {
	const limit = 254 // RFC 5321, 4.5.3.1.3, without the angle brackets
	if len(address) > limit {
		return fmt.Errorf("the address is longer than %d characters", limit)
	}
	for _, r := range address {
		if r <= ' ' || r > '~' {
			return errors.New("the address holds a character that is not plain ASCII")
		}
	}
	parsed, err := mail.ParseAddress(address)
	if err != nil {
		return errors.New("the address is not of the form name@domain")
	}
	_, domain, _ := strings.Cut(parsed.Address, "@")
	if parsed.Address != address || parsed.Name != "" || !hostName.MatchString(domain) {
		return errors.New("the address is not of the form name@domain")
	}
	return nil
}

func turnsDirection(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// hasControl reports whether a text would break out of its line: control characters, line and paragraph separators, invalid
// UTF-8.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Zl, unicode.Zp)
	})
}

// message makes the mail: both parts, and headers that say that a machine wrote it.
func (s *Sender) message(t mailTemplate, to Recipient, link string) (*gomail.Msg, error) {
	if err := to.check(); err != nil {
		return nil, err
	}
	data := newLetter(to, link, s.site)
	subject, err := renderSubject(t.subject, data)
	if err != nil {
		return nil, err
	}
	text, err := render(t.text, data)
	if err != nil {
		return nil, err
	}
	html, err := render(t.html, data)
	if err != nil {
		return nil, err
	}
	m := s.letter(data.Name, to.Address, subject, text)
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

// letter makes a mail of one part.
func (s *Sender) letter(name, address, subject, text string) *gomail.Msg {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(s.from)
	m.ToMailAddress(&mail.Address{Name: name, Address: address})
	m.Subject(subject)
	m.SetDate()
	_, domain, _ := strings.Cut(s.from.Address, "@")
	m.SetMessageIDWithValue(uuid.NewString() + "@" + domain) // go-mail's default would reveal this host's name
	m.SetGenHeader("Auto-Submitted", "auto-generated")       // RFC 3834: no vacation replies
	m.SetBodyString(gomail.TypeTextPlain, text)
	return m
}

//go:embed templates/*.txt templates/*.html
var embedded embed.FS

// The files of templates/. The operator's folder may replace each.
const (
	confirmationText = "confirmation.txt"
	confirmationHTML = "confirmation.html"
	resetText        = "reset.txt"
	resetHTML        = "reset.html"
)

var templateNames = []string{confirmationText, confirmationHTML, resetText, resetHTML}

type letter struct {
	Recipient
	Name    string
	Account string
	Link    string
	Valid   string
	Site    string
}

func newLetter(to Recipient, link, site string) letter {
	return letter{Recipient: to, Name: to.name(), Account: to.account(), Link: link, Valid: "1 hour", Site: site}
}

type executor interface {
	Execute(w io.Writer, data any) error
}

type mailTemplate struct {
	subject, text, html executor
}

type templates struct{ confirmation, reset mailTemplate }

// loadTemplates reads the templates, preferring those in the folder to our own, and tries each one. The folder may be "".
func loadTemplates(folder string) (*templates, error) {
	if err := checkNames(folder); err != nil {
		return nil, err
	}
	confirmation, err := loadMail(folder, confirmationText, confirmationHTML)
	if err != nil {
		return nil, err
	}
	reset, err := loadMail(folder, resetText, resetHTML)
	return &templates{confirmation: confirmation, reset: reset}, err
}

// checkNames refuses a file that looks like a replacement of a text, but whose name replaces none.
func checkNames(folder string) error {
	if folder == "" {
		return nil
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("reading the mail templates: %w", err)
	}
	for _, file := range files {
		name := file.Name()
		ext := strings.ToLower(filepath.Ext(name))
		if (ext == ".txt" || ext == ".html") && !slices.Contains(templateNames, name) {
			return fmt.Errorf("mail template %s replaces none of the texts: %s",
				filepath.Join(folder, name), strings.Join(templateNames, ", "))
		}
	}
	return nil
}

// source returns a template's text: the folder's, otherwise our own.
func source(folder, name string) (string, error) {
	if folder != "" {
		text, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // the operator's folder, one of our names
		if err == nil {
			return string(text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("reading a mail template: %w", err)
		}
	}
	text, err := embedded.ReadFile("templates/" + name)
	return string(text), err
}

// broken returns the error of a template. The cause names the file and the line.
func broken(folder, name string, cause error) error {
	return fmt.Errorf("mail template %s: %w", filepath.Join(folder, name), cause)
}

func loadText(folder, name string) (*texttemplate.Template, error) {
	return load(folder, name, texttemplate.New(name).Parse)
}

func load[T any](folder, name string, parse func(text string) (*T, error)) (*T, error) {
	text, err := source(folder, name)
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	if err != nil {
		return nil, broken(folder, name, err)
	}
	return t, nil
}

const subjectName = "subject"

// loadMail reads the two files of one kind of mail, and makes a sample of it.
func loadMail(folder, textName, htmlName string) (mailTemplate, error) {
	text, err := loadText(folder, textName)
	if err != nil {
		return mailTemplate{}, err
	}
	html, err := load(folder, htmlName, htmltemplate.New(htmlName).Parse)
	if err != nil {
		return mailTemplate{}, err
	}
	subject := text.Lookup(subjectName)
	if subject == nil {
		ours, err := loadText("", textName)
		if err != nil {
			return mailTemplate{}, err
		}
		subject = ours.Lookup(subjectName)
	}
	const link = "https://pbx.example.com/sample"
	for _, to := range []Recipient{{Address: "sample@example.com"}, {"sample@example.com", "Ada", "Sample", "ada"}} {
		sample := newLetter(to, link, "pbx.example.com")
		if _, err := renderSubject(subject, sample); err != nil {
			return mailTemplate{}, broken(folder, textName, err)
		}
		if err := tryPart(text, sample); err != nil {
			return mailTemplate{}, broken(folder, textName, err)
		}
		if err := tryPart(html, sample); err != nil {
			return mailTemplate{}, broken(folder, htmlName, err)
		}
	}
	return mailTemplate{subject: subject, text: text, html: html}, nil
}

func tryPart(part executor, sample letter) error {
	made, err := render(part, sample)
	if err != nil {
		return err
	}
	if !strings.Contains(made, sample.Link) {
		return errors.New("the link is missing: it needs {{.Link}}")
	}
	return nil
}

func render(t executor, data any) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// renderSubject renders the subject, which is one line.
func renderSubject(t executor, data letter) (string, error) {
	subject, err := render(t, data)
	if err != nil {
		return "", err
	}
	subject = strings.TrimSpace(subject)
	if subject == "" || hasControl(subject) {
		return "", errors.New("the subject is not one line of text")
	}
	return subject, nil
}
