package mail

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	texttemplate "text/template"
	"time"
)

//go:embed templates/*.txt templates/*.html
var embedded embed.FS

// The files of templates/. The operator's folder may replace each.
const (
	confirmationText = "confirmation.txt"
	confirmationHTML = "confirmation.html"
	resetText        = "reset.txt"
	resetHTML        = "reset.html"
	confirmedHTML    = "confirmed.html"
)

var templateNames = []string{confirmationText, confirmationHTML, resetText, resetHTML, confirmedHTML}

// letter is the data of a mail's templates.
type letter struct {
	Recipient
	Name    string
	Account string
	Link    string
	Valid   string
	Site    string
}

func newLetter(to Recipient, link, site string, valid time.Duration) letter {
	return letter{Recipient: to, Name: to.name(), Account: to.account(), Link: link, Valid: inWords(valid), Site: site}
}

// page is the data of the confirmation page's template.
type page struct {
	Address string
	Site    string
}

// executor is a text or HTML template.
type executor interface {
	Execute(w io.Writer, data any) error
}

// mailTemplate renders one kind of mail.
type mailTemplate struct {
	subject, text, html executor
}

// templates are all the templates of this package.
type templates struct {
	confirmation, reset mailTemplate
	confirmed           executor
}

var defaults = func() *templates {
	t, err := loadTemplates("")
	if err != nil {
		panic(err)
	}
	return t
}()

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
	if err != nil {
		return nil, err
	}
	confirmed, err := loadHTML(folder, confirmedHTML)
	if err != nil {
		return nil, err
	}
	for _, sample := range []page{{}, {"sample@example.com", "pbx.example.com"}} {
		if _, err := render(confirmed, sample); err != nil {
			return nil, broken(folder, confirmedHTML, err)
		}
	}
	return &templates{confirmation: confirmation, reset: reset, confirmed: confirmed}, nil
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

func loadHTML(folder, name string) (*htmltemplate.Template, error) {
	return load(folder, name, htmltemplate.New(name).Parse)
}

func loadText(folder, name string) (*texttemplate.Template, error) {
	return load(folder, name, texttemplate.New(name).Parse)
}

// load reads and parses a template.
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
	html, err := loadHTML(folder, htmlName)
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
		sample := newLetter(to, link, "pbx.example.com", DefaultValidity)
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
