package confdsvc_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// sendsCSV makes a request send CSV.
func sendsCSV(r *http.Request) { r.Header.Set("Content-Type", "text/csv; charset=utf-8") }

func importUsers(c *resttest.Client, text string, edits ...resttest.Edit) answer {
	c.T.Helper()
	return c.Do(http.MethodPost, "/users/import", text, append([]resttest.Edit{sendsCSV}, edits...)...)
}

// imported returns what an import has made, by row.
func imported(a answer) []object {
	a.T.Helper()
	var reply struct{ Created []object }
	resttest.Decode(a.T, a.Body, &reply)
	return reply.Created
}

// wrongRows fails the test unless the rows, and only they, are refused, with these messages: "2: firstname: Is required".
func wrongRows(a answer, want ...string) {
	a.T.Helper()
	var reply struct {
		Errors []struct {
			Message   string
			Timestamp int64
			Details   struct {
				RowNumber int `json:"row_number"`
				Line      int
				Row       map[string]string
			}
		}
	}
	resttest.Decode(a.T, a.Want(http.StatusBadRequest).Body, &reply)
	for i, e := range reply.Errors {
		said := fmt.Sprintf("%d: %s", e.Details.RowNumber, e.Message)
		if i >= len(want) || !strings.Contains(said, want[i]) || e.Timestamp == 0 || e.Details.Row == nil {
			a.T.Errorf("error %d is %q of %v, want %q", i, said, e.Details, append(want, "no more")[min(i, len(want))])
		}
		for _, secret := range []string{"password", "sip_secret", "voicemail_password", "call_permission_password"} {
			if _, there := e.Details.Row[secret]; there {
				a.T.Errorf("it repeats %s", secret)
			}
		}
	}
	if len(reply.Errors) < len(want) {
		a.T.Errorf("%d errors, want %q: %s", len(reply.Errors), want, a.Body)
	}
}

// importContexts creates a context of users and one of incoming calls, in which all numbers of four digits are.
func importContexts(c *resttest.Client) (inside, outside string) {
	ranges := []any{object{"start": "0000", "end": "9999"}}
	return c.Create("/contexts", object{"label": "in", "user_ranges": ranges}).Text("name"),
		c.Create("/contexts", object{"label": "out", "type": "incall", "incall_ranges": ranges}).Text("name")
}

