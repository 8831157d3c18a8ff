package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOwnTemplates(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	c := config(server)
	c.Templates = folder(t, map[string]string{
		"confirmation.txt":  `{{define "subject"}} Bestätigen, {{.Firstname}}{{end}}{{.Name}}|{{.Account}}|{{.Address}}|{{.Lastname}}|{{.Username}}|{{.Site}}|{{.Valid}}| {{.Link}}`,
		"confirmation.html": `<p>{{.Lastname}}</p><a href="{{.Link}}">hier</a>`,
		"reset.txt":         "Neu: {{.Link}}",
		"README":            "these are ours",
	})
	sender := newSender(t, c)
	to := ada
	to.Lastname = "<Lovelace>"
	if err := sender.Confirmation(t.Context(), to, id, token); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t)
	link := "https://pbx.example.com/api/auth/0.1/emails/" + id + "/confirm?token=" + encodedToken
	if got := m.Subject(t); got != "Bestätigen, Ada" {
		t.Errorf("subject %q", got)
	}
	if got, want := m.Text(t), "|ada.l|ada@example.com|<Lovelace>|ada.l|pbx.example.com|1 hour| "+link; got != want {
		t.Errorf("text\n%s, want\n%s", got, want)
	}
	if got, want := m.HTML(t), `<p>&lt;Lovelace&gt;</p><a href="`+link+`">hier</a>`; got != want {
		t.Errorf("html\n%s, want\n%s", got, want)
	}
	// A text without a subject keeps the default one, and the part that is not replaced remains.
	if err := sender.PasswordReset(t.Context(), ada, id, token); err != nil {
		t.Fatal(err)
	}
	m = server.Next(t)
	if got := m.Subject(t); got != "Choose a new password" || !strings.HasPrefix(m.Text(t), "Neu: https://") {
		t.Errorf("subject %q, text %s", got, m.Text(t))
	}
	if !strings.Contains(m.HTML(t), "<p>Hello Ada Lovelace,</p>") {
		t.Errorf("html %s", m.HTML(t))
	}
}

func TestBrokenTemplates(t *testing.T) {
	tests := []struct {
		file, text string
		want       []string
	}{
		{"reset.txt", "Hello\n\n{{.Link}\n", []string{"DIR/reset.txt", "reset.txt:3"}},
		{"reset.txt", "Hello\n{{.Token}} {{.Link}}", []string{"DIR/reset.txt", "reset.txt:2", "Token"}},
		{"reset.txt", "{{.Link}}\n{{if not .Name}}{{.Nick}}{{end}}", []string{"reset.txt:2", "Nick"}},
		{"reset.txt", "{{.Link}}\n{{if .Name}}{{.Nick}}{{end}}", []string{"reset.txt:2", "Nick"}},
		{"reset.txt", "Come and see us.", []string{"DIR/reset.txt", "needs {{.Link}}"}},
		{"reset.txt", "", []string{"DIR/reset.txt", "needs {{.Link}}"}},
		{"reset.txt", "{{define \"subject\"}}a\nb{{end}}{{.Link}}", []string{"DIR/reset.txt", "not one line"}},
		{"reset.txt", "{{define \"subject\"}} {{end}}{{.Link}}", []string{"DIR/reset.txt", "not one line"}},
		{"confirmation.html", "<p>\n{{template \"nobody\"}}{{.Link}}", []string{"DIR/confirmation.html", "confirmation.html:2", "nobody"}},
		{"confirmation.html", "<p>\n<a href='{{if .Name}}'{{end}}>{{.Link}}</a>", []string{"DIR/confirmation.html", "confirmation.html:2"}},
		{"confirmaton.txt", "{{.Link}}", []string{"DIR/confirmaton.txt", "none of the texts: confirmation.txt, "}},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.text, func(t *testing.T) {
			dir := folder(t, map[string]string{tt.file: tt.text})
			// This also holds without a mail server: the operator learns of it at once, not with the first mail.
			s, err := mail.New(mail.Config{Templates: dir})
			if err == nil || s != nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if want = strings.ReplaceAll(want, "DIR", dir); !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestUnreadableTemplate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "reset.html"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := mail.New(mail.Config{Templates: dir})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "reset.html")) {
		t.Errorf("error %v", err)
	}
}
