package console_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

func TestExplorerInABrowser(t *testing.T) {
	b := newBrowser(t)
	g := gatewaytest.LoadDefault(t, "")
	const (
		username, password, login, logout, state = chromedp.CSS("#username"), chromedp.CSS("#password"), chromedp.CSS("#login"), chromedp.CSS("#logout"), chromedp.CSS("#state")

		operation = chromedp.CSS("#operations-users-list_user")
		executed  = operation + " .live-responses-table"
	)
	answered := func(status string) {
		t.Helper()
		b.run(t, chromedp.Click(operation+" .execute"))
		if err := b.poll(fmt.Sprintf(`document.querySelector(%q)?.innerText.startsWith(%q) ?? false`, executed+" .response .response-col_status", status)); err != nil {
			b.shoot(t, "failed")
			t.Fatalf("the operation is not answered with %s: %v", status, err)
		}
	}

	b.run(t, chromedp.Navigate(g.URL+"/console/api/"), chromedp.WaitVisible(chromedp.CSS(".opblock")), chromedp.WaitVisible(login))
	b.shoot(t, "1-loaded")
	b.clean(t, "when it is loaded")

	b.run(t, chromedp.SendKeys(username, "admin"), chromedp.SendKeys(password, "a wrong password\r"), chromedp.WaitVisible(state+".wrong"))
	if said := b.said(t); !strings.Contains(said, "wrong") {
		t.Errorf("after a wrong password the page says %q", said)
	}
	b.shoot(t, "2-wrong-password")
	b.clean(t, "after a wrong password", "401") // the browser itself logs the status

	b.run(t, chromedp.SendKeys(password, gatewaytest.Password+"\r"), chromedp.WaitVisible(logout), chromedp.WaitNotVisible(login))
	if said := b.said(t); !strings.Contains(said, "Signed in") {
		t.Errorf("after signing in the page says %q", said)
	}
	b.shoot(t, "3-signed-in")

	const head = chromedp.CSS("#operations-status-check_status")
	b.run(t, chromedp.Click(head+" .opblock-summary-control"), chromedp.Click(head+" .try-out__btn"), chromedp.Click(head+" .execute"), chromedp.WaitVisible(head+" pre.curl"))
	if line := b.script(t, fmt.Sprintf(`document.querySelector(%q).innerText`, head+" pre.curl")); !strings.HasPrefix(line, "curl --cacert ringfence.pem --head 'https://") {
		t.Errorf("the line for curl is %q", line)
	}

	_, err := chromedp.Run(b, chromedp.Evaluate[chromedp.Void](`{
		const service = document.getElementById("service");
		service.value = "confd";
		service.dispatchEvent(new Event("change"));
	}`))
	if err != nil {
		t.Fatal(err)
	}
	b.run(t, chromedp.Click(operation+" .opblock-summary-control"), chromedp.Click(operation+" .try-out__btn"))
	answered("200")
	b.run(t, chromedp.ScrollIntoView(operation))
	b.shoot(t, "4-executed")
	b.clean(t, "after an operation")
	if line := b.script(t, fmt.Sprintf(`document.querySelector(%q).innerText`, operation+" .curl-command")); !strings.Contains(line, "--cacert") || !strings.Contains(line, `"X-Auth-Token: $TOKEN"`) || strings.Contains(line, "rft_") {
		t.Errorf("the line for curl is %q", line)
	}
	b.script(t, `navigator.clipboard.writeText = async (text) => { window.copied = text; }; ""`)
	b.run(t, chromedp.Click(operation+" .curl-command .copy-to-clipboard button"))
	if copied := b.script(t, `window.copied ?? ""`); !strings.HasPrefix(copied, "curl --cacert ") {
		t.Errorf("copied is %q", copied)
	}

	// A reload keeps the session, and a link to an operation opens it; the search finds operations by their access.
	b.run(t, chromedp.Navigate(g.URL+"/console/api/?service=confd&again#/users/list_user"), chromedp.WaitVisible(logout), chromedp.WaitVisible(operation+" .try-out__btn"))
	if above := b.script(t, fmt.Sprintf(`String(document.querySelector(%q).getBoundingClientRect().top < 0)`, operation)); above == "true" {
		t.Error("the operation of a link is not in sight")
	}
	const elsewhere = chromedp.CSS("#operations-timezones-list_timezones")
	b.script(t, `location.hash = "#/timezones/list_timezones"; ""`)
	b.run(t, chromedp.WaitVisible(elsewhere+" .try-out__btn"))
	b.run(t, chromedp.SendKeys(chromedp.CSS(".operation-filter-input"), "confd.timezones.read"))
	if err := b.poll(`document.querySelectorAll(".opblock").length === 1`); err != nil {
		t.Errorf("the search does not find one operation: %v", err)
	}
	b.clean(t, "after a search", "escaping deep link") // Swagger UI's, about any link with an underscore
	b.run(t, chromedp.Navigate(g.URL+"/console/api/?service=confd"), chromedp.WaitVisible(chromedp.CSS(".opblock")),
		chromedp.Click(operation+" .opblock-summary-control"), chromedp.Click(operation+" .try-out__btn"))

	// Where a definition cannot be loaded, the page says what to do, and leads there.
	choose := func(service string) {
		t.Helper()
		b.script(t, fmt.Sprintf(`{ const service = document.getElementById("service"); service.value = %q; service.dispatchEvent(new Event("change")); "" }`, service))
	}
	b.run(t, offline(true))
	choose("auth")
	b.run(t, chromedp.WaitVisible(chromedp.CSS(`#state a[href="`+g.URL+`/"]`)))
	if said := b.said(t); !strings.Contains(said, "accept the certificate") {
		t.Errorf("without the definition the page says %q", said)
	}
	b.run(t, offline(false))
	b.complained()
	choose("confd")
	b.run(t, chromedp.WaitVisible(chromedp.CSS(".opblock")))
	if said := b.said(t); !strings.Contains(said, "Signed in") {
		t.Errorf("with the definition the page says %q", said)
	}
	b.run(t, chromedp.Click(operation+" .opblock-summary-control"), chromedp.Click(operation+" .try-out__btn"))

	b.run(t, chromedp.Click(logout), chromedp.WaitVisible(login))
	if said := b.said(t); !strings.Contains(said, "Signed out") {
		t.Errorf("after signing out the page says %q", said)
	}
	answered("401")
	b.shoot(t, "5-signed-out")
	b.mu.Lock()
	asked := maps.Clone(b.asked)
	b.mu.Unlock()
	for host := range asked {
		if host != "127.0.0.1:"+g.HTTPSPort {
			t.Errorf("the page asked %s", host)
		}
	}
	if stored := b.script(t, `JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])`); strings.Contains(stored, "rft_") {
		t.Errorf("stored is %s", stored)
	}
}
