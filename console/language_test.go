package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The console explains patterns with a small copy of the language: it must agree with the gateway's own.
func TestConsoleKnowsTheLanguage(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	b := newBrowser(t)
	const user, session = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "16fd2706-8baf-433b-82eb-8c7fada847da"
	words := []string{"confd", "users", "*", "#", "me", user, "my_session"}
	var patterns, accesses []string
	for _, a := range words {
		for _, b := range words {
			for _, c := range words {
				patterns = append(patterns, a+"."+b+"."+c, "!"+a+"."+b)
				if !strings.ContainsAny(a+b+c, "*#") {
					accesses = append(accesses, a+"."+b+"."+c, a+"."+b, a, a+"."+b+"."+c+".read")
				}
			}
		}
	}
	list, _ := json.Marshal([]any{patterns, accesses})
	b.run(t, chromedp.Navigate(g.URL+"/console/"), chromedp.WaitVisible(chromedp.CSS("#login")))
	b.script(t, fmt.Sprintf(`import('/console/app/acl.js').then(({ allows, fault }) => {
		const [patterns, accesses] = %s, who = { user: %q, session: %q };
		window.answers = JSON.stringify(patterns.map((p) => fault(p) ? 'fault' : accesses.map((a) => allows(['#', p], a, who) && (p.startsWith('!') || allows([p], a, who)) ? '1' : '0').join('')));
	}), ''`, list, user, session))
	if err := b.poll(`window.answers !== undefined`); err != nil {
		t.Fatal(err)
	}
	var answers []string
	if err := json.Unmarshal([]byte(b.script(t, `window.answers`)), &answers); err != nil {
		t.Fatal(err)
	}
	for i, p := range patterns {
		with := []string{p}
		if strings.HasPrefix(p, "!") {
			with = append(with, "#")
		}
		set, err := acl.Compile(with)
		if err != nil {
			t.Fatal(err)
		}
		for j, a := range accesses {
			if want := set.Allows(a, acl.Binding{User: user, Session: session}); (answers[i][j] == '1') != want {
				t.Errorf("pattern %q, access %q: the console says %c, the gateway %v", p, a, answers[i][j], want)
			}
		}
	}
}