// What is exported can be imported elsewhere, and is then exported as it was.
func TestImportOfAnExport(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		inside, outside := importContexts(c)
		text := "\ufefffirstname,lastname,email,mobile_phone_number,userfield,enabled,ring_seconds,call_record_incoming_external_enabled,subscription_type,language," +
			"call_permission_password,voicemail_name,voicemail_number,voicemail_context,voicemail_password,voicemail_attach_audio,line_protocol,context,exten," +
			"sip_username,sip_secret,provisioning_code,incall_exten,incall_context,incall_ring_seconds,username,password,uuid,colour,call_permissions\r\n" +
			"Al,=1+1,al@example.org,+15551234,\"a; @b, \"\"c\"\"\",0,12,1,3,fr_FR,12#,\"Al, Box\",1001,IN,0099,1,sip,IN,1001,al,-geheim,123456,5001,OUT,7,al.login,secret,x,blue,Premium; Foreign\r\n" +
			"Bo,'=x,,'+15550000,,TRUE,,,,,,,,,,,webrtc,IN,1002,,,,,,,,,,,\r\n" +
			"Cy,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"
		text = strings.NewReplacer("IN", inside, "OUT", outside).Replace(text)
		permissions := []any{c.Create("/callpermissions", object{"name": "Premium"})["id"], c.Create("/callpermissions", object{"name": "Foreign"})["id"]}
		w.as(t, "b").Create("/callpermissions", object{"name": "Theirs"})

		if got := importUsers(c, text, resttest.Query("dry_run", "true")).Want(http.StatusOK); len(imported(got)) != 3 || imported(got)[2].Text("row_number") != "3" {
			t.Errorf("a trial: %s", got.Body)
		}
		if rows := exported(c); len(rows) != 0 {
			t.Fatalf("a trial has made %v", rows)
		}
		made := imported(importUsers(c, text).Want(http.StatusCreated))
		if len(made) != 3 {
			t.Fatalf("%v", made)
		}
		al := made[0]
		if al.Text("row_number") != "1" || al["sccp_id"] != nil || fmt.Sprint(al["call_permission_ids"]) != fmt.Sprint(permissions) || made[2]["line_id"] != nil || made[2]["user_id"] == nil {
			t.Errorf("%v", made)
		}
		for path, id := range map[string]string{"/users/": "user_id", "/voicemails/": "voicemail_id", "/lines/": "line_id", "/endpoints/sip/": "sip_uuid", "/extensions/": "extension_id"} {
			c.Get(path + al.Text(id)).Want(http.StatusOK)
		}
		if x := c.Get("/extensions/" + al.Text("incall_extension_id")).Want(http.StatusOK).Object(); x["exten"] != "5001" || x["incall"] == nil {
			t.Errorf("the incoming number is %v", x)
		}
		incall := c.Get("/incalls?exten=5001").List().Items[0]
		if to := incall["destination"].(map[string]any); fmt.Sprint(to["ring_time"]) != "7" || fmt.Sprint(to["user_id"]) != al.Text("user_id") {
			t.Errorf("an incoming call goes to %v", to)
		}

		rows := exported(c)
		for name, want := range map[string]string{
			"lastname": "'=1+1", "mobile_phone_number": "'+15551234", "userfield": `a; '@b, "c"`, "enabled": "0", "ring_seconds": "12", "subscription_type": "3",
			"call_record_incoming_external_enabled": "1", "voicemail_name": "Al, Box", "voicemail_password": "0099", "voicemail_attach_audio": "1", "line_protocol": "sip",
			"context": inside, "exten": "1001", "sip_username": "al", "sip_secret": "'-geheim", "provisioning_code": "123456", "incall_exten": "5001", "incall_context": outside,
			"username": "al.login", "language": "fr_FR", "call_permission_password": "12#", "call_permissions": "Premium;Foreign",
		} {
			if rows["Al"][name] != want {
				t.Errorf("%s: %q, want %q", name, rows["Al"][name], want)
			}
		}
		if bo := rows["Bo"]; bo["line_protocol"] != "webrtc" || bo["lastname"] != "'=x" || bo["mobile_phone_number"] != "'+15550000" || bo["enabled"] != "1" ||
			bo["sip_username"] == "" || len(bo["sip_secret"]) < 20 {
			t.Errorf("%v", bo)
		}
		if row := rows["Cy"]; row["line_protocol"] != "" || row["ring_seconds"] != "30" {
			t.Errorf("%v", row)
		}

		// To the same system again: each row says why not.
		before := c.Get("/users/export", asCSV).Body
		wrongRows(importUsers(c, before), "1: Resource Error - User already exists ('email': 'al@example.org'", "2: Resource Error - ")
		if after := c.Get("/users/export", asCSV).Body; after != before {
			t.Errorf("it is %s", after)
		}

		// To an empty one: it is the same, with UUIDs of its own.
		for _, table := range []string{
			"confd_user_voicemail", "confd_incall_extension", "confd_line_extension", "confd_user_line", "confd_line_endpoint", "confd_destination",
			"confd_incall", "confd_line", "confd_voicemail", "confd_user", "confd_extension", "confd_endpoint_sip",
		} {
			if _, err := db.Exec(t.Context(), "DELETE FROM "+table); err != nil {
				t.Fatal(err)
			}
		}
		importUsers(c, before).Want(http.StatusCreated)
		if after := exported(c); len(after) != len(rows) {
			t.Errorf("%v", after)
		} else {
			for first, row := range rows {
				for name, value := range row {
					if got := after[first][name]; (got == value) == (name == "uuid") {
						t.Errorf("%s of %s was %q and is %q", name, first, value, got)
					}
				}
			}
		}
	})
}

// empty deletes the tenant's users, with all that they have.
func empty(c *resttest.Client) {
	c.T.Helper()
	for _, of := range []string{"/users", "/incalls", "/extensions"} {
		for _, o := range c.Get(of).List().Items {
			c.Do(http.MethodDelete, of+"/"+o.Text("id")+"?recursive=true", nil).Want(http.StatusNoContent)
		}
	}
}

