package caddymodule_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// The files of the helper endpoints, and whether the plain port serves them, are options that a reload changes.
func TestHelperOptions(t *testing.T) {
	g := newGateway(t)
	g.Undeclared(t, "on the plain port, the endpoints that are switched off answer 404")
	g.Routes = "respond 404"
	configure := func(options string) error {
		g.App = "helpers {\n" + options + "\n}"
		return g.Use(t, g.Caddyfile()+"\nhttp://:"+g.HelpersPort+" {\nbind ringfence_tcp/127.0.0.1\nringfence_helpers open\n}\n")
	}
	t.Cleanup(func() { gatewaytest.Stop(t) })
	folders := [2]string{t.TempDir(), t.TempDir()}
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(folder, "ctx-a", "1001"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := configure("plain off\nvoicemail " + folders[0]); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", g.Helpers+"/status_check", "", "").Want(404).Says("switched off")
	if err := configure("voicemail " + folders[1]); err != nil {
		t.Fatal(err)
	}
	// The site takes any host, and the endpoints do not.
	g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001&context=ctx-a", "", "", func(r *http.Request) { r.Host = "evil.example" }).Want(403)
	g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001&context=ctx-a", "", "").Want(200)
	for i, left := range []bool{true, false} {
		if _, err := os.Lstat(filepath.Join(folders[i], "ctx-a", "1001")); (err == nil) != left {
			t.Errorf("folder %d: %v", i, err)
		}
	}
	for options, says := range map[string]string{
		"plain maybe": "it must be on or off", "voicemail /": "none may be /", "voicemail /x\nmoh /x/": "must be three",
	} {
		if err := configure(options); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", options, err)
		}
	}
}

