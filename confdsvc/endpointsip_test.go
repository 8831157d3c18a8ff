package confdsvc_test

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	sample := crudtest.Resource{
		// A search that must find nothing may find a random name.
		Minimal: func(_ *crudtest.Client, n int) object {
			return object{"label": fmt.Sprintf("Label%d", n), "name": fmt.Sprintf("-%d", n)}
		},
		Values: func(n int) object {
			return object{"name": fmt.Sprintf("sip%d", n), "templates": []any{}, "transport": nil}
		},
		Except: []string{"templates", "transport", "generate_login"}, // other tests cover these
	}
	samples["endpoints/sip"] = sample
	sample.Preset = true
	samples["endpoints/sip/templates"] = sample
}

// pairs returns options as clients send them: "name=value name=value".
func pairs(text string) []any {
	out := []any{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		out = append(out, []any{name, value})
	}
	return out
}

// uses names objects by their UUIDs, as a list in a body does.
func uses(objects ...object) []any {
	out := []any{}
	for _, o := range objects {
		out = append(out, object{"uuid": o["uuid"]})
	}
	return out
}

func TestMergedSIPEndpoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		udp := w.as(t, "master").Create("/sip/transports", object{"name": "udp", "options": pairs("protocol=udp")})
		base := c.Create("/endpoints/sip/templates", object{
			"label": "base", "transport": object{"uuid": udp["uuid"]}, "asterisk_id": "one",
			"aor_section_options":      pairs("max_contacts=1 qualify_frequency=60"),
			"endpoint_section_options": pairs("webrtc=yes set_var=A=1 dtmf_mode=rfc4733"),
		})
		left := c.Create("/endpoints/sip/templates", object{
			"label": "left", "templates": uses(base), "aor_section_options": pairs("max_contacts=2"), "endpoint_section_options": pairs("set_var=B=2"),
		})
		right := c.Create("/endpoints/sip/templates", object{"label": "right", "endpoint_section_options": pairs("dtmf_mode=info")})
		e := c.Create("/endpoints/sip", object{
			"label": "e", "templates": uses(left, right), "auth_section_options": pairs("username=u password=p"),
			"endpoint_section_options": pairs("set_var=C=3 set_var=A=1 webrtc=no webrtc=On"),
		})
		path := "/endpoints/sip/" + e.Text("uuid")
		if plain := c.Get(path).Object(); plain.Text("name") == "" || !plain.Same("endpoint_section_options", pairs("set_var=C=3 set_var=A=1 webrtc=no webrtc=On")) ||
			plain["transport"] != nil || !plain.Same("templates", []any{object{"uuid": left["uuid"], "label": "left"}, object{"uuid": right["uuid"], "label": "right"}}) {
			t.Errorf("the endpoint itself: %v", plain)
		}
		merged := c.Get(path + "?view=merged").Want(http.StatusOK).Object()
		for name, want := range (object{
			"aor_section_options": pairs("max_contacts=2 qualify_frequency=60"), "auth_section_options": pairs("username=u password=p"),
			"endpoint_section_options": pairs("webrtc=On set_var=A=1 dtmf_mode=info set_var=B=2 set_var=C=3"), "label": "e", "name": e["name"],
			"line": nil, "trunk": nil, "transport": object{"uuid": udp["uuid"], "name": "udp"}, "asterisk_id": "one", "identify_section_options": []any{}, "uuid": e["uuid"],
		}) {
			if _, shown := merged[name]; !shown || !merged.Same(name, want) {
				t.Errorf("merged: %s is %v, want %v", name, merged[name], want)
			}
		}
		for _, view := range []string{"", "Merged", "x"} {
			c.Get(path + "?view=" + view).Want(http.StatusBadRequest).Says("view")
		}
		c.Do(http.MethodPut, path, c.Get(path).Object()).Want(http.StatusNoContent) // clients can write what they read
		c.Do(http.MethodDelete, "/endpoints/sip/templates/"+left.Text("uuid"), nil).Want(http.StatusNoContent)
		if after := c.Get(path + "?view=merged").Object(); !after.Same("templates", []any{object{"uuid": right["uuid"], "label": "right"}}) || !after.Same("aor_section_options", []any{}) {
			t.Errorf("without a template: %v", after)
		}
	})
}