// Who is the main user of a line is so after an import of an export, and the others have their order.
func TestImportKeepsTheMainUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		create := func(user object, name string) string {
			user["firstname"] = name
			if lines, has := user["lines"].([]any); has {
				lines[0].(object)["endpoint_sip"] = object{"auth_section_options": pairs("username=" + name + " password=x")}
			}
			return "/users/" + c.Create("/users", user).Text("uuid")
		}
		third, second := create(object{}, "Third"), create(object{}, "Second")
		first := create(c.user("1001"), "First")
		other := create(c.user("1002"), "Other")
		create(object{}, "None")
		line, its := fmt.Sprint(at(c.Get(first).Object(), "lines.0.id")), fmt.Sprint(at(c.Get(other).Object(), "lines.0.id"))
		for _, path := range []string{second, third, other} { // the line is not the one that Other is exported with
			c.Do(http.MethodPut, path+"/lines/"+line, nil).Want(http.StatusNoContent)
		}
		c.Do(http.MethodPut, third+"/lines/"+its, nil).Want(http.StatusNoContent) // nor this the one of Third
		file := c.Get("/users/export", asCSV).Want(http.StatusOK).Body
		content := c.Get("/users/export").Want(http.StatusOK).Object()["content"].([]any)
		empty(c.Client)
		importUsers(c.Client, file).Want(http.StatusCreated)
		err := db.InReadTx(t.Context(), func(ctx context.Context, conn store.Conn) error {
			users, err := store.Select[string](ctx, conn, `SELECT u.firstname FROM confd_user_line ul JOIN confd_user u ON u.id = ul.user_id
				JOIN confd_line_extension lx ON lx.line_id = ul.line_id JOIN confd_extension x ON x.id = lx.extension_id WHERE x.exten = '1001' ORDER BY ul.id`)
			if got := strings.Join(users, " "); got != "First Second Third" {
				t.Errorf("the line's users are %s", got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		var names []string
		for _, row := range content {
			names = append(names, row.(map[string]any)["firstname"].(string))
		}
		if got := strings.Join(names, " "); got != "First Other None Second Third" || strings.Count(file, "\n") != 6 {
			t.Errorf("the rows are %s: %s", got, file)
		}
	})
}

// Users who have a voicemail or a line together have it together when they are imported, and are then exported as they were.
func TestImportOfWhatUsersShare(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "a"))
		with := func(number, credentials string) object {
			user := c.user(number)
			user["lines"].([]any)[0].(object)["endpoint_sip"] = object{"auth_section_options": pairs(credentials)}
			return c.Create("/users", user)
		}
		first := with("1001", "username=al password=x")
		box, line := fmt.Sprint(at(first, "voicemail.id")), fmt.Sprint(at(first, "lines.0.id"))
		c.Do(http.MethodPut, "/voicemails/"+box, object{"password": "0099", "email": "al@example.org", "attach_audio": true, "delete_messages": true}).Want(http.StatusNoContent)
		for name, also := range map[string][]string{"Box": {"voicemails/" + box}, "Line": {"lines/" + line}, "Both": {"lines/" + line, "voicemails/" + box}, "None": nil} {
			path := "/users/" + c.Create("/users", object{"firstname": name}).Text("uuid")
			for _, what := range also {
				c.Do(http.MethodPut, path+"/"+what, nil).Want(http.StatusNoContent)
			}
		}
		with("1002", "username=bo password=x")
		table := func() [][]string {
			rows, err := csv.NewReader(strings.NewReader(c.Get("/users/export", asCSV).Want(http.StatusOK).Body)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				rows[i] = rows[i][1:] // without the UUIDs
			}
			return rows
		}
		before, file := table(), c.Get("/users/export", asCSV).Body
		empty(c.Client)
		none := counts(t, db)
		if none["confd_user"]+none["confd_line"]+none["confd_voicemail"] != 0 {
			t.Fatalf("%v", none)
		}

		// What another user says of it differently is refused, and so is a caller who may not give it to them.
		for column, says := range map[string]string{"voicemail_password": "voicemail_number and voicemail_context", "sip_secret": "provisioning_code", "exten": "provisioning_code"} {
			rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			changed := slices.IndexFunc(rows, func(row []string) bool { return slices.Contains(row, "Both") })
			rows[changed][slices.Index(rows[0], column)] = "1009"
			var text strings.Builder
			if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
				t.Fatal(err)
			}
			if got := importUsers(c.Client, text.String()).Want(http.StatusBadRequest); !strings.Contains(got.Body, "Input Error - "+column+": ['Must be as in row 1, which has the same "+says) {
				t.Errorf("another %s: %s", column, got.Body)
			}
		}
		for _, denied := range []string{"confd.users.*.voicemails.*.update", "confd.users.*.lines.*.update"} {
			set, err := acl.Compile([]string{"confd.#", "!" + denied})
			if err != nil {
				t.Fatal(err)
			}
			caller := resttest.To(t, w.svc, prefix, &principal.Principal{ACL: set, Affiliation: &principal.Affiliation{TenantUUID: w.tenants["a"], Purpose: "external_api"}})
			if got := importUsers(caller, file).Want(http.StatusBadRequest); !strings.Contains(got.Body, "Your token denies") {
				t.Errorf("%s: %s", denied, got.Body)
			}
		}
		importUsers(c.Client, file, resttest.Query("dry_run", "true")).Want(http.StatusOK)
		if got := counts(t, db); !reflect.DeepEqual(got, none) {
			t.Fatalf("a refusal or a trial left something: %v, before %v", got, none)
		}

		made := imported(importUsers(c.Client, file).Want(http.StatusCreated))
		if after := table(); !reflect.DeepEqual(after, before) {
			t.Errorf("it was %q\nand is %q", before, after)
		}
		if got := c.Get("/voicemails/" + made[0].Text("voicemail_id")).Object(); len(got["users"].([]any)) != 3 {
			t.Errorf("%v", got)
		}
		got := c.Get("/lines/" + made[0].Text("line_id")).Object()
		if len(got["users"].([]any)) != 3 || at(got, "users.0.firstname") != "Al" || got["caller_id_name"] != "Al One" {
			t.Errorf("%v", got)
		}
		wrongRows(importUsers(c.Client, file), "1: Resource Error - Voicemail already exists", "4: Resource Error - Voicemail already exists")
	})
}

