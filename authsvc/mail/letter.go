package mail

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
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
func (s *Sender) message(t mailTemplate, to Recipient, link string, valid time.Duration) (*gomail.Msg, error) {
	if err := to.check(); err != nil {
		return nil, err
	}
	data := newLetter(to, link, s.site, valid)
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
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(s.from)
	m.ToMailAddress(&mail.Address{Name: data.Name, Address: to.Address})
	m.Subject(subject)
	m.SetDate()
	_, domain, _ := strings.Cut(s.from.Address, "@")
	m.SetMessageIDWithValue(uuid.NewString() + "@" + domain) // go-mail's default would reveal this host's name
	m.SetGenHeader("Auto-Submitted", "auto-generated")       // RFC 3834: no vacation replies
	m.SetBodyString(gomail.TypeTextPlain, text)
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

// inWords returns a duration in its largest whole unit, such as "2 days" or "90 minutes".
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / unit.size; n > 0 && d%unit.size == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
