package confdsvc_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestUserViews(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		c.Create("/users", object{"firstname": "Zoe"})
		u := c.Create("/users", object{"firstname": "Al", "lastname": "Bo", "email": "al@example.org", "userfield": "f", "description": "d", "mobile_phone_number": "5551"})
		user := "/users/" + u.Text("id")
		voicemail := c.Create("/voicemails", object{"name": "Al", "number": "1001", "context": "default"})
		c.Do(http.MethodPut, user+"/voicemails/"+voicemail.Text("id"), nil).Want(http.StatusNoContent)
		inside := c.Create("/contexts", object{"label": "inside", "user_ranges": []any{object{"start": "1000", "end": "1999"}}})
		var lines []object
		for _, exten := range []string{"1002", "1001"} {
			l := c.Create("/lines", object{"context": inside["name"]})
			line := "/lines/" + l.Text("id")
			e := c.Create("/endpoints/sip", object{"name": "sip" + exten})
			c.Do(http.MethodPut, line+"/endpoints/sip/"+e.Text("uuid"), nil).Want(http.StatusNoContent)
			x := c.Create("/extensions", object{"exten": exten, "context": inside["name"]})
			c.Do(http.MethodPut, line+"/extensions/"+x.Text("id"), nil).Want(http.StatusNoContent)
			c.Do(http.MethodPut, user+"/lines/"+l.Text("id"), nil).Want(http.StatusNoContent)
			lines = append(lines, l)
		}
		c.Do(http.MethodPut, user+"/services/dnd", object{"enabled": true}).Want(http.StatusNoContent)
		want := map[string]object{
			"summary": {
				"id": u["id"], "uuid": u["uuid"], "firstname": "Al", "lastname": "Bo", "email": "al@example.org", "enabled": true,
				"provisioning_code": lines[0]["provisioning_code"], "extension": "1002", "context": inside["name"], "protocol": "sip",
				"subscription_type": json.Number("0"), "is_webrtc": false,
			},
			"directory": {
				"id": u["id"], "uuid": u["uuid"], "line_id": lines[0]["id"], "agent_id": nil, "firstname": "Al", "lastname": "Bo",
				"email": "al@example.org", "exten": "1002", "mobile_phone_number": "5551", "voicemail_number": "1001", "userfield": "f",
				"description": "d", "context": inside["name"],
			},
			"line_presence": {
				"uuid": u["uuid"], "tenant_uuid": u["tenant_uuid"], "services": map[string]any{"dnd": map[string]any{"enabled": true}}, "lines": []any{
					map[string]any{"id": lines[0]["id"], "name": "sip1002", "protocol": "sip"}, map[string]any{"id": lines[1]["id"], "name": "sip1001", "protocol": "sip"},
				},
			},
		}
		for view, item := range want {
			l := c.Get("/users?view=" + view + "&order=firstname").List()
			if l.Total != 2 || !reflect.DeepEqual(l.Items[0], item) {
				t.Errorf("%s: %v, want %v", view, l.Items, item)
			}
			if view != "line_presence" { // a user without a line
				if without := l.Items[1]; without.Text("firstname") != "Zoe" || without.Text("context") != "<null>" || len(without) != len(item) {
					t.Errorf("%s: %v", view, without)
				}
			}
			if l := c.Get("/users?view=" + view + "&exten=1001&limit=1").List(); l.Total != 1 || l.Items[0].Text("uuid") != u.Text("uuid") {
				t.Errorf("%s: %v", view, l)
			}
			if l := w.as(t, "b").Get("/users?recurse=true&view=" + view).List(); l.Total != 0 {
				t.Errorf("%s: another tenant sees %v", view, l)
			}
			c.Get("/users?fields=uuid&view=" + view).Want(http.StatusBadRequest).Says("fields: ['Cannot be sent together with view")
		}
		for _, view := range []string{"", "x", "Summary", "summary,directory"} {
			c.Get("/users?view=" + view).Want(http.StatusBadRequest).Says("view '" + view + "' does not exist")
		}
	})
}