// Each wrong row is told, with its number, and nothing of a file with one is kept.
func TestImportIsAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		inside, outside := importContexts(c)
		w.as(t, "b").Create("/users", object{"firstname": "Eve", "email": "eve@example.org"})
		for text, want := range map[string][]string{
			// What the rows say by themselves.
			"firstname,ring_seconds,email,enabled\nAl,x,al,maybe\n\"\",1,,\nBo,99999,,1\n": {
				"1: Input Error - enabled: ['Must be 0 or 1", "1: Input Error - ring_seconds: ['Not a valid integer.", "2: Input Error - firstname: ['Missing data for required field.']", "3: Input Error - ring_seconds: ",
			},
			"firstname,lastname\n,Al\n":                                          {"1: Input Error - firstname: ['Missing data for required field.']"},
			"firstname,lastname\nAl\nBo,B,C\n":                                   {"1: Input Error - The row has 1 cells, and the first row names 2", "2: Input Error - The row has 3 cells"},
			"firstname,lastname\nAl,\"B\nBo,C\n":                                 {"1: Input Error - The quotes are wrong"},
			"firstname,lastname\nCy,C\nAl,B\"b\nBo,C\n":                          {"2: Input Error - The quotes are wrong at line 3, column 5"},
			"firstname\nAl\n\xff\nBo\n":                                          {"2: Input Error - The row is not in UTF-8"},
			"firstname,userfield\nAl,\"a\nb\"\n":                                 {"1: Input Error - userfield: ['May not hold control characters"},
			"firstname\n\"A\x00l\"\n":                                            {"1: Input Error - firstname: ['May not hold control characters"},
			"firstname\n" + strings.Repeat("x", 70_000):                          {"1: Input Error - The row has more than 65536 bytes"},
			"firstname,firstname\nAl,Bo\n":                                       {"0: Input Error - firstname: ['Two columns"},
			"Firstname\nAl\n":                                                    {"0: Input Error - firstname: ['The column is named in another spelling"},
			"firstname, lastname\nAl,B\n":                                        {"0: Input Error - lastname: ['The column is named in another spelling"},
			"firstname;lastname\nAl;B\n":                                         {"0: Input Error - firstname: ['No column has this name"},
			"lastname\nB\n":                                                      {"0: Input Error - firstname: ['No column"},
			"first\"name\nB\n":                                                   {"0: Input Error - The quotes are wrong"},
			"\xff\xfef\x00i\x00":                                                 {"0: Input Error - The file is in UTF-16"},
			"\ufeff":                                                             {"0: Input Error - The file is empty"},
			"firstname,exten,context\nAl,1001,x\n":                               {"1: Input Error - line_protocol: ['Is required beside"},
			"firstname,line_protocol,context\nAl,sccp,IN\n":                      {"1: Input Error - line_protocol: ['Must be one of: sip, webrtc."},
			"firstname,line_protocol,exten\nAl,sip,1001\n":                       {"1: Input Error - context: ['Missing data for required field.']"},
			"firstname,voicemail_number\nAl,1\n":                                 {"1: Input Error - voicemail_context: ['Missing data for required field.']"},
			"firstname,incall_exten,incall_context\nAl,5001;5002,OUT;\n":         {"1: Input Error - field 'incall_context': Context was not found"},
			"firstname,incall_exten,incall_context\nAl,5001;5002;5003,OUT;OUT\n": {"1: Input Error - incall_context: ['Must be one, or as many"},
			"firstname,incall_ring_seconds\nAl,1\n":                              {"1: Input Error - incall_ring_seconds: ['Needs incall_exten"},
			"firstname,call_permissions\nAl,intl;nat\n":                          {"1: Input Error - field 'call_permissions': CallPermission was not found"},
			"firstname,line_protocol,context,sip_username,sip_secret,password,call_permission_password\nAl,sip,IN,a b/c,x,yyyy,zz\n": {
				"1: Input Error - call_permission_password: ", "1: Input Error - sip_username: ",
			},

			// What the database says: after it, the other rows are tried.
			"firstname,email\nAl,al@example.org\nEve,EVE@example.org\nBo,bo@example.org\nAl2,AL@example.org\nCy,eve@example.org\n": {
				"2: Resource Error - User already exists", "4: Resource Error - User already exists", "5: Resource Error - User already exists",
			},
			"firstname,line_protocol,context,exten\nAl,sip,IN,1001\nBo,sip,nowhere,1002\nCy,sip,of-b,1003\nDi,sip,IN,99999\nEd,sip,IN,1001\n": {
				"2: Input Error - field 'context': Context was not found", "3: Input Error - field 'context': Context was not found",
				"4: Input Error - Extension '99999' is outside of range", "5: ",
			},
			"firstname,incall_exten,incall_context\nAl,5001,OUT\nBo,5001,OUT\nCy,5002,IN\n": {"2: ", "3: "},
		} {
			wrongRows(importUsers(c, strings.NewReplacer("IN", inside, "OUT", outside).Replace(text)).For(t), want...)
		}
		for _, path := range []string{"/users", "/lines", "/extensions", "/endpoints/sip", "/voicemails", "/incalls"} {
			if l := c.Get(path).List(); l.Total != 0 {
				t.Errorf("%s: %v", path, l.Items)
			}
		}
		if got := importUsers(c, "firstname\n").Want(http.StatusCreated); len(imported(got)) != 0 {
			t.Errorf("no rows: %s", got.Body)
		}
	})
}

