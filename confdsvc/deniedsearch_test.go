package confdsvc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Whoever is denied to read an object, or that it is linked, does not find others by it: filters, searches and orders are as if it was not
// there.
func TestDeniedObjectsFindNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		id, line := al.Text("id"), fmt.Sprint(at(al, "lines.0.id"))
		code := c.Get("/lines/" + line).Object().Text("provisioning_code")
		number, box, incall := fmt.Sprint(at(al, "lines.0.extensions.0.id")), fmt.Sprint(at(al, "voicemail.id")), fmt.Sprint(at(al, "incalls.0.id"))
		incoming := fmt.Sprint(at(c.Get("/incalls/"+incall).Object(), "extensions.0.id"))
		sip := at(al, "lines.0.endpoint_sip.uuid").(string)
		label := c.Get("/endpoints/sip/" + sip).Object().Text("name")
		inContext := fmt.Sprint(at(c.Get("/contexts?name="+c.in).Object(), "items.0.id"))
		grouped := c.Create("/extensions", object{"exten": "2001002001", "context": withRanges(c.Client, "internal", object{"group_ranges": []object{{"start": "2000000000", "end": "2999999999"}}})}).Text("id")
		c.Do("PUT", "/groups/"+c.group+"/extensions/"+grouped, nil).Want(204)
		for _, test := range []struct {
			list   string
			denied []string
			by     []string
		}{
			{"/users", []string{"extensions." + number, "lines." + line, "extensions.*", "lines.*"}, []string{"exten=1001", "extension=1001", "exten=1,1001", "search=1001"}},
			{"/users", []string{"lines." + line}, []string{"context=" + c.in, "provisioning_code=" + code, "search=" + code}},
			{"/users", []string{"voicemails." + box, "users." + id + ".voicemail", "users." + al.Text("uuid") + ".voicemails", "users.*.voicemail", "users.me.voicemails"}, []string{"voicemail_number=1001"}},
			{"/incalls", []string{"extensions." + incoming, "extensions.*"}, []string{"exten=5551001", "search=5551001"}},
			{"/incalls", []string{"users." + id, "users." + al.Text("uuid"), "users.me"}, []string{"user_id=" + id}},
			{"/groups", []string{"extensions." + grouped}, []string{"exten=2001002001", "search=2001002001"}},
			{"/lines", []string{"extensions." + number}, []string{"exten=1001"}},
			{"/lines", []string{"endpoints.sip." + sip, "endpoints.sip.*"}, []string{"name=" + label, "protocol=sip", "search=" + label}},
			{"/extensions", []string{"contexts." + inContext}, []string{"exten=1001&type=internal"}},
		} {
			for _, denied := range test.denied {
				caller := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!confd."+denied+".read")
				for _, query := range test.by {
					for _, more := range []string{"", "&limit=10", "&recurse=true"} {
						if all := c.Get(test.list + "?" + query + more).List(); all.Total != 1 || len(all.Items) != 1 {
							t.Errorf("%s?%s finds %d for everybody", test.list, query+more, all.Total)
						}
						if l := caller.Get(test.list + "?" + query + more).Want(200).List(); l.Total != 0 || len(l.Items) != 0 {
							t.Errorf("%s?%s finds %d without %s", test.list, query+more, l.Total, denied)
						}
					}
				}
				// What else the caller may read is found as before.
				if l := caller.Get(test.list).Want(200).List(); l.Total == 0 {
					t.Errorf("%s has nothing without %s", test.list, denied)
				}
			}
		}
		other := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.extensions."+incoming+".read", "!confd.voicemails.1"+box+".read", "!confd.users.me.voicemails.read")
		for _, query := range []string{"exten=1001", "search=1001", "voicemail_number=1001", "context=" + c.in} {
			if l := other.Get("/users?" + query).Want(200).List(); l.Total != 1 {
				t.Errorf("/users?%s finds %d without something else", query, l.Total)
			}
		}
	})
}

// An order by what a caller is denied tells nothing of it, on any page.
func TestDeniedObjectsOrderNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		var users, boxes []string
		for _, number := range []string{"1003", "1002", "1001"} {
			u := c.Create("/users", c.user(number))
			users, boxes = append(users, u.Text("id")), append(boxes, fmt.Sprint(at(u, "voicemail.id")))
		}
		caller := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.voicemails."+boxes[2]+".read")
		for _, test := range []struct {
			query string
			want  []string
		}{
			{"order=voicemail_number", []string{users[1], users[0], users[2]}},
			{"order=voicemail_number&direction=desc", []string{users[0], users[1], users[2]}},
			{"order=voicemail_number&limit=2", []string{users[1], users[0]}},
			{"order=voicemail_number&limit=2&offset=2", []string{users[2]}},
			{"order=voicemail_number&search=al&limit=3", []string{users[1], users[0], users[2]}},
			{"order=voicemail_number&search=al&limit=1&offset=2&recurse=true", []string{users[2]}},
		} {
			if l := caller.Get("/users?" + test.query).Want(200).List(); !slices.Equal(l.Column("id"), test.want) || l.Total != 3 {
				t.Errorf("%s: %v of %d, want %v", test.query, l.Column("id"), l.Total, test.want)
			}
		}
	})
}

// What a caller with denials reads instead of a view is the view.
func TestSourcesAreTheirViews(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		_, c, _ := guardedCompany(t, db)
		c.Create("/users", c.user("1001"))
		c.Create("/lines", object{"context": c.in})
		custom := c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "local/1"}}).Text("id")
		bo := c.Create("/users", object{"firstname": "Bo"}).Text("uuid")
		c.Do("PUT", "/users/"+bo+"/lines/"+custom, nil).Want(204)
		pickup := "/callpickups/" + c.Create("/callpickups", object{"name": "All"}).Text("id")
		for _, side := range []string{"/interceptors", "/targets"} {
			c.Do("PUT", pickup+side+"/groups", object{"groups": []any{object{"id": c.Get("/groups/" + c.group).Object()["id"]}}}).Want(204)
			c.Do("PUT", pickup+side+"/users", object{"users": []any{object{"uuid": bo}}}).Want(204)
		}
		for _, view := range confdsvc.ViewSources() {
			query := "SELECT * FROM (" + strings.NewReplacer("{+", "", "{", "", "}", "").Replace(view.Query) + ") AS query"
			for _, sql := range []string{"SELECT * FROM " + view.Table + " EXCEPT " + query, query + " EXCEPT SELECT * FROM " + view.Table} {
				if n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM ("+sql+") AS other"); n != 0 || err != nil {
					t.Errorf("%s: %d rows differ, %v", view.Table, n, err)
				}
			}
			if n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM "+view.Table); n < 2 || err != nil {
				t.Errorf("%s has %d rows, %v", view.Table, n, err)
			}
		}
	})
}