// Templates that take options from each other in many ways are merged once each.
func TestTemplatesOfManyPathsMerge(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		one := c.Create("/endpoints/sip/templates", object{"endpoint_section_options": pairs("set_var=A=1")})
		two := c.Create("/endpoints/sip/templates", object{"endpoint_section_options": pairs("set_var=B=1")})
		for range 30 {
			both := uses(one, two)
			one = c.Create("/endpoints/sip/templates", object{"templates": both})
			two = c.Create("/endpoints/sip/templates", object{"templates": both})
		}
		e := c.Create("/endpoints/sip", object{"templates": uses(one, two)})
		if merged := c.Get("/endpoints/sip/" + e.Text("uuid") + "?view=merged").Object(); !merged.Same("endpoint_section_options", pairs("set_var=A=1 set_var=B=1")) {
			t.Errorf("%v", merged["endpoint_section_options"])
		}
	})
}

func TestSIPNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, b, master := w.as(t, "a"), w.as(t, "b"), w.as(t, "master")
		made := map[string]string{}
		for _, path := range []string{"/endpoints/sip", "/endpoints/sip/templates", "/sip/transports"} {
			made[path] = "taken-by" + strings.ReplaceAll(path, "/", ".")
			master.Create(path, object{"name": made[path]})
		}
		for path := range made {
			own := master.Create(path, object{"name": "free"})
			for _, taken := range made {
				for _, c := range []struct {
					method, path string
				}{{http.MethodPost, path}, {http.MethodPut, path + "/" + own.Text("uuid")}} {
					master.Do(c.method, c.path, object{"name": taken}).Want(http.StatusBadRequest).Says("already exists ('name': '" + taken + "')")
				}
				if path != "/sip/transports" {
					b.Do(http.MethodPost, path, object{"name": taken}).Want(http.StatusBadRequest).Says("already exists")
				}
			}
			for _, bad := range []any{"global", "system", "General", "default", "default_outbound_endpoint", "anonymous", "Ringfence-x", "", "a b", "a]", "a\n", strings.Repeat("x", 80), nil, 1} {
				master.Do(http.MethodPost, path, object{"name": bad}).Want(http.StatusBadRequest).Says("name")
			}
			master.Do(http.MethodPut, path+"/"+own.Text("uuid"), object{"name": "free"}).Want(http.StatusNoContent)
			master.Do(http.MethodDelete, path+"/"+own.Text("uuid"), nil).Want(http.StatusNoContent)
			again := master.Create(path, object{"name": "free"}) // a name is free again when its object is deleted or renamed
			master.Do(http.MethodPut, path+"/"+again.Text("uuid"), object{"name": "other" + strings.ReplaceAll(path, "/", ".")}).Want(http.StatusNoContent)
		}
		a.Create("/endpoints/sip", object{"name": "free"})
	})
}