func TestImportRefusals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		wrongRows(importUsers(c, ""), "0: Input Error - The file is empty")
		c.Do(http.MethodPost, "/users/import", "firstname\nAl\n").Want(http.StatusUnsupportedMediaType)
		importUsers(c, "firstname\nAl\n", func(r *http.Request) { r.Header.Set("Content-Type", "text/csv; charset=iso-8859-1") }).Want(http.StatusUnsupportedMediaType)
		importUsers(c, "firstname\nAl\n", resttest.Query("dry_run", "maybe")).Want(http.StatusBadRequest).Says("dry_run")
		importUsers(c, strings.Repeat("x", 11<<20)).Want(http.StatusRequestEntityTooLarge)
		c.Do(http.MethodPut, "/users/import", "firstname\nAl\n", sendsCSV).Want(http.StatusMethodNotAllowed)
		wrongRows(importUsers(c, "firstname\n"+strings.Repeat("Al\n", 20_001), resttest.Query("dry_run", "1")), "20001: Input Error - The file has more than 20000 rows")
		if l := c.Get("/users").List(); l.Total != 0 {
			t.Errorf("%v", l)
		}
		// The errors of a hopeless file do not fill an answer.
		if got := importUsers(c, "firstname,enabled\n"+strings.Repeat("Al,x\n", 5000)).Want(http.StatusBadRequest); strings.Count(got.Body, `"message"`) != 100 {
			t.Errorf("%d errors", strings.Count(got.Body, `"message"`))
		}
	})
}

