package confdsvc_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// asCSV asks for CSV.
func asCSV(r *http.Request) { r.Header.Set("Accept", "text/csv; charset=utf-8") }

const exportedHeader = "uuid,subscription_type,firstname,lastname,email,mobile_phone_number,outgoing_caller_id,language,call_permission_password," +
	"enabled,ring_seconds,simultaneous_calls,supervision_enabled,call_transfer_enabled,dtmf_hangup_enabled," +
	"call_record_outgoing_external_enabled,call_record_outgoing_internal_enabled,call_record_incoming_internal_enabled,call_record_incoming_external_enabled," +
	"online_call_record_enabled,userfield,voicemail_name,voicemail_number,voicemail_context,voicemail_password,voicemail_email,voicemail_attach_audio," +
	"voicemail_delete_messages,voicemail_ask_password,line_protocol,provisioning_code,context,sip_username,sip_secret,exten,incall_exten,incall_context," +
	"call_permissions,username\r\n"

// exported returns the rows of a tenant's export, by the first name.
func exported(c *resttest.Client) map[string]map[string]string {
	c.T.Helper()
	records, err := csv.NewReader(strings.NewReader(c.Get("/users/export", asCSV).Want(http.StatusOK).Body)).ReadAll()
	if err != nil {
		c.T.Fatal(err)
	}
	rows := map[string]map[string]string{}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows[row["firstname"]] = row
	}
	return rows
}

func TestExportOfUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		if got := c.Get("/users/export", asCSV).Want(http.StatusOK); got.Body != exportedHeader || got.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
			!strings.Contains(got.Header.Get("Content-Disposition"), "filename") {
			t.Errorf("%v %q", got.Header, got.Body)
		}
		if got := c.Get("/users/export").Want(http.StatusOK).Object(); fmt.Sprint(got["content"]) != "[]" || len(got["headers"].([]any)) != 39 {
			t.Errorf("%v", got)
		}

		al := c.Create("/users", object{
			"firstname": "Al", "lastname": "=1+1", "email": "al@example.org", "mobile_phone_number": "+15551234", "language": "fr_FR", "ring_seconds": 12,
			"call_record_incoming_external_enabled": true, "userfield": "a; @b", "call_permission_password": "12#",
		})
		box := c.Create("/voicemails", object{"name": "Al, \"Box\"", "number": "1001", "context": "default", "password": "99", "email": "al@example.org", "attach_audio": true, "delete_messages": true})
		c.Do(http.MethodPut, "/users/"+al.Text("id")+"/voicemails/"+box.Text("id"), nil).Want(http.StatusNoContent)
		ranges := []any{object{"start": "0000", "end": "9999"}}
		inside := c.Create("/contexts", object{"label": "in", "user_ranges": ranges})
		outside := c.Create("/contexts", object{"label": "out", "type": "incall", "incall_ranges": ranges})
		line := c.Create("/lines", object{"context": inside["name"], "provisioning_code": "123456"})
		sip := c.Create("/endpoints/sip", object{"name": "al", "auth_section_options": []any{[]any{"username", "al-sip"}, []any{"password", "-geheim"}}})
		c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/endpoints/sip/"+sip.Text("uuid"), nil).Want(http.StatusNoContent)
		exten := c.Create("/extensions", object{"exten": "1001", "context": inside["name"]})
		c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/extensions/"+exten.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+al.Text("id")+"/lines/"+line.Text("id"), nil).Want(http.StatusNoContent)
		incall := c.Create("/incalls", object{"destination": object{"type": "user", "user_id": al["id"]}})
		from := c.Create("/extensions", object{"exten": "5001", "context": outside["name"]})
		c.Do(http.MethodPut, "/incalls/"+incall.Text("id")+"/extensions/"+from.Text("id"), nil).Want(http.StatusNoContent)

		again := c.Create("/incalls", object{"destination": object{"type": "user", "user_id": al["id"]}})
		late := c.Create("/extensions", object{"exten": "5002", "context": outside["name"]})
		c.Do(http.MethodPut, "/incalls/"+again.Text("id")+"/extensions/"+late.Text("id"), nil).Want(http.StatusNoContent)

		for _, name := range []string{"Premium", "Foreign"} {
			c.Do(http.MethodPut, "/users/"+al.Text("id")+"/callpermissions/"+c.Create("/callpermissions", object{"name": name}).Text("id"), nil).Want(http.StatusNoContent)
		}

		bo := c.Create("/users", object{"firstname": "Bo", "enabled": false})
		browser := c.Create("/lines", object{"context": "default"})
		webrtc := c.Create("/endpoints/sip", object{"templates": uses(object{"uuid": c.Get("/tenants/" + w.tenants["a"]).Object()["webrtc_sip_template_uuid"]})})
		c.Do(http.MethodPut, "/lines/"+browser.Text("id")+"/endpoints/sip/"+webrtc.Text("uuid"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+bo.Text("id")+"/lines/"+browser.Text("id"), nil).Want(http.StatusNoContent)
		giveLine(c, c.Create("/users", object{"firstname": "Cy"}))
		w.as(t, "b").Create("/users", object{"firstname": "Eve"})
		w.as(t, "a1").Create("/users", object{"firstname": "Sub"})

		rows := exported(c)
		if len(rows) != 3 {
			t.Fatalf("%v", rows)
		}
		want := map[string]string{
			"uuid": al.Text("uuid"), "subscription_type": "0", "firstname": "Al", "lastname": "'=1+1", "email": "al@example.org", "mobile_phone_number": "'+15551234",
			"outgoing_caller_id": "", "language": "fr_FR", "call_permission_password": "12#", "enabled": "1", "ring_seconds": "12", "simultaneous_calls": "5",
			"supervision_enabled": "1", "call_transfer_enabled": "0", "dtmf_hangup_enabled": "0", "call_record_outgoing_external_enabled": "0",
			"call_record_outgoing_internal_enabled": "0", "call_record_incoming_internal_enabled": "0", "call_record_incoming_external_enabled": "1",
			"online_call_record_enabled": "0", "userfield": "a; '@b", "voicemail_name": "Al, \"Box\"", "voicemail_number": "1001", "voicemail_context": "default",
			"voicemail_password": "99", "voicemail_email": "al@example.org", "voicemail_attach_audio": "1", "voicemail_delete_messages": "1", "voicemail_ask_password": "1",
			"line_protocol": "sip", "provisioning_code": "123456", "context": inside.Text("name"), "sip_username": "al-sip", "sip_secret": "'-geheim", "exten": "1001",
			"incall_exten": "5001;5002", "incall_context": outside.Text("name") + ";" + outside.Text("name"), "call_permissions": "Premium;Foreign", "username": "",
		}
		for name, value := range want {
			if rows["Al"][name] != value {
				t.Errorf("%s: %q, want %q", name, rows["Al"][name], value)
			}
		}
		if row := rows["Bo"]; row["enabled"] != "0" || row["line_protocol"] != "webrtc" || row["provisioning_code"] == "" || row["voicemail_name"] != "" {
			t.Errorf("%v", row)
		}
		for _, name := range []string{"line_protocol", "provisioning_code", "context", "sip_username", "sip_secret", "exten"} {
			if cell := rows["Cy"][name]; cell != "" {
				t.Errorf("%s of a custom line: %q", name, cell)
			}
		}

		// JSON has the values as they are.
		content := c.Get("/users/export").Want(http.StatusOK).Object()["content"].([]any)
		if first := content[0].(map[string]any); len(content) != 3 || len(first) != 39 || first["lastname"] != "=1+1" || first["enabled"] != "1" {
			t.Errorf("%v", content)
		}
	})
}

