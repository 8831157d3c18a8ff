package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A file of users is tried before anything is written, tells what is wrong by its lines, and is exported as it can be imported again.
func TestConsoleImportsAndExportsUsers(t *testing.T) {
	g, o, admin, _ := desk(t)
	const confd, header = "/api/confd/1.1", "firstname,lastname,line_protocol,exten,context,voicemail_name,voicemail_number,voicemail_context\n"
	users := func() int { return len(g.Do(t, "GET", confd+"/users", admin, "").List().Items) }
	folder := t.TempDir()
	choose := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.run(t, chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	}
	if _, err := chromedp.CallBrowser(o, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{
		Behavior: cdp.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(o).BrowserContextID, DownloadPath: folder,
	}); err != nil {
		t.Fatal(err)
	}
	saves := func(name string, whole func(text string) bool) {
		t.Helper()
		gatewaytest.Eventually(t, pagePatience, func() error { // the browser makes an empty file first
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err == nil && !whole(string(text)) {
				err = fmt.Errorf("%s is %q", name, text)
			}
			return err
		})
	}
	o.press("People")
	o.press("Users by file")
	o.until(`document.querySelector('h1').textContent === 'Users by file'`, "there is no page of files")
	o.press("Template")
	saves("template.csv", func(text string) bool {
		return strings.HasPrefix(text, "firstname,lastname,") && strings.Contains(text, "\nAda,")
	})

	choose("wrong.csv", header+"Ada,Lovelace,sip,1001,Inside,,,\nBob,,sip,9999,Inside,,,\nEve,,sip,1002,Nowhere,,,\n")
	o.until(`[...document.querySelectorAll('main tbody tr')].map((tr) => tr.innerText.replace(/\s+/g, ' ')).join('|').match(/^3 Bob 9999 .*range.*\|4 Eve 1002 .*Context.*$/)`, "the wrong rows are not told")
	o.clean(t, "while a file was refused", "status of 400")
	if n := users(); n != 0 {
		t.Errorf("a wrong file has made %d users", n)
	}

	var rows strings.Builder
	for n := range 40 { // more than one transaction holds
		fmt.Fprintf(&rows, "User,%d,sip,%d,Inside,Box %[1]d,%d,Inside\n", n, 1001+n, 1001+n)
	}
	choose("right.csv", header+rows.String())
	o.until(`document.querySelector('main [role=status] button')?.textContent === 'Import 40 users'`, "the file is not right")
	if n := users(); n != 0 {
		t.Errorf("a trial has made %d users", n)
	}
	o.press("Import 40 users")
	o.until(`document.querySelector('main [role=status]').textContent.startsWith('40 users imported.')`, "the users are not imported")
	if n := users(); n != 40 {
		t.Errorf("%d users are there", n)
	}

	o.press("Export all users")
	saves("users.csv", func(text string) bool {
		return strings.Count(text, "\r\n") == 41 && strings.Contains(text, ",1040,Inside,")
	})
	o.clean(t, "with files")
}
