package asterisk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// page is one of a headless browser, which accepts any certificate.
type page struct {
	context.Context

	t *testing.T
}

func openPage(t *testing.T, more ...chromedp.ExecAllocatorOption) page {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program),
		chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.IgnoreCertErrors)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return page{ctx, t}
}

func (p page) run(step chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p, step); err != nil {
		p.t.Fatal(err)
	}
}

// until waits until a condition of JavaScript holds.
func (p page) until(condition string) {
	p.t.Helper()
	if _, err := chromedp.Run(p, chromedp.Poll[bool]("Boolean("+condition+")", chromedp.WithPollingTimeout(patience))); err != nil {
		said, _ := chromedp.Run(p, chromedp.Evaluate[string]("document.body.innerText"))
		p.t.Fatalf("never: %s: %v\n%s", condition, err, said)
	}
}

// A telephone that somebody makes in the console registers with the login that the page shows, and after a new one was made with that alone.
func TestRealConsole(t *testing.T) {
	a := bootReal(t)
	g := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t) // without an Asterisk, until its transport has a port of this test
	a.furnish(t, g, g.Login(t, "admin", gatewaytest.Password))
	g.Stop(t)
	g.Env = append(g.Env, a.env()...)
	g.Run(t)
	g.Ready(t)

	page := openPage(t)
	run, until := page.run, page.until
	const fields = `[...document.querySelectorAll('details.part[data-path^="login/"] input')].map((i) => i.value)`
	login := func() (username, password string) {
		t.Helper()
		text, err := chromedp.Run(page, chromedp.Evaluate[string]("JSON.stringify("+fields+")"))
		var values []string
		if err != nil || json.Unmarshal([]byte(text), &values) != nil || len(values) < 2 {
			t.Fatal(err, text)
		}
		return values[0], values[1]
	}
	run(chromedp.Navigate(g.URL + "/console/"))
	run(chromedp.WaitVisible(chromedp.CSS("#login")))
	run(chromedp.SendKeys(chromedp.CSS("#username"), "admin"))
	run(chromedp.SendKeys(chromedp.CSS("#password"), gatewaytest.Password+"\r"))
	run(chromedp.WaitVisible(chromedp.CSS("#logout")))
	run(chromedp.Navigate(g.URL + "/console/#/telephone"))
	until(`document.querySelector('form [data-name=exten]')`)
	until(`document.querySelector('form [data-name=context]')?.value === 'Office'`)
	until(`((form) => (form.querySelector('[data-name=firstname]').value = 'Ada', form.querySelector('[data-name=exten]').value = '101', form.requestSubmit(), true))(document.querySelector('main form'))`)
	until(fields + `.length > 1`)
	username, password := login()

	p := newPhone(t, a.at("sip"), username, username, password)
	wait(t, "the telephone registers", func() bool { return p.register(600) == 200 }, a.log)
	until(`(document.querySelector('details.part[data-path^="login/"] .actions button').click(), true)`)
	until(`document.querySelector('dialog[open] button.danger')`)
	until(`(document.querySelector('dialog[open] button.danger').click(), true)`)
	until(fmt.Sprintf(`%s[1] && %[1]s[1] !== %q`, fields, password))
	_, renewed := login()
	after := newPhone(t, a.at("sip"), username, username, renewed)
	wait(t, "the telephone registers with its new login", func() bool { return after.register(600) == 200 }, a.log)
	if got := p.register(600); got != 401 {
		t.Errorf("the login before: status %d", got)
	}
}