// A cell that holds whatever it likes is stored as it is, or refused with 400.
func TestImportOfAnyCells(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		for _, cell := range []string{
			"", " ", "'", "''", "'=1", "=1", "+", "-", "@", "a;=b", "; ;+", "null", "0", "1e400", "[]", "{}", "\"", "\\", "${SHELL(id)}", "é", "e\u0301", "\u202e", "\U0001f600",
			"\ufeff=1", "\u00a0-1", "\x7f", "\t=1", "\r", "\n", "\x00", "\ud7ff", "%s", "' OR 1=1 --", strings.Repeat("x", 128), strings.Repeat("=", 128),
		} {
			var file strings.Builder
			out := csv.NewWriter(&file)
			for _, row := range [][]string{{"firstname", "userfield"}, {"Al", confdsvc.Harmless(cell)}} {
				if err := out.Write(row); err != nil {
					t.Fatal(err)
				}
			}
			out.Flush()
			got := importUsers(c, file.String())
			if got.Status == http.StatusBadRequest {
				wrongRows(got, "1: Input Error - userfield: ")
				continue
			}
			user := c.Get("/users/" + imported(got.Want(http.StatusCreated))[0].Text("user_id")).Object()
			if text, _ := user["userfield"].(string); text != cell {
				t.Errorf("%q was stored as %q", cell, text)
			}
			if row := exported(c)["Al"]; row["userfield"] != confdsvc.Harmless(cell) {
				t.Errorf("%q is exported as %q", cell, row["userfield"])
			}
			c.Do(http.MethodDelete, "/users/"+user.Text("id"), nil).Want(http.StatusNoContent)
		}
	})
}

// Whatever lines users have, an export of them can be imported again: in another installation, or here when they are deleted.
func TestExportOfAnyLineIsImported(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "a"))
		browser := object{"templates": uses(object{"uuid": c.Get("/tenants/" + w.tenants["a"]).Object()["webrtc_sip_template_uuid"]})}
		for i, endpoint := range []object{
			{"endpoint_sip": object{}},
			{"endpoint_sip": browser},
			{"endpoint_custom": object{"interface": "Local/1@x"}},
			{"endpoint_sip": object{"auth_section_options": pairs("username=al password=secret")}},
			{"endpoint_sip": object{"name": "gone"}},
		} {
			line := object{"context": c.in, "extensions": []any{object{"exten": fmt.Sprint(1001 + i)}}}
			maps.Copy(line, endpoint)
			c.Create("/users", object{"firstname": fmt.Sprint("U", i), "lines": []any{line}})
		}
		gone := c.Get("/endpoints/sip?search=gone").List().Items[0]
		c.Do(http.MethodDelete, "/endpoints/sip/"+gone.Text("uuid"), nil).Want(http.StatusNoContent)
		c.Create("/users", object{"firstname": "Nobody"})
		file, before := c.Get("/users/export", asCSV).Want(http.StatusOK).Body, exported(c.Client)
		for _, user := range c.Get("/users").List().Items {
			c.Do(http.MethodDelete, "/users/"+user.Text("id")+"?recursive=true", nil).Want(http.StatusNoContent)
		}
		if got := imported(importUsers(c.Client, file).Want(http.StatusCreated)); len(got) != 6 {
			t.Errorf("%v", got)
		}
		for name, row := range exported(c.Client) {
			for column, cell := range row {
				random := (column == "sip_username" || column == "sip_secret") && before[name][column] == ""
				if cell != before[name][column] && column != "uuid" && !random {
					t.Errorf("%s of %s: %q, before %q", column, name, cell, before[name][column])
				}
			}
		}
	})
}

