package console_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

// A person who opens the gateway accepts the certificate once: the browser lets the next visit through, also after a restart.
func TestCertificateInABrowser(t *testing.T) {
	within, cancel := context.WithTimeout(t.Context(), 5*pagePatience)
	t.Cleanup(cancel)
	page, end := startBrowser(within, t, browsers)
	t.Cleanup(end)
	b := watchPage(page, t)
	g := gatewaytest.LoadDefault(t, "")
	// warned waits for the warning or the page.
	warned := func() bool {
		t.Helper()
		b.run(t, chromedp.WaitVisible(chromedp.CSS("#details-button, #fingerprint")))
		return b.script(t, `String(document.querySelector("#details-button") !== null)`) == "true"
	}
	visit := func() {
		t.Helper()
		// The error page of a certificate that is not trusted is reported as an error of the navigation.
		if err := chromedp.Do(b, chromedp.Navigate(g.URL+"/certificate")); err != nil && !strings.Contains(err.Error(), "ERR_CERT") {
			t.Fatal(err)
		}
	}
	visit()
	if !warned() {
		b.shoot(t, "certificate-no-warning")
		t.Fatal("the first visit shows no warning")
	}
	b.shoot(t, "certificate-1-warning")
	b.run(t, chromedp.Click(chromedp.CSS("#details-button")), chromedp.WaitVisible(chromedp.CSS("#proceed-link")), chromedp.Click(chromedp.CSS("#proceed-link")),
		chromedp.WaitVisible(chromedp.CSS("#fingerprint")))
	b.shoot(t, "certificate-2-page")
	shown := b.script(t, `document.querySelector("#fingerprint").innerText`)
	store, err := selfsigned.Open(filepath.Join(g.Dir, "data", "tls"), selfsigned.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if shown != store.Fingerprint() || len(shown) != 95 {
		t.Errorf("the page shows %q, the certificate has %q", shown, store.Fingerprint())
	}
	b.complained() // of the first visit
	g.Restart(t)
	visit()
	if warned() {
		b.shoot(t, "certificate-3-warned-again")
		t.Error("after a restart the certificate must be accepted again")
	}
	b.run(t, chromedp.WaitVisible(chromedp.CSS("#fingerprint")))
	if again := b.script(t, `document.querySelector("#fingerprint").innerText`); again != shown {
		t.Errorf("after a restart the certificate is %s, was %s", again, shown)
	}
	b.clean(t, "after a restart")
}