// The helper endpoints of a running gateway: on both ports, with real tokens, contexts of confd and folders below the data folder.
func TestHelperEndpoints(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	spool := filepath.Join(g.Dir, "data", "asterisk", "voicemail")
	mailbox := func(context string) string {
		path := filepath.Join(spool, context, "1001")
		if err := os.MkdirAll(filepath.Join(path, "INBOX"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := func(path string) bool {
		_, err := os.Lstat(path)
		return os.IsNotExist(err)
	}
	if n := strings.Count(g.Logged(t), "no files of Asterisk are configured"); n != 1 {
		t.Errorf("the log says %d times which folders are used", n)
	}
	g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001", "", "").Want(404).Says("Not found")
	context := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"inside","type":"internal"}`).Want(201).Text("name")
	box := mailbox(context)
	_, _, reader := g.Account(t, admin, "reader", "sysconfd.#.read")
	for _, method := range []string{"GET", "DELETE"} {
		g.Do(t, method, "/api/sysconfd/delete_voicemail?name=1001", reader, "").Want(403)
		g.Do(t, method, "/api/sysconfd/delete_voicemail?name=1001", "", "").Want(401)
	}
	g.Do(t, "GET", "/api/sysconfd/commonconf_apply", reader, "").Want(403)
	rebound := resttest.Header("Origin", "https://evil.example")
	g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001", "", "", rebound).Want(403)
	for _, path := range []string{"/delete_voicemail?name=1001", "/commonconf_apply", "/metrics", "/"} { // a tool must not take an empty 200 for success
		g.Do(t, "GET", g.Helpers+path, "", "", func(r *http.Request) { r.Host = "evil.example" }).Want(403).Says("Host: localhost")
	}
	if gone(box) {
		t.Fatal("the voicemail was deleted by somebody who may not")
	}
	if a := g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001", "", "").Want(200); a.Body != "null" || !gone(box) {
		t.Errorf("on the plain port: %s", a.Body)
	}
	box = mailbox(context)
	g.Do(t, "GET", "/api/sysconfd/delete_voicemail?name=1001", admin, "").Want(200)
	if !gone(box) {
		t.Error("behind the gate: it is still there")
	}
	tenant := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"other"}`).Want(200).Text("uuid")
	theirs := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"theirs","type":"internal"}`, resttest.In(tenant)).Want(201).Text("name")
	box, other := mailbox(context), mailbox(theirs)
	g.Do(t, "GET", g.Helpers+"/delete_voicemail?name=1001", "", "").Want(400).Says("context: Is required")
	g.Do(t, "DELETE", "/api/sysconfd/delete_voicemail?mailbox=1001", admin, "", resttest.In(tenant)).Want(200)
	if gone(box) || !gone(other) {
		t.Errorf("the header names the other tenant: its voicemail is gone: %t, ours: %t", gone(other), gone(box))
	}
	id := g.Do(t, "POST", g.Helpers+"/exec_request_handlers", "", `{"chown_autoprov_config":"foo"}`).Want(200).Text("request_uuid")
	gatewaytest.Eventually(t, time.Minute, func() error {
		if state := g.Do(t, "GET", "/api/sysconfd/exec_request_handlers/"+id, admin, "").Want(200).Text("state"); state != "completed" {
			return fmt.Errorf("the request is %s", state)
		}
		return nil
	})
	if gone(filepath.Join(g.Dir, "data", "asterisk", "autoprov", "05-autoprov-wizard.conf")) {
		t.Error("there is no autoprovisioning file")
	}
	entries := g.Do(t, "GET", "/api/auth/0.1/audit?service=sysconfd", admin, "").Want(200).List()
	if len(entries.Items) < 2 || entries.Items[0]["resource"] != "voicemails" {
		t.Errorf("the audit has %v", entries.Items)
	}
}

// What confd moves or deletes takes its files with it.
func TestFilesFollowChanges(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	const api = "/api/confd/1.1"
	spool := filepath.Join(g.Dir, "data", "asterisk", "voicemail")
	in := g.Do(t, "POST", api+"/contexts", admin, `{"label":"inside"}`).Want(201)
	context := in.Text("name")
	message := func(number string) string { return filepath.Join(spool, context, number, "INBOX", "msg0000.txt") }
	leave := func(number string) {
		if err := os.MkdirAll(filepath.Dir(message(number)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(message(number), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(there, gone string) {
		t.Helper()
		gatewaytest.Eventually(t, time.Minute, func() error {
			if _, err := os.Lstat(there); there != "" && err != nil {
				return err
			}
			if _, err := os.Lstat(gone); err == nil {
				return fmt.Errorf("%s is not gone", gone)
			}
			return nil
		})
	}
	box := api + g.Do(t, "POST", api+"/voicemails", admin, `{"name":"V","number":"1001","context":"`+context+`"}`).Want(201).Header.Get("Location")[len(api):]
	leave("1001")
	g.Do(t, "PUT", box, admin, `{"number":"1002"}`).Want(204)
	want(message("1002"), message("1001"))
	g.Do(t, "DELETE", box, admin, "").Want(204)
	want("", message("1002"))
	g.Do(t, "DELETE", fmt.Sprintf("%s/contexts/%v", api, in.JSON("id")), admin, "").Want(204)
	want("", filepath.Join(spool, context))
}

// A tenant is deleted with its telephones, its voicemails, and the files of these.
func TestTenantWithTelephonesIsDeleted(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	tenant := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name":"other"}`).Want(200).Text("uuid")
	context := g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"theirs"}`, resttest.In(tenant)).Want(201).Text("name")
	user := g.Do(t, "POST", "/api/confd/1.1/users", admin,
		`{"firstname":"Al","voicemail":{"name":"Al","number":"1001","context":"`+context+`"}}`, resttest.In(tenant)).Want(201).Text("uuid")
	box := filepath.Join(g.Dir, "data", "asterisk", "voicemail", context, "1001")
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, denied := g.Account(t, admin, "denied", "#", "!confd.voicemails.*.delete")
	g.Do(t, "DELETE", "/api/auth/0.1/tenants/"+tenant, denied, "").Want(403)
	g.Do(t, "GET", "/api/confd/1.1/users/"+user, admin, "").Want(200)
	g.Do(t, "DELETE", "/api/auth/0.1/tenants/"+tenant, admin, "").Want(204)
	g.Do(t, "GET", "/api/confd/1.1/users/"+user, admin, "").Want(404)
	gatewaytest.Eventually(t, time.Minute, func() error {
		if _, err := os.Lstat(filepath.Dir(box)); err == nil {
			return errors.New("the files of the voicemails are there")
		}
		return nil
	})
}