// A context is named by its label where that says which it is, and never if another tenant has it, whoever imports.
func TestImportNamesContexts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		inside, outside := importContexts(c)
		for _, twice := range []string{"internal", "incall"} {
			c.Create("/contexts", object{"label": "Paris", "type": twice, twice + "_ranges": []any{}})
		}
		const columns = "firstname,line_protocol,context,exten,voicemail_number,voicemail_context,incall_exten,incall_context\n"
		importUsers(c, columns+
			strings.NewReplacer("IN", inside, "OUT", outside).Replace("Al,sip,in,1001,1001,in,5001; 5002,out\nBo,sip,IN,1002,1001,in,5003;5004,out;OUT\nCy,sip,Paris,,,,,\nDi,sip,,,,,,\n")).
			Want(http.StatusCreated)
		rows := exported(c)
		for name, want := range map[string][]string{
			"Al": {inside, inside, "5001;5002", outside + ";" + outside}, "Bo": {inside, inside, "5003;5004", outside + ";" + outside}, "Di": {"", "", "", ""},
		} {
			row := rows[name]
			if got := []string{row["context"], row["voicemail_context"], row["incall_exten"], row["incall_context"]}; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if l := c.Get("/lines?context=" + rows["Cy"]["context"]).List(); rows["Cy"]["context"] == "" || l.Total != 1 {
			t.Errorf("Cy's line: %v", l.Items)
		}
		if l := c.Get("/users?firstname=Di").List(); l.Total != 1 || len(l.Items[0]["lines"].([]any)) != 0 {
			t.Errorf("Di: %v", l.Items)
		}
		c.Create("/contexts", object{"label": "Paris"})
		wrongRows(importUsers(c, columns+"Ed,sip,Paris,,,,,\n").For(t), "1: Input Error - context: ['Several contexts have this label")
		master := w.as(t, "master")
		for _, name := range []string{inside, "in", "default"} {
			wrongRows(importUsers(master, columns+"Ed,sip,"+name+",,,,,\n").For(t), "1: Input Error - field 'context': Context was not found")
		}
	})
}

// manyRows is a file of n users, each with a number from 2000, and an address with it.
func manyRows(inside string, n int) string {
	var text strings.Builder
	text.WriteString("firstname,context,line_protocol,exten,email\n")
	for i := range n {
		fmt.Fprintf(&text, "U%d,%s,sip,%d,%d@example.org\n", i, inside, 2000+i, 2000+i)
	}
	return text.String()
}

