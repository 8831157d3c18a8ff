package caddymodule_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A gateway with an Asterisk: what the API stores is live at once, what Asterisk refuses is taken back, and an operator sees and applies
// it all on the command line.
func TestAsterisk(t *testing.T) {
	pbx := amitest.New(t)
	pbx.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "No endpoints found") })
	for _, action := range []string{"VoicemailUsersList", "VoicemailUserStatus", "ShowDialPlan", "PJSIPShowEndpoint", "QueueSummary", "Command"} {
		pbx.Handle(action, func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Permission denied") })
	}
	folder := filepath.Join(t.TempDir(), "generated")
	for name, value := range map[string]string{
		"MANAGER": pbx.Address, "USERNAME": amitest.Username, "SECRET": amitest.Secret, "FOLDER": folder, "NAME": "",
	} {
		t.Setenv("RINGFENCE_ASTERISK_"+name, value)
	}
	g := loadDefault(t, "")
	admin := g.Admin(t)
	dialplan := func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "live", "extensions.conf"))
		return string(text)
	}
	until := func(what string, is func() bool) {
		t.Helper()
		gatewaytest.Eventually(t, 2*time.Minute, func() error {
			if !is() {
				return errors.New(what)
			}
			return nil
		})
	}
	until("the start applies", func() bool { return dialplan() != "" })
	name := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"inside","type":"internal"}`).Want(201).Text("name")
	until("the new context is live", func() bool { return strings.Contains(dialplan(), "["+name+"]") })

	apply := func(flags ...string) (string, error) {
		return command(t, "apply", append(flags, "--address", g.Helpers)...)
	}
	nothing := func() bool {
		shown, err := apply("--dry-run")
		return err == nil && shown == "nothing would change\n"
	}
	until("nothing more changes", nothing)
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":false}`).Want(204)
	second := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"outside","type":"internal"}`).Want(201).Text("name")
	if shown, err := apply("--dry-run"); err != nil || !strings.Contains(shown, "+["+second+"]") {
		t.Errorf("--dry-run: %v\n%s", err, shown)
	}
	g.Do(t, "POST", "/api/sysconfd/commonconf_generate", admin, "").Want(200)
	if strings.Contains(dialplan(), second) {
		t.Error("generating has changed what is live")
	}
	pbx.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		status := "0"
		if strings.Contains(dialplan(), second) {
			status = "3"
		}
		c.Respond(a, "Success", "Message", "Module Reloaded")
		c.Event("Reload", "Module", a.Get("Module"), "Status", status)
	})
	g.Do(t, "GET", g.Helpers+"/commonconf_apply", "", "").Want(500).Says("reloading pbx_config")
	if _, err := apply(); err == nil || strings.Contains(dialplan(), second) {
		t.Errorf("Asterisk refuses it, and it is live: %v", err)
	}
	pbx.Handle("Reload", func(c *amitest.Session, a ami.Message) {
		c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
		c.Respond(a, "Success", "Message", "Module Reloaded")
	})
	g.Do(t, "GET", "/api/sysconfd/commonconf_apply", admin, "").Want(200)
	if !strings.Contains(dialplan(), second) {
		t.Error("what was applied is not live")
	}
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":true}`).Want(204)
	until("the start of live reload is live", nothing)
	applies := func() string {
		return fmt.Sprint(g.Do(t, "GET", "/api/auth/0.1/audit?action=apply&limit=1", admin, "").Want(200).JSON("filtered"))
	}
	before := applies()
	tenant := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"acme","slug":"acme"}`).Want(200).Text("uuid")
	until("a new tenant is applied", func() bool { return applies() != before })
	before = applies()
	g.Do(t, "DELETE", "/api/auth/0.1/tenants/"+tenant, admin, "").Want(204)
	until("a deleted tenant is applied", func() bool { return applies() != before })
	user := g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada"}`).Want(201).Text("uuid")
	until("Asterisk's database has the state of the API", func() bool {
		g.Do(t, "PUT", "/api/confd/1.1/users/"+user+"/services/dnd", admin, `{"enabled":true}`).Want(204)
		v, _ := pbx.Value("ringfence", user+"/dnd")
		return v == "1"
	})
	conn, err := ami.Dial(t.Context(), pbx.Options())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, value string) {
		if err := ami.Put(t.Context(), conn, "ringfence", user+"/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	// As a telephone does: Asterisk has the value before it tells of it. Where the machine is busy, the gateway looks at the value.
	for name, value := range map[string]string{"busy": "102", "dnd": "0", "incallfilter": "1", "callrecord": "1", "novoicemail": "1"} {
		put(name, value)
		pbx.Event("UserEvent", "UserEvent", "RingfenceState", "User", user, "Name", name, "Value", value)
	}
	pbx.Event("UserEvent", "UserEvent", "RingfenceState", "User", user+"/../"+user, "Name", "../evil", "Value", "1")
	until("the API has the state of the telephone", func() bool {
		state := g.Do(t, "GET", "/api/confd/1.1/users/"+user, admin, "").Want(200).Body
		return strings.Contains(state, `"dnd":{"enabled":false}`) && strings.Contains(state, `"busy":{"enabled":true,"destination":"102"}`) &&
			strings.Contains(state, `"incallfilter":{"enabled":true}`) && strings.Contains(state, `"call_record_enabled":true`)
	})
	g.Do(t, "POST", "/api/confd/1.1/voicemails", admin, `{"name":"Ada","number":"101","context":"`+name+`","password":"4711"}`).Want(201)
	chosen := func(pin string) {
		pbx.Event("VoicemailPasswordChange", "Context", name, "Mailbox", "101", "NewPassword", pin)
	}
	pbx.Event("VoicemailPasswordChange", "Context", name, "Mailbox", "999", "NewPassword", "9631851470")
	// What is heard late on a busy machine is compared with the mailbox, which is nowhere here: who chooses again is heard.
	until("a PIN that confd does not take is refused", func() bool {
		chosen("96*31")
		return strings.Contains(g.Logged(t), "a PIN in confd has")
	})
	until("the API has the PIN of the telephone", func() bool {
		chosen("9631470258")
		return strings.Contains(g.Do(t, "GET", "/api/confd/1.1/voicemails?number=101", admin, "").Want(200).Body, `"password":"9631470258"`)
	})
	until("the audit has it, without the PIN", func() bool {
		audit := g.Do(t, "GET", "/api/auth/0.1/audit?action=update_voicemail", admin, "").Want(200)
		if strings.Contains(audit.Body, "9631470258") {
			t.Fatalf("the audit has the PIN: %s", audit.Body)
		}
		return audit.JSON("filtered") == 1.0
	})
	// Where both have news, those of the API stand: none is on its way to Asterisk when this has ended.
	if _, err := apply(); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"dnd": "1", "busy": "", "noanswer": "103", "../evil": "1"} {
		put(name, value)
	}
	pbx.Disconnect()
	until("the API has what a telephone changed while nobody listened", func() bool {
		state := g.Do(t, "GET", "/api/confd/1.1/users/"+user, admin, "").Want(200).Body
		return strings.Contains(state, `"dnd":{"enabled":true}`) && strings.Contains(state, `"noanswer":{"enabled":true,"destination":"103"}`)
	})
	if log := g.Logged(t); strings.Contains(log, amitest.Secret) || strings.Contains(log, "9631470258") || strings.Contains(log, "9631851470") || strings.Contains(log, "96*31") {
		t.Error("the secret or a PIN is in the log")
	}
}
