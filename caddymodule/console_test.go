package caddymodule_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium that keeps what its pages complain of and which hosts they ask.
type browser struct {
	context.Context

	mu         sync.Mutex
	complaints []string
	asked      map[string]bool
}

// newBrowser starts one. Its profile is new, and it takes the self-signed certificate.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed: the console is not tested")
		}
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.IgnoreCertErrors, chromedp.WindowSize(1280, 900))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	page, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &browser{Context: page, asked: map[string]bool{}}
	// Violations of the content security policy are errors in the console.
	messages, requests := chromedp.Console(b), chromedp.Events(b, network.RequestWillBeSent)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				b.mu.Lock()
				b.complaints = append(b.complaints, m.String()+" "+m.URL)
				b.mu.Unlock()
			}
		}
	}()
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if u, err := url.Parse(r.Request.URL); err == nil && u.Host != "" {
				b.mu.Lock()
				b.asked[u.Host] = true
				b.mu.Unlock()
			}
		}
	}()
	if _, err := chromedp.Call(b, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	return b
}

// complained answers what the page complained of since it was last asked.
func (b *browser) complained() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	complaints := b.complaints
	b.complaints = nil
	return complaints
}

// shoot keeps a picture of the page in the folder that CONSOLE_SCREENSHOTS names, if it does.
func (b *browser) shoot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("CONSOLE_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	picture, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err != nil {
		t.Error(err)
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConsoleInABrowser(t *testing.T) {
	b := newBrowser(t)
	g := loadDefault(t, "")
	clean := func(when string) {
		t.Helper()
		for _, c := range b.complained() {
			t.Errorf("%s the page complains: %s", when, c)
		}
	}
	within, cancel := context.WithTimeout(b, time.Minute)
	t.Cleanup(cancel)
	run := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		for i, step := range steps {
			if err := chromedp.Do(within, step); err != nil {
				b.shoot(t, "failed")
				t.Fatalf("step %d: %v; the page complained %q", i, err, b.complained())
			}
		}
	}
	text := func(selector chromedp.CSS) string {
		t.Helper()
		shown, err := chromedp.Run(within, chromedp.Text(selector))
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	const (
		username, password, login, logout, state = chromedp.CSS("#username"), chromedp.CSS("#password"), chromedp.CSS("#login"), chromedp.CSS("#logout"), chromedp.CSS("#state")

		operation = chromedp.CSS("#operations-users-list_users")
		executed  = operation + " .live-responses-table"
	)
	answered := func(status string) {
		t.Helper()
		run(chromedp.Click(operation + " .execute"))
		_, err := chromedp.Run(within, chromedp.Poll[bool](fmt.Sprintf(
			`document.querySelector(%q)?.innerText.startsWith(%q) ?? false`, executed+" .response .response-col_status", status)))
		if err != nil {
			b.shoot(t, "failed")
			t.Fatalf("the operation is not answered with %s: %v", status, err)
		}
	}

	run(chromedp.Navigate(g.URL+"/"), chromedp.WaitVisible(chromedp.CSS(".opblock")), chromedp.WaitVisible(login))
	b.shoot(t, "1-loaded")
	clean("when it is loaded")

	run(chromedp.SendKeys(username, "admin"), chromedp.SendKeys(password, "a wrong password\r"), chromedp.WaitVisible(state+".wrong"))
	if said := text(state); !strings.Contains(said, "wrong") {
		t.Errorf("after a wrong password the page says %q", said)
	}
	b.shoot(t, "2-wrong-password")
	for _, c := range b.complained() {
		if !strings.Contains(c, "401") { // the browser itself notes the status
			t.Errorf("after a wrong password the page complains: %s", c)
		}
	}

	run(chromedp.SendKeys(password, adminPassword+"\r"), chromedp.WaitVisible(logout), chromedp.WaitNotVisible(login))
	if said := text(state); !strings.Contains(said, "Signed in") {
		t.Errorf("after signing in the page says %q", said)
	}
	b.shoot(t, "3-signed-in")

	_, err := chromedp.Run(b, chromedp.Evaluate[chromedp.Void](`{
		const service = document.getElementById("service");
		service.value = "/api/confd/1.1/api/openapi.json";
		service.dispatchEvent(new Event("change"));
	}`))
	if err != nil {
		t.Fatal(err)
	}
	run(chromedp.Click(operation+" .opblock-summary-control"), chromedp.Click(operation+" .try-out__btn"))
	answered("200")
	run(chromedp.ScrollIntoView(operation))
	b.shoot(t, "4-executed")
	clean("after an operation")

	run(chromedp.Click(logout), chromedp.WaitVisible(login))
	if said := text(state); !strings.Contains(said, "Signed out") {
		t.Errorf("after signing out the page says %q", said)
	}
	answered("401")
	b.shoot(t, "5-signed-out")
	b.mu.Lock()
	asked := maps.Clone(b.asked)
	b.mu.Unlock()
	for host := range asked {
		if host != "127.0.0.1:"+g.https {
			t.Errorf("the page asked %s", host)
		}
	}
	stored, err := chromedp.Run(b, chromedp.Evaluate[string](`JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])`))
	if err != nil || strings.Contains(stored, "rft_") {
		t.Errorf("stored is %s, %v", stored, err)
	}
}