// What a summary says of the main line: a telephone in a browser is one by its template too, and only others are set up by a code.
func TestSummaryOfMainLines(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		browser := c.Create("/endpoints/sip/templates", object{"endpoint_section_options": pairs("webrtc=yes")})
		codes := map[string]any{}
		for name, endpoint := range map[string]object{
			"desk": {"endpoint_sip": object{}}, "own": {"endpoint_sip": object{"endpoint_section_options": pairs("webrtc=yes")}},
			"template": {"endpoint_sip": object{"templates": uses(browser)}}, "custom": {"endpoint_custom": object{"interface": "Local/1@x"}},
		} {
			line := object{"context": "default"}
			maps.Copy(line, endpoint)
			codes[name] = at(c.Create("/users", object{"firstname": name, "subscription_type": 2, "lines": []any{line}}), "lines.0.provisioning_code")
		}
		c.Create("/users", object{"firstname": "none"})
		for _, item := range c.Get("/users?view=summary").List().Items {
			name := item.Text("firstname")
			webrtc := name == "own" || name == "template"
			var code any
			if name == "desk" {
				code = codes[name]
			}
			if item["is_webrtc"] != webrtc || item["provisioning_code"] != code || item.Text("subscription_type") != "2" && name != "none" {
				t.Errorf("%v", item)
			}
		}
	})
}

// statements keeps the SQL of a database's transactions that read.
type statements struct {
	store.DB

	mu  sync.Mutex
	sql []string
}

func (s *statements) InReadTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	return s.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error { return fn(ctx, kept{c, s}) })
}

type kept struct {
	store.Conn
	in *statements
}

func (k kept) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	k.in.mu.Lock()
	k.in.sql = append(k.in.sql, sql)
	k.in.mu.Unlock()
	return k.Conn.Query(ctx, sql, args...)
}

// A list does not load linked objects that the client did not choose.
func TestChosenFieldsSaveQueries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		counted := &statements{DB: db}
		c := newWorld(t, counted).as(t, "a")
		user := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		l, e := c.Create("/lines", object{"context": "default"}), c.Create("/endpoints/custom", object{"interface": "Local/1@x"})
		v, g := c.Create("/voicemails", object{"name": "Al", "number": "1001", "context": "default"}), c.Create("/groups", object{"label": "g"})
		for _, path := range []string{user + "/voicemails/" + v.Text("id"), "/lines/" + l.Text("id") + "/endpoints/custom/" + e.Text("id"), user + "/lines/" + l.Text("id")} {
			c.Do(http.MethodPut, path, nil).Want(http.StatusNoContent)
		}
		c.Do(http.MethodPut, user+"/groups", object{"groups": []any{object{"uuid": g["uuid"]}}}).Want(http.StatusNoContent)
		loads := func(query string) (tables []string) {
			counted.sql = nil
			c.Get("/users" + query).List()
			for _, table := range []string{"confd_user_line", "confd_user_voicemail", "confd_group_user"} {
				if slices.ContainsFunc(counted.sql, func(sql string) bool { return strings.Contains(sql, "FROM "+table+" AS ") }) {
					tables = append(tables, table)
				}
			}
			return tables
		}
		for query, want := range map[string][]string{
			"": {"confd_user_line", "confd_user_voicemail", "confd_group_user"}, "?fields=uuid,firstname": nil,
			"?fields=lines": {"confd_user_line"}, "?fields=id,groups,voicemail": {"confd_user_voicemail", "confd_group_user"},
			"?view=summary": nil, "?view=directory": nil, "?view=line_presence": {"confd_user_line"},
		} {
			if got := loads(query); !reflect.DeepEqual(got, want) {
				t.Errorf("%q loads %q, want %q", query, got, want)
			}
		}
	})
}