// A long import on SQLite that is interrupted between its pieces goes on when the same file is sent again, and nothing is made twice.
func TestInterruptedImport(t *testing.T) {
	confdsvc.EachRowIsAPiece(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notes := 0
	db := storetest.SQLite(t)
	c := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
		if strings.HasPrefix(sql, "INSERT INTO confd_import_piece") {
			if notes++; notes == 4 {
				cancel()
			}
		}
	})).as(t, "a")
	inside, _ := importContexts(c)
	file := manyRows(inside, 40)
	if a := importUsers(c, file, func(r *http.Request) { *r = *r.WithContext(ctx) }); a.Status < 400 {
		t.Fatalf("an interrupted import: %d %s", a.Status, a.Body)
	}
	left := c.Get("/users/import").List()
	if left.Total != 1 || left.Items[0].Text("state") != "interrupted" || left.Items[0].Text("done") != "3" || left.Items[0].Text("rows") != "40" {
		t.Errorf("after it: %v", left)
	}
	if n := c.Get("/users").List().Total; n != 3 {
		t.Errorf("%d users, want those of the three rows that were committed", n)
	}
	made := imported(importUsers(c, file).Want(http.StatusCreated))
	if len(made) != 40 || made[0].Text("row_number") != "1" || made[39].Text("row_number") != "40" || made[0]["line_id"] == nil {
		t.Errorf("sent again, it made %v", made)
	}
	if n := c.Get("/users").List().Total; n != 40 {
		t.Errorf("%d users", n)
	}
	if left := c.Get("/users/import").List(); left.Total != 0 {
		t.Errorf("in the end: %v", left)
	}
	if n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM audit WHERE resource = 'users' AND action = 'import_users_csv'"); err != nil || n != 40 {
		t.Errorf("the audit has %d users: %v", n, err)
	}

	// Without its users, what was interrupted is forgotten.
	notes, ctx = 0, t.Context()
	again, cancelAgain := context.WithCancel(t.Context())
	defer cancelAgain()
	cancel = cancelAgain
	file = strings.ReplaceAll(file, "U", "V")
	file = strings.ReplaceAll(file, ",2", ",3")
	if a := importUsers(c, file, func(r *http.Request) { *r = *r.WithContext(again) }); a.Status < 400 {
		t.Fatalf("an interrupted import: %d %s", a.Status, a.Body)
	}
	gone := c.Get("/users?firstname=V0").List().Items[0]
	c.Do(http.MethodDelete, "/users/"+gone.Text("id")+"?recursive=true", nil).Want(http.StatusNoContent)
	if a := importUsers(c, file).Want(http.StatusBadRequest); strings.Contains(a.Body, "V0") || !strings.Contains(a.Body, "V1") {
		t.Errorf("it went on without a user: %s", a.Body)
	}
}

// racedDB is a database in which somebody writes while an import is checked.
type racedDB struct {
	store.DB
	meanwhile func()
}

func (r racedDB) Scratch(ctx context.Context) (store.DB, error) {
	scratch, err := store.Scratch(ctx, r.DB)
	r.meanwhile()
	return scratch, err
}

// What somebody else takes after a long import was checked is refused, and the refusal says what has been made.
func TestImportThatSomebodyOvertakes(t *testing.T) {
	confdsvc.EachRowIsAPiece(t)
	raced := racedDB{DB: storetest.SQLite(t)}
	var taken string
	var c *resttest.Client
	raced.meanwhile = func() {
		if taken == "" {
			taken = c.Create("/users", object{"firstname": "Taken", "email": "2005@example.org"}).Text("id")
		}
	}
	c = newWorld(t, &raced).as(t, "a")
	inside, _ := importContexts(c)
	file := manyRows(inside, 40)
	wrongRows(importUsers(c, file), "6: ", "The rows up to this one are imported")
	if n := c.Get("/users").List().Total; n != 6 {
		t.Errorf("%d users, with the one who was faster", n)
	}
	c.Do(http.MethodDelete, "/users/"+taken, nil).Want(http.StatusNoContent)
	if made := imported(importUsers(c, file).Want(http.StatusCreated)); len(made) != 40 {
		t.Errorf("then %d", len(made))
	}
}

// A long import that is only tried, or refused, writes nothing on SQLite, where all others would wait for it, and leaves no copy.
func TestLongTrialWritesNothing(t *testing.T) {
	db := storetest.SQLite(t)
	var wrote []string
	c := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
		if !strings.HasPrefix(strings.TrimSpace(sql), "SELECT") {
			wrote = append(wrote, sql)
		}
	})).as(t, "a")
	inside, _ := importContexts(c)
	c.Create("/users", object{"firstname": "Taken", "email": "2039@example.org"})
	wrote = nil
	wrongRows(importUsers(c, manyRows(inside, 40), resttest.Query("dry_run", "true")), "40: ")
	wrongRows(importUsers(c, manyRows(inside, 40)), "40: ")
	if a := importUsers(c, manyRows(inside, 39), resttest.Query("dry_run", "true")).Want(http.StatusOK); len(imported(a)) != 39 {
		t.Errorf("tried: %s", a.Body)
	}
	if len(wrote) > 0 {
		t.Errorf("it wrote %q", wrote)
	}
	left, err := filepath.Glob(db.(*sqlite.DB).Path() + ".*")
	if err != nil || len(left) > 1 {
		t.Errorf("beside the database are %q: %v", left, err)
	}
}
