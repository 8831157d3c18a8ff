package console_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// silence is a WAV of a tenth of a second.
var silence = "RIFF\xa4\x06\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x80\x06\x00\x00" + strings.Repeat("\x00", 1664)

// seesCalls has Asterisk tell of calls, and looks at them as an operator, as a person who may see their own, and as one who may see none. The
// telephone ada is that of a user of that name.
func seesCalls(t *testing.T, g *gatewaytest.Inside, o *operator, admin string, pbx *amitest.Server) {
	t.Helper()
	olga, _, _ := g.Account(t, admin, "olga", "call-logd.users.me.cdr.read")
	g.Account(t, admin, "piet", "confd.#")
	master := g.Do(t, "GET", "/api/auth/0.1/users/"+olga, admin, "").Want(200).Text("tenant_uuid")
	n := 0
	call := func(fields map[string]string) {
		n++
		at := float64(time.Now().Add(time.Duration(n-60) * time.Minute).Unix())
		all := map[string]string{
			"uniqueid": fmt.Sprintf("17.%d", n), "sequence": strconv.Itoa(n), "tenant": master, "start": fmt.Sprintf("%f", at), "answer": fmt.Sprintf("%f", at+3),
			"end": fmt.Sprintf("%f", at+68), "billsec": "65", "disposition": "ANSWERED",
		}
		maps.Copy(all, fields)
		var headers []string
		for name, value := range all {
			headers = append(headers, "Ringfence-"+name, value)
		}
		pbx.Event(cdr.Event, headers...)
	}
	const name = "call-20261128-101500-17.1.wav"
	folder := filepath.Join(os.Getenv("RINGFENCE_ASTERISK_RECORDINGS"), master)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, name), []byte(silence), 0o600)); err != nil {
		t.Fatal(err)
	}
	call(map[string]string{"recording": name, "direction": "inbound", "src": "0301234567", "clid": `"Zoë" <0301234567>`, "dialled": "5550100", "dstchannel": "PJSIP/ada-00000001"})
	call(map[string]string{"direction": "outbound", "src": "1042", "channel": "PJSIP/ada-00000002", "dialled": "0891234", "disposition": "BUSY", "billsec": "0", "answer": ""})
	call(map[string]string{"direction": "internal", "src": "77", "user": olga, "dialled": "1042", "dstchannel": "PJSIP/ada-00000003"})
	o.goTo("#/", "Welcome, admin")
	o.press("Live")
	o.press("Calls")
	rows := func(want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('main tbody tr')].map((tr) => tr.cells[1].innerText.replace(/\s+/g, ' ') + ' > ' + tr.cells[2].innerText.replace(/\s+/g, ' ')).join('; ') === %q`, want), "the calls are not %s", want)
	}
	const third, second, first = "77 > Ada 1042", "Ada 1042 > 0891234", "Zoë 0301234567 > Ada 1042 via 5550100"
	// Asked again when the answer is there, and not before: a question that replaces another one does away with its answer.
	o.until(`(document.querySelectorAll('main tbody tr').length === 3 ||
		(document.querySelector('main [aria-busy]') ?? document.querySelector('[aria-label="Order"]').dispatchEvent(new Event('change')), false))`, "the calls do not come")
	rows(strings.Join([]string{third, second, first}, "; "))
	o.reads("1:05")
	o.accessible("calls")
	o.enter("Search calls", "zoe")
	rows(first)
	o.press("Play")
	o.until(`document.querySelector('main audio')?.duration > 0`, "the recording is not heard")
	o.shoot(t, "recording")
	o.enter("Search calls", "zo")
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("deleted")
	if _, err := os.Stat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was deleted is there: %v", err)
	}
	o.enter("Search calls", "zoe")
	o.until(`document.querySelectorAll('main thead th').length === 6`, "what was deleted is offered")
	o.choose("How it ended", "busy")
	o.reads("No call is so.")
	o.enter("Search calls", "0891")
	rows(second)
	o.press("Sign out")
	o.reads("Signed out.")

	o.goTo("", "Sign in")
	o.signIn("olga", "secret of olga")
	o.press("Live")
	rows(third)
	o.reads("The calls of olga.")
	o.press("Sign out")
	o.reads("Signed out.")

	o.goTo("", "Sign in")
	o.signIn("piet", "secret of piet")
	o.goTo("#/calls", "Calls")
	o.reads("You may see neither the calls of this tenant nor your own.")
	o.clean(t, "while the calls were looked at")
}