// A long export is read piece by piece, and has each user once.
func TestExportOfManyUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		const users = 501 // more than are read at once
		err := db.InTx(t.Context(), func(ctx context.Context, c store.Conn) error {
			for i := range 2 * users {
				if _, err := c.Exec(ctx, `INSERT INTO confd_user (uuid, tenant_uuid, firstname, mobile_fallback_enabled, call_record_outgoing_external_enabled,
					call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled, call_record_incoming_external_enabled, subscription_type, enabled)
					VALUES ($1, $2, $3, false, false, false, false, false, 0, true)`, uuid.NewString(), w.tenants[[]string{"a", "b"}[i%2]], fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c := w.as(t, "b")
		if rows := exported(c); len(rows) != users {
			t.Errorf("%d rows", len(rows))
		}
		content := c.Get("/users/export").Object()["content"].([]any)
		seen := map[any]bool{}
		for _, row := range content {
			seen[row.(map[string]any)["uuid"]] = true
		}
		if len(content) != users || len(seen) != users {
			t.Errorf("%d rows, %d users", len(content), len(seen))
		}
		if head := c.Do(http.MethodHead, "/users/export", nil, asCSV).Want(http.StatusOK); head.Body != "" {
			t.Errorf("%q", head.Body)
		}
		if lines := strings.Count(c.Get("/users/export", asCSV).Body, "\r\n"); lines != users+1 {
			t.Errorf("%d lines end with CRLF", lines)
		}
	})
}

// No cell begins with what a spreadsheet takes for a formula, not even in a spreadsheet that separates cells otherwise, and the
// text can be had back.
func TestHarmlessCells(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+15551234": "'+15551234", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", " =1": " '=1", "\t=1": "\t'=1", "\r\n =1": "\r\n '=1",
		"=": "'=", "a;=1": "a;'=1", "a; @b;-c": "a; '@b;'-c", "\u00a0=1": "\u00a0'=1", "\ufeff\u200b+1": "\ufeff\u200b'+1", "＝1": "'＝1", "＠x": "'＠x", "a\tb\n+c": "a\tb\n'+c",
		"'=1": "''=1", "''=1": "'''=1", "a;'=1": "a;''=1", " '+1": " ''+1",
		"": "", "'": "'", "'a": "'a", "Jean-Paul": "Jean-Paul", "a@b": "a@b", "1+1": "1+1", "a=b": "a=b", "a,=b": "a,=b", `"Al" <+1>`: `"Al" <+1>`, "O'Neil": "O'Neil",
	} {
		if got := confdsvc.Harmless(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := confdsvc.Unharmed(want); got != text {
			t.Errorf("%q is read as %q, want %q", want, got, text)
		}
	}
}

func FuzzHarmlessCells(f *testing.F) {
	f.Add("=1;'+2\n\t''@x")
	f.Fuzz(func(t *testing.T, text string) {
		cell := confdsvc.Harmless(text)
		if got := confdsvc.Unharmed(cell); got != text {
			t.Errorf("%q is written as %q and read as %q", text, cell, got)
		}
		for _, part := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(";\t\r\n", r) }) {
			if part = strings.TrimFunc(part, func(r rune) bool { return unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) }); part != "" && strings.ContainsAny(part[:1], "=+-@") {
				t.Errorf("%q is written as %q", text, cell)
			}
		}
	})
}

// A file for people has contexts by their labels, where an import knows by these which are meant.
func TestExportWithLabels(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		label := func(name, label string) {
			t.Helper()
			found := c.Get("/contexts?name=" + name).List().Items
			c.Do(http.MethodPut, "/contexts/"+found[0].Text("id"), object{"label": label}).Want(http.StatusNoContent)
		}
		label(c.in, "Inside; all")
		label(c.from, "Berlin")
		c.Create("/contexts", object{"label": "Berlin", "type": "internal"})
		c.Create("/users", c.user("1001"))
		contexts := func() string {
			t.Helper()
			file := c.Get("/users/export?labels=true", asCSV).Want(http.StatusOK).Body
			row := c.Get("/users/export?labels=true").Want(http.StatusOK).Object()["content"].([]any)[0].(map[string]any)
			if !strings.Contains(file, ","+row["incall_context"].(string)+",") {
				t.Errorf("the table has %v, the file is %q", row["incall_context"], file)
			}
			return fmt.Sprint(row["context"], " ", row["voicemail_context"], " ", row["incall_context"])
		}
		if got, want := contexts(), c.in+" "+c.in+" Berlin"; got != want {
			t.Errorf("the contexts are %s, want %s", got, want) // a list has semicolons between its items
		}
		label(c.in, "Inside")
		if got := contexts(); got != "Inside Inside Berlin" {
			t.Errorf("the contexts are %s", got)
		}
		file := c.Get("/users/export?labels=true", asCSV).Body
		empty(c.Client)
		importUsers(c.Client, file).Want(http.StatusCreated)
		if got := contexts(); got != "Inside Inside Berlin" {
			t.Errorf("the contexts of what was imported are %s", got)
		}
		c.Create("/contexts", object{"label": "Berlin", "type": "incall"})
		if got, want := contexts(), "Inside Inside "+c.from; got != want {
			t.Errorf("the contexts are %s, want %s: two have one label", got, want)
		}
	})
}
