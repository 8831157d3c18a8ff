package console_test

import (
	"archive/zip"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// The page of the system tells what doctor finds, makes a backup, hands it out and deletes it, and tests the mail server. What this
// installation cannot serve is not offered, and any page's requests can be sent once more by curl.
func TestConsoleSystem(t *testing.T) {
	mails := mailtest.Start(t, mailtest.Options{})
	g := gatewaytest.LoadEdited(t, "", func(caddyfile string) string {
		return strings.Replace(caddyfile, "public_url {env.RINGFENCE_PUBLIC_URL}", "public_url https://pbx.example.com\n"+mails.Caddyfile(""), 1)
	})
	o := &operator{newBrowser(t), t, g.URL}
	admin, data := g.Admin(t), filepath.Join(g.Dir, "data")
	key := filepath.Join(data, "sealing-key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.press("System")
	o.until(`document.querySelector('main h1')?.textContent === 'System'`, "the page does not open")
	o.until(fmt.Sprintf(`[...document.querySelectorAll('main tr')].some((tr) => tr.innerText.includes('Problem') && tr.innerText.includes(%q))`, "chmod go-rwx "+key), "the problem is not told")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"pbx.example.com", "the gateway itself", data, "None was made here yet.", "Serves"} {
		o.reads(text)
	}
	o.press("Make a backup")
	o.reads("The last one was made")
	backups := g.Do(t, "GET", "/api/sysconfd/backups", admin, "").Want(200).List()
	name, _ := backups.Items[0]["name"].(string)
	o.reads(name)
	zipped := resttest.Header("Accept", "application/zip")
	file := filepath.Join(t.TempDir(), "backup.zip")
	if err := os.WriteFile(file, []byte(g.Do(t, "GET", "/api/sysconfd/backups/"+name+"/file", admin, "", zipped).Want(200).Body), 0o600); err != nil {
		t.Fatal(err)
	}
	if read, err := zip.OpenReader(file); err != nil || read.File[len(read.File)-1].Name != "manifest.json" {
		t.Errorf("the backup is not whole: %v", err)
	} else if err := read.Close(); err != nil {
		t.Error(err)
	}
	_, _, reader := g.Account(t, admin, "reader", "sysconfd.#")
	g.Do(t, "GET", "/api/sysconfd/backups/"+name+"/file", reader, "", zipped).Want(403)
	o.script(t, `URL.createObjectURL = (blob) => { window.saved = blob; return '#/system'; }, ''`)
	o.press("Download")
	o.until(fmt.Sprintf(`window.saved?.size === %v && window.saved.type === 'application/zip'`, backups.Items[0]["size"]), "the backup is not saved")
	o.enter("Send a test mail to", "ada@example.com")
	o.press("Send")
	o.reads("The mail server has taken a mail to ada@example.com.")
	if m := mails.Next(t); m.To[0] != "ada@example.com" {
		t.Errorf("a mail to %s", m.To)
	}
	for _, look := range []struct {
		width  int
		scheme string
	}{{360, "dark"}, {1400, "light"}} {
		o.run(t, emulate(look.width, 1400, look.scheme))
		for _, violation := range o.violations() {
			t.Errorf("%d pixels: %s", look.width, violation)
		}
		o.shoot(t, "system-"+look.scheme)
	}
	o.press("Delete")
	o.see("dialog[open]")
	o.press("Delete")
	o.reads(name + " was deleted.")
	o.reads("None was made here yet.")

	// There is no Asterisk: its state has no page, and nothing is applied.
	if all := o.script(t, `[...document.querySelectorAll('nav a')].map((a) => a.textContent).join()`); strings.Contains(all, "State of Asterisk") {
		t.Errorf("the menu has %s", all)
	}
	o.goTo("#/asterisk", "State of Asterisk")
	o.reads("RINGFENCE_ASTERISK_MANAGER")
	o.goTo("#/apply", "Telephone system")
	o.reads("No Asterisk is configured here")
	o.until(`![...document.querySelectorAll('main button')].some((b) => b.textContent === 'Apply')`, "an apply is offered")

	// A line for curl does the same as the page, whatever was typed, and has no token.
	const typed = `O'Brien "$TOKEN" \\ {a,b} é`
	o.goTo("#/confd/callpermissions/+new", "Create a call permission")
	o.enter("Name", typed)
	o.press("Create")
	o.reads("was created.")
	o.press("curl")
	o.see("dialog.wide")
	o.shoot(t, "curl")
	for _, violation := range o.violations() {
		t.Errorf("the lines: %s", violation)
	}
	line := o.script(t, `[...document.querySelectorAll('dialog pre')].map((p) => p.textContent).find((text) => text.includes('-X POST'))`)
	if strings.Contains(line, "rft_") {
		t.Fatalf("a token is in %s", line)
	}
	o.press("Close")
	permission := g.Do(t, "GET", "/api/confd/1.1/callpermissions", admin, "").Want(200).List().Items[0]
	if permission["name"] != typed {
		t.Fatalf("the page has made %v", permission)
	}
	g.Do(t, "DELETE", fmt.Sprint("/api/confd/1.1/callpermissions/", permission["id"]), admin, "").Want(http.StatusNoContent)
	runLine(t, g, line, admin)
	if all := g.Do(t, "GET", "/api/confd/1.1/callpermissions", admin, "").Want(200).List().Items; len(all) != 1 || all[0]["name"] != typed {
		t.Errorf("the line has made %v", all)
	}
	o.clean(t, "on the pages of the system")
}

// runLine runs a line for curl in a shell, with what a person has.
func runLine(t *testing.T, g *gatewaytest.Inside, line, token string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	certificate, err := os.ReadFile(filepath.Join(g.Dir, "data", "tls", "certificate.pem"))
	folder := t.TempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "ringfence.pem"), certificate, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", line+" --silent --show-error --fail")
	shell.Dir, shell.Env = folder, append(os.Environ(), "TOKEN="+token, "NO_PROXY=*")
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, line)
	}
}