func TestSIPReferences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, b, master := w.as(t, "a"), w.as(t, "b"), w.as(t, "master")
		nobodys := object{"uuid": "00000000-0000-4000-8000-000000000000"}
		foreign := b.Create("/endpoints/sip/templates", object{})
		for _, path := range []string{"/endpoints/sip", "/endpoints/sip/templates"} {
			own := a.Create("/endpoints/sip/templates", object{})
			one := path + "/" + a.Create(path, object{"templates": uses(own)}).Text("uuid")
			for _, try := range []struct {
				body object
				says string
			}{
				{object{"templates": uses(own, foreign)}, "field 'templates': SIPEndpointTemplate was not found ('uuid': '" + foreign.Text("uuid") + "')"},
				{object{"templates": uses(nobodys)}, "field 'templates': SIPEndpointTemplate was not found"},
				{object{"templates": uses(own, own)}, "same template more than once"},
				{object{"templates": []any{object{}}}, "templates: {0: {'uuid': ['"},
				{object{"templates": []any{object{"uuid": "x"}}}, "templates: {0: {'uuid': ['"},
				{object{"templates": nil}, "templates"},
				{object{"transport": nobodys}, "field 'transport': Transport was not found"},
				{object{"transport": object{}}, "transport: {'uuid': ['"},
				{object{"auth_section_options": pairs("@mine=1")}, "'auth_section_options: invalid variable (@mine)'"},
				{object{"aor_section_options": pairs("nothing=1")}, "'aor_section_options: invalid variable (nothing)' must be one of (authenticate_qualify, contact"},
				{object{"auth_section_options": pairs("max_contacts=1")}, "'auth_section_options: invalid variable (max_contacts)'"},
				{object{"auth_section_options": []any{[]any{"username", "u"}, []any{"password", "secret "}}}, "password' begins or ends with a blank"},
				{object{"auth_section_options": []any{[]any{"username", " u"}}}, "username' begins or ends with a blank"},
				{object{"outbound_auth_section_options": []any{[]any{"password", "b "}}}, "password' begins or ends with a blank"},
				{object{"registration_outbound_auth_section_options": []any{[]any{"password", strings.Repeat("x", 1001)}}}, "password' is too long"},
				{object{"endpoint_section_options": pairs("type=endpoint")}, "invalid variable (type)"},
				{object{"endpoint_section_options": []any{[]any{"callerid", "x\n[evil]"}}}, "endpoint_section_options"},
				{object{"endpoint_section_options": []any{[]any{"callerid", "x\r"}}}, "endpoint_section_options"},
				{object{"endpoint_section_options": []any{[]any{"callerid"}}}, "endpoint_section_options"},
				{object{"endpoint_section_options": []any{[]any{"callerid", 1}}}, "endpoint_section_options"},
				{object{"endpoint_section_options": []any{[]any{"callerid", nil}}}, "endpoint_section_options"},
				{object{"endpoint_section_options": object{"callerid": "x"}}, "endpoint_section_options"},
				{object{"endpoint_section_options": pairs("context=of-b")}, "Context was not found"},
				{object{"endpoint_section_options": pairs("context=default message_context=of-b")}, "Context was not found"},
			} {
				a.Do(http.MethodPost, path, try.body).Want(http.StatusBadRequest).Says(try.says)
				a.Do(http.MethodPut, one, try.body).Want(http.StatusBadRequest).Says(try.says)
			}
			if got := a.Get(one).Object(); !got.Same("templates", []any{object{"uuid": own["uuid"], "label": nil}}) {
				t.Errorf("refused changes left %v", got["templates"])
			}
			master.Do(http.MethodPut, one, object{"templates": uses(foreign)}).Want(http.StatusBadRequest).Says("different tenants")
			a.Do(http.MethodPut, one, object{"endpoint_section_options": pairs("context=default subscribe_context=of-the-telephone-system")}).Want(http.StatusNoContent)
			a.Do(http.MethodPut, one, object{"templates": []any{}}).Want(http.StatusNoContent)
			// What begins with @ is somebody's own, and is kept.
			kept := object{"aor_section_options": pairs("@mine=1"), "endpoint_section_options": pairs("@mine=2")}
			a.Do(http.MethodPut, one, kept).Want(http.StatusNoContent)
			if got := a.Get(one).Object(); !got.Same("aor_section_options", kept["aor_section_options"]) || !got.Same("endpoint_section_options", kept["endpoint_section_options"]) {
				t.Errorf("%v", got)
			}
		}
		// A template cannot take options from itself, directly or through others.
		one := a.Create("/endpoints/sip/templates", object{})
		two := a.Create("/endpoints/sip/templates", object{"templates": uses(one)})
		three := a.Create("/endpoints/sip/templates", object{"templates": uses(two)})
		for _, t := range []object{one, two, three} {
			a.Do(http.MethodPut, "/endpoints/sip/templates/"+one.Text("uuid"), object{"templates": uses(t)}).Want(http.StatusBadRequest).
				Says("Operation not permitted. Cannot use itself as template")
		}
		// The order is as it was sent last. A dry run tells what takes options from a template, and a deletion takes it from these.
		phone := "/endpoints/sip/" + a.Create("/endpoints/sip", object{"name": "phone", "templates": uses(three, two, one)}).Text("uuid")
		a.Do(http.MethodPut, phone, object{"templates": uses(one, three)}).Want(http.StatusNoContent)
		is := func(want ...object) {
			t.Helper()
			templates, _ := a.Get(phone).Object()["templates"].([]any)
			if got := fmt.Sprint(templates...); len(templates) != len(want) || !slices.EqualFunc(templates, want, func(got any, want object) bool {
				return got.(map[string]any)["uuid"] == want["uuid"]
			}) {
				t.Errorf("the templates are %v", got)
			}
		}
		is(one, three)
		if leading, _ := whatLeadsTo(t, w, "/endpoints/sip/templates/"+one.Text("uuid"), "confd.#"); len(leading) != 2 ||
			!strings.HasPrefix(leading[0], "endpoints/sip "+path.Base(phone)) || !strings.HasPrefix(leading[1], "endpoints/sip/templates "+two.Text("uuid")) {
			t.Errorf("to the template lead %q", leading)
		}
		a.Do(http.MethodDelete, "/endpoints/sip/templates/"+one.Text("uuid"), nil).Want(http.StatusNoContent)
		is(three)
		// Who is denied a template gives its options to nobody, and takes them from nobody.
		denied := w.holding(t, "confd.#", "!confd.endpoints.sip.templates."+three.Text("uuid")+".read")
		for _, path := range []string{"/endpoints/sip", "/endpoints/sip/templates"} {
			denied.Do(http.MethodPost, path, object{"templates": uses(three)}).Want(http.StatusForbidden)
		}
		denied.Do(http.MethodPut, phone, object{"templates": uses(two)}).Want(http.StatusForbidden)
		denied.Do(http.MethodPut, phone, object{"templates": []any{}, "label": "Desk"}).Want(http.StatusNoContent) // as it was read
		is(three)
	})
}

func TestLineOfSIPEndpoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		browser := c.Create("/endpoints/sip/templates", object{"label": "browser", "endpoint_section_options": pairs("webrtc=yes")})
		e := c.Create("/endpoints/sip", object{
			"name": "phone", "label": "Phone", "templates": uses(browser), "auth_section_options": pairs("username=u password=p-secret username=v"),
		})
		l := c.Create("/lines", object{"context": "default"})
		line, endpoint := "/lines/"+l.Text("id"), "/endpoints/sip/"+e.Text("uuid")
		c.Do(http.MethodPut, line+endpoint, nil).Want(http.StatusNoContent)
		got := c.Get(line).Object()
		for name, want := range (object{
			"name": "phone", "protocol": "sip", "is_webrtc": true, "endpoint_custom": nil, "endpoint_sip": object{
				"uuid": e["uuid"], "name": "phone", "label": "Phone", "auth_section_options": pairs("username=u username=v"),
				"links": []any{object{"rel": "endpoint_sip", "href": prefix + endpoint}},
			},
		}) {
			if !got.Same(name, want) {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		u := c.Create("/users", object{"firstname": "Al"})
		c.Do(http.MethodPut, "/users/"+u.Text("id")+line, nil).Want(http.StatusNoContent)
		for _, path := range []string{"/users/" + u.Text("id"), line, "/lines", "/users"} {
			if body := c.Get(path).Want(http.StatusOK).Body; strings.Contains(body, "p-secret") || !strings.Contains(body, `"name":"phone"`) {
				t.Errorf("%s: %s", path, body)
			}
		}
		if l := c.Get("/lines?protocol=sip&search=PHONE").List(); l.Total != 1 || l.Items[0]["is_webrtc"] != true {
			t.Errorf("listed %v", l.Items)
		}
		c.Do(http.MethodDelete, line+endpoint, nil).Want(http.StatusBadRequest).Says("Line is associated with a User")
		c.Get("/endpoints/sip/templates/" + e.Text("uuid")).Want(http.StatusNotFound)
		c.Do(http.MethodPut, line+"/endpoints/sip/"+browser.Text("uuid"), nil).Want(http.StatusNotFound).Says("SIPEndpoint was not found")
		custom := c.Create("/endpoints/custom", object{"interface": "Local/1@x"})
		c.Do(http.MethodPut, line+"/endpoints/custom/"+custom.Text("id"), nil).Want(http.StatusBadRequest).Says("Line is associated with a Endpoint")
		other := c.Create("/lines", object{"context": "default"})
		c.Do(http.MethodPut, "/lines/"+other.Text("id")+"/endpoints/custom/"+custom.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/lines/"+other.Text("id")+endpoint, nil).Want(http.StatusBadRequest).Says("Line is associated with a Endpoint")
		c.Do(http.MethodDelete, line, nil).Want(http.StatusNoContent)
		c.Get(endpoint).Want(http.StatusNotFound).Says("SIPEndpoint was not found")
		c.Do(http.MethodDelete, "/lines/"+other.Text("id"), nil).Want(http.StatusNoContent)
		c.Get("/endpoints/custom/" + custom.Text("id")).Want(http.StatusNotFound)
	})
}

// The audit does not contain the passwords in options.
func TestSecretOptionsAreNotAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		e := c.Create("/endpoints/sip", object{"auth_section_options": pairs("username=u password=p-one md5_cred=p-two")})
		c.Do(http.MethodPut, "/endpoints/sip/"+e.Text("uuid"), object{"auth_section_options": pairs("username=u password=p-three oauth_secret=p-four")}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/endpoints/sip/"+e.Text("uuid"), nil).Want(http.StatusNoContent)
		kept, err := store.Select[string](t.Context(), db, `SELECT coalesce(before, '') || coalesce(after, '') FROM audit`)
		if err != nil || len(kept) != 3 {
			t.Fatal(err, kept)
		}
		for _, entry := range kept {
			if strings.Contains(entry, "p-") || !strings.Contains(entry, `["username","u"]`) {
				t.Errorf("kept %s", entry)
			}
		}
	})
}

// A telephone gets a login when it is asked for, alone, with its line or with its user, and a new one later. Nobody else gets one.
func TestGeneratedLogins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		type login struct{ username, password string }
		// read returns the login of an endpoint, and how many options its section has.
		read := func(uuid string) (login, int) {
			t.Helper()
			e := c.Get("/endpoints/sip/" + uuid).Want(http.StatusOK).Object()
			if _, shown := e["generate_login"]; shown {
				t.Error("generate_login is shown")
			}
			var l login
			options, _ := e["auth_section_options"].([]any)
			for _, pair := range options {
				switch pair := pair.([]any); pair[0] {
				case "username":
					l.username += pair[1].(string)
				case "password":
					l.password += pair[1].(string)
				}
			}
			return l, len(options)
		}
		seen := map[string]bool{}
		// fresh checks that an endpoint has a login that nobody had before.
		fresh := func(uuid, name string, options int) {
			t.Helper()
			got, n := read(uuid)
			if got.username != name || !regexp.MustCompile(`^[a-z2-7]{26}$`).MatchString(got.password) || seen[got.password] || n != options {
				t.Errorf("%s has the login %q, in %d options", name, got, n)
			}
			seen[got.password] = true
		}
		asked := object{"name": "lobby", "generate_login": true, "auth_section_options": pairs("username=u realm=r password=p md5_cred=m")}
		made := c.Create("/endpoints/sip", asked)
		uuid := made.Text("uuid")
		fresh(uuid, "lobby", 3)
		c.Do(http.MethodPut, "/endpoints/sip/"+uuid, object{"generate_login": true}).Want(http.StatusNoContent)
		fresh(uuid, "lobby", 3)
		before, _ := read(uuid)
		for _, body := range []object{{"label": "x"}, {"generate_login": false}, {"generate_login": nil}} {
			c.Do(http.MethodPut, "/endpoints/sip/"+uuid, body).Want(http.StatusNoContent)
		}
		if after, _ := read(uuid); after != before {
			t.Error("a change of something else made a login")
		}
		for _, body := range []object{{}, {"generate_login": false}} {
			if got, n := read(c.Create("/endpoints/sip", body).Text("uuid")); got != (login{}) || n > 0 {
				t.Errorf("%v made the login %q", body, got)
			}
		}
		line := object{"context": "default", "endpoint_sip": object{"generate_login": true}}
		of := func(line object) (uuid, name string) {
			e := object(line["endpoint_sip"].(map[string]any))
			return e.Text("uuid"), e.Text("name")
		}
		uuid, name := of(c.Create("/lines", line))
		fresh(uuid, name, 2)
		user := c.Create("/users", object{"firstname": "Al", "lines": []any{line}})
		first := object(user["lines"].([]any)[0].(map[string]any))
		uuid, name = of(first)
		fresh(uuid, name, 2)
		c.Do(http.MethodPut, "/users/"+user.Text("uuid")+"?recursive=true", object{"lines": []any{object{"id": first["id"], "endpoint_sip": object{"generate_login": true}}}}).Want(http.StatusNoContent)
		fresh(uuid, name, 2)
		for _, bad := range []any{"yes", 1, object{}} {
			c.Do(http.MethodPost, "/endpoints/sip", object{"generate_login": bad}).Want(http.StatusBadRequest).Says("generate_login")
		}
		kept, err := store.Select[string](t.Context(), db, `SELECT coalesce(before, '') || coalesce(after, '') FROM audit`)
		if err != nil {
			t.Fatal(err)
		}
		for password := range seen {
			if strings.Contains(strings.Join(kept, ""), password) {
				t.Error("the audit has a password")
			}
		}
	})
}
