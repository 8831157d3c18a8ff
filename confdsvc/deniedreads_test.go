package confdsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Whoever is denied to read an object by its own path does not find it in a list either, whatever the list is asked for, and pages and
// totals are those of a list without it.
func TestDeniedObjectsAreNotListed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		d := newDoorkeeper(t, w.svc)
		var users []object
		for n := range 7 {
			users = append(users, c.Create("/users", object{"firstname": fmt.Sprintf("User %d", n), "subscription_type": n % 2}))
		}
		me := users[6].Text("uuid")
		for _, test := range []struct {
			denied []string
			hidden []int
		}{
			{[]string{"confd.users." + users[2].Text("uuid") + ".read"}, []int{2}},
			{[]string{"confd.users." + strings.ToUpper(users[2].Text("uuid")) + ".read"}, []int{2}},
			{[]string{"confd.users." + users[2].Text("id") + ".read", "confd.*." + users[4].Text("uuid") + ".#"}, []int{2, 4}},
			{[]string{"confd.users.me.read"}, []int{6}},
			{[]string{"confd.users.*.read"}, []int{0, 1, 2, 3, 4, 5, 6}},
			{[]string{"confd.users.0" + users[2].Text("id") + ".read", "confd.users." + users[3].Text("id") + ".lines.read", "confd.lines.#"}, nil},
		} {
			patterns := []string{"confd.#"}
			for _, denied := range test.denied {
				patterns = append(patterns, "!"+denied)
			}
			caller := d.holding(t, w.tenants["a"], me, patterns...)
			var want []string
			for n, u := range users {
				status := http.StatusOK
				if slices.Contains(test.hidden, n) {
					status = http.StatusForbidden
				} else {
					want = append(want, u.Text("uuid"))
				}
				caller.Get("/users/" + u.Text("uuid")).Want(status)
			}
			for _, query := range []string{"", "&search=User", "&recurse=true", "&fields=uuid", "&view=summary", "&view=directory", "&view=line_presence"} {
				if l := caller.Get("/users?order=firstname" + query).List(); l.Total != len(want) || !slices.Equal(l.Column("uuid"), want) {
					t.Errorf("%q, %s: %d, %v, want %v", test.denied, query, l.Total, l.Column("uuid"), want)
				}
				var paged []string
				for offset := 0; offset < 7; offset += 2 {
					l := caller.Get(fmt.Sprintf("/users?order=firstname&limit=2&offset=%d%s", offset, query)).List()
					if paged = append(paged, l.Column("uuid")...); l.Total != len(want) || len(l.Items) != max(0, min(2, len(want)-offset)) {
						t.Errorf("%q, %s: a page at %d has %d of %d", test.denied, query, offset, len(l.Items), l.Total)
					}
				}
				if !slices.Equal(paged, want) {
					t.Errorf("%q, %s: pages of %v, want %v", test.denied, query, paged, want)
				}
			}
			for _, n := range test.hidden {
				if l := caller.Get("/users?uuid=" + users[n].Text("uuid")).List(); l.Total != 0 || len(l.Items) != 0 {
					t.Errorf("%q: a filter finds %v", test.denied, l.Items)
				}
			}
			if slices.Contains(test.denied, "confd.users.*.read") {
				continue // the others are read by paths of that form, too
			}
			if rows := exported(caller); len(rows) != len(want) {
				t.Errorf("%q: %d users are exported, want %d", test.denied, len(rows), len(want))
			}
			counted := 0
			for _, of := range caller.Get("/users/subscriptions").List().Items {
				n, err := strconv.Atoi(of.Text("count"))
				if err != nil {
					t.Fatal(err)
				}
				counted += n
			}
			if counted != len(want) {
				t.Errorf("%q: %d users are counted, want %d", test.denied, counted, len(want))
			}
		}
		d.holding(t, w.tenants["a"], me, "confd.#", "!confd.users.read").Get("/users/export").Want(http.StatusForbidden)
	})
}

// No collection lists what it refuses to show.
func TestNoCollectionListsDeniedObjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "master")
		everyKind(c)
		d := newDoorkeeper(t, w.svc)
		lists := 0
		for _, op := range w.svc.Operations {
			one := op.Path + "/{"
			if op.Method != http.MethodGet || strings.Contains(op.Path, "{") || !slices.ContainsFunc(w.svc.Operations, func(o rest.Operation) bool {
				return o.Method == http.MethodGet && strings.HasPrefix(o.Path, one) && strings.Count(o.Path, "/") == strings.Count(one, "/")
			}) {
				continue
			}
			if strings.Contains(op.Path, "/me/") { // one's own: the caller is nobody who telephones
				c.Get(op.Path).Want(http.StatusNotFound)
				continue
			}
			all := c.Get(op.Path).List()
			if len(all.Items) == 0 {
				continue
			}
			lists++
			access := "confd" + strings.ReplaceAll(op.Path, "/", ".")
			for _, key := range []string{"uuid", "id"} {
				value := all.Items[0].Text(key)
				if c.Get(op.Path+"/"+value).Status != http.StatusOK {
					continue // its path has another key
				}
				caller := d.holding(t, w.tenants["master"], uuid.NewString(), "confd.#", "!"+access+"."+value+".read")
				if got := caller.Get(op.Path + "/" + value); got.Status != http.StatusForbidden {
					t.Errorf("GET %s/%s: %d", op.Path, value, got.Status)
				}
				l := caller.Get(op.Path).List()
				if l.Total != all.Total-1 || len(l.Items) != len(all.Items)-1 || slices.Contains(l.Column(key), value) {
					t.Errorf("GET %s without %s: %d of %d, %v", op.Path, value, len(l.Items), l.Total, l.Column(key))
				}
			}
		}
		if lists < 12 {
			t.Errorf("only %d lists", lists)
		}
	})
}

// What is denied is not shown as a part of something else either.
func TestDeniedObjectsAreNotEmbedded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		user, line := "/users/"+al.Text("uuid"), fmt.Sprint(at(al, "lines.0.id"))
		number, box, incall := fmt.Sprint(at(al, "lines.0.extensions.0.id")), fmt.Sprint(at(al, "voicemail.id")), fmt.Sprint(at(al, "incalls.0.id"))
		sip := at(al, "lines.0.endpoint_sip.uuid").(string)
		groupID := c.Get("/groups/" + c.group).Object().Text("id")
		template, transport := c.Create("/endpoints/sip/templates", object{"label": "T"}).Text("uuid"), w.as(t, "master").Create("/sip/transports", object{"name": "udp"}).Text("uuid")
		c.Do(http.MethodPut, "/endpoints/sip/"+sip, object{"templates": []any{object{"uuid": template}}, "transport": object{"uuid": transport}}).Want(http.StatusNoContent)
		music := c.Create("/moh", object{"label": "M", "mode": "files"})
		c.Do(http.MethodPut, user, object{"music_on_hold": music["name"]}).Want(http.StatusNoContent)
		bo := c.Create("/users", object{"firstname": "Bo"}).Text("uuid")
		pickup := c.Create("/callpickups", object{"name": "Both"}).Text("id")
		for side, one := range map[string]string{"interceptors": al.Text("uuid"), "targets": bo} {
			c.Do(http.MethodPut, "/callpickups/"+pickup+"/"+side+"/users", object{"users": []any{object{"uuid": one}}}).Want(http.StatusNoContent)
		}
		c.Do(http.MethodPut, "/users/"+bo+"/fallbacks", object{"busy_destination": object{"type": "user", "user_id": al["id"]}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+bo+"/funckeys/1", keyTo("user", "user_id", al["id"])).Want(http.StatusNoContent)
		for _, test := range []struct{ denied, path, attribute, shown string }{
			{"confd.voicemails." + box + ".read", user, "voicemail", "<nil>"},
			{"confd.voicemails." + box + ".read", "/users?firstname=Al", "items.0.voicemail", "<nil>"},
			{"confd.voicemails." + box + ".read", "/users?firstname=Al&view=directory", "items.0.voicemail_number", "<nil>"},
			{"confd.voicemails." + box + ".read", user + "/voicemails", "items", "[]"},
			{"confd.users." + al.Text("id") + ".voicemails.read", "/users?firstname=Al&view=directory", "items.0.voicemail_number", "<nil>"},
			{"confd.lines." + line + ".read", user, "lines", "[]"},
			{"confd.lines." + line + ".read", "/extensions/" + number, "lines", "[]"},
			{"confd.lines." + line + ".read", "/endpoints/sip/" + sip, "line", "<nil>"},
			{"confd.lines." + line + ".read", "/users?firstname=Al&view=summary", "items.0.provisioning_code", "<nil>"},
			{"confd.lines." + line + ".read", "/users?firstname=Al&view=line_presence", "items.0.lines", "[]"},
			{"confd.extensions." + number + ".read", user, "lines.0.extensions", "[]"},
			{"confd.extensions." + number + ".read", "/lines/" + line, "extensions", "[]"},
			{"confd.extensions." + number + ".read", "/users?firstname=Al&view=directory", "items.0.exten", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", user, "lines.0.endpoint_sip", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", user, "lines.0.name", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", "/lines/" + line, "name", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", "/lines", "items.0.caller_id_name", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", "/extensions/" + number, "lines.0.name", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", "/users?firstname=Al&view=line_presence", "items.0.lines.0.name", "<nil>"},
			{"confd.endpoints.sip." + sip + ".read", "/users?firstname=Al&view=summary", "items.0.protocol", "<nil>"},
			{"confd.users." + al.Text("id") + ".read", "/lines/" + line, "caller_id_name", "<nil>"},
			{"confd.users.me.read", "/lines/" + line, "caller_id_num", "<nil>"},
			{"confd.endpoints.sip.templates." + template + ".read", "/endpoints/sip/" + sip, "templates", "[]"},
			{"confd.endpoints.sip.templates." + template + ".read", "/endpoints/sip", "items.0.templates", "[]"},
			{"confd.endpoints.sip.templates." + template + ".read", "/users/" + al.Text("uuid") + "/lines/main/associated/endpoints/sip", "templates", "[]"},
			{"confd.sip.transports." + transport + ".read", "/endpoints/sip/" + sip, "transport", "<nil>"},
			{"confd.moh." + music.Text("uuid") + ".read", user, "music_on_hold", "<nil>"},
			{"confd.moh.*.read", "/users?firstname=Al", "items.0.music_on_hold", "<nil>"},
			{"confd.callpickups." + pickup + ".read", user, "call_pickup_target_users", "[]"},
			{"confd.groups." + c.group + ".read", user, "groups", "[]"},
			{"confd.groups." + groupID + ".read", user, "groups", "[]"},
			{"confd.incalls." + incall + ".read", user, "incalls", "[]"},
			{"confd.users.me.read", "/groups/" + c.group, "members.users", "[]"},
			{"confd.users." + al.Text("id") + ".read", "/voicemails/" + box, "users", "[]"},
			{"confd.users." + al.Text("uuid") + ".read", "/lines/" + line, "users", "[]"},
			{"confd.users." + al.Text("uuid") + ".read", "/users/" + bo + "/fallbacks", "busy_destination.user_firstname", "<nil>"},
			{"confd.users." + al.Text("uuid") + ".read", "/users/" + bo + "/funckeys", "keys.1.destination.user_firstname", "<nil>"},
		} {
			if all := at(c.Get(test.path).Object(), test.attribute); fmt.Sprint(all) == test.shown {
				t.Errorf("%s shows everybody %s: %v", test.path, test.attribute, all)
			}
			caller := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!"+test.denied)
			if got := at(caller.Get(test.path).Want(http.StatusOK).Object(), test.attribute); fmt.Sprint(got) != test.shown {
				t.Errorf("%s shows %s without %s: %v", test.path, test.attribute, test.denied, got)
			}
		}
		row := exported(d.holding(t, w.tenants["a"], bo, "confd.#", "!confd.voicemails."+box+".read", "!confd.lines."+line+".read", "!confd.incalls.*.read"))["Al"]
		for _, column := range []string{"voicemail_number", "voicemail_name", "provisioning_code", "exten", "sip_username", "incall_exten"} {
			if row[column] != "" {
				t.Errorf("the export has %s: %q", column, row[column])
			}
		}
		// The SIP endpoint of a user's line is that endpoint, and the main line stays the main line.
		d.holding(t, w.tenants["a"], bo, "confd.#", "!confd.endpoints.sip."+sip+".read").Get(user + "/lines/main/associated/endpoints/sip").Want(http.StatusForbidden)
		d.holding(t, w.tenants["a"], bo, "confd.#", "!confd.lines."+line+".read").Get(user + "/lines/main/associated/endpoints/sip").Want(http.StatusOK)
		// Whether a line is a browser's is told by its endpoint, and by the endpoint's templates.
		c.Do(http.MethodPut, "/endpoints/sip/templates/"+template, object{"endpoint_section_options": []any{[]string{"webrtc", "yes"}}}).Want(http.StatusNoContent)
		for denied, told := range map[string]bool{"sip.1.read": true, "sip." + sip + ".read": false, "sip.templates." + template + ".read": false} {
			if got := d.holding(t, w.tenants["a"], bo, "confd.#", "!confd.endpoints."+denied).Get("/lines/" + line).Object()["is_webrtc"]; got != told {
				t.Errorf("without %s is_webrtc is %v", denied, got)
			}
		}
	})
}

// What is denied of an object by a path of its own is not shown in the whole object, and what was read so can be written back.
func TestDeniedPartsAreNotShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		user := "/users/" + al.Text("uuid")
		c.Do(http.MethodPut, user+"/services", object{"dnd": object{"enabled": true}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, user+"/fallbacks", object{"fail_destination": object{"type": "none"}}).Want(http.StatusNoContent)
		template := c.Create("/funckeys/templates", object{"name": "T", "keys": object{"2": keyTo("service", "service", "enablednd")}}).Text("id")
		c.Do(http.MethodPut, user+"/funckeys/templates/"+template, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/groups/"+c.group+"/fallbacks", object{"noanswer_destination": object{"type": "none"}}).Want(http.StatusNoContent)
		context := "/contexts/" + fmt.Sprint(at(c.Get("/contexts?name="+c.in).Object(), "items.0.id"))
		off := "map[destination:<nil> enabled:false]"
		forwards, services := "map[busy:"+off+" noanswer:"+off+" unconditional:"+off+"]", "map[dnd:map[enabled:false] incallfilter:map[enabled:false]]"
		none := "map[busy_destination:<nil> congestion_destination:<nil> fail_destination:<nil> noanswer_destination:<nil>]"
		for _, test := range []struct{ denied, path, attribute, shown string }{
			{"confd.users.me.forwards.read", user, "forwards", forwards},
			{"confd.users.*.forwards.busy.read", "/users?firstname=Al", "items.0.forwards", forwards},
			{"confd.users." + al.Text("id") + ".forwards.*.read", user + "?fields=forwards", "forwards", forwards},
			{"confd.users." + al.Text("id") + ".services.dnd.read", user, "services", services},
			{"confd.users." + al.Text("uuid") + ".services.read", "/users?firstname=Al&view=line_presence", "items.0.services", "map[dnd:map[enabled:false]]"},
			{"confd.users.*.fallbacks.read", user, "fallbacks", none},
			{"confd.users.*.voicemail.read", user, "voicemail", "<nil>"},
			{"confd.users.*.voicemails.read", "/users?firstname=Al", "items.0.voicemail", "<nil>"},
			{"confd.users.*.funckeys.templates.read", user, "func_key_template_id", "<nil>"},
			{"confd.users." + al.Text("id") + ".funckeys.templates.read", "/funckeys/templates/" + template + "/users", "items", "[]"},
			{"confd.users." + al.Text("id") + ".read", "/funckeys/templates/" + template + "/users", "items", "[]"},
			{"confd.funckeys.templates." + template + ".2.read", "/funckeys/templates", "items.0.keys", "map[]"},
			{"confd.groups." + c.group + ".fallbacks.read", "/groups", "items.0.fallbacks", "map[congestion_destination:<nil> noanswer_destination:<nil>]"},
			{"confd.contexts.*.ranges.user.read", context, "user_ranges", "[]"},
		} {
			if all := at(c.Get(test.path).Object(), test.attribute); fmt.Sprint(all) == test.shown {
				t.Errorf("%s shows everybody %s: %v", test.path, test.attribute, all)
			}
			caller := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!"+test.denied)
			if got := at(caller.Get(test.path).Want(http.StatusOK).Object(), test.attribute); fmt.Sprint(got) != test.shown {
				t.Errorf("%s shows %s without %s: %v", test.path, test.attribute, test.denied, got)
			}
		}
		d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!confd.users.*.forwards.busy.read").Get(user + "/forwards").Want(http.StatusForbidden)

		before := c.Get(user).Body
		caller := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!confd.users.*.forwards.busy.read", "!confd.users.*.voicemails.read",
			"!confd.users.*.funckeys.templates.read", "!confd.users.*.fallbacks.read")
		read := caller.Get(user).Want(http.StatusOK)
		for _, path := range []string{user, user + "?recursive=true"} {
			caller.Do(http.MethodPut, path, read.Body, resttest.IfMatch(read.Header.Get("ETag"))).Want(http.StatusNoContent)
			if after := c.Get(user).Body; after != before {
				t.Errorf("PUT %s of what was read: %s, before %s", path, after, before)
			}
		}
		narrow := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.contexts.*.ranges.*.read")
		ranges := c.Get(context).Body
		narrow.Do(http.MethodPut, context, narrow.Get(context).Body).Want(http.StatusNoContent)
		if after := c.Get(context).Body; after != ranges {
			t.Errorf("the ranges are %s, before %s", after, ranges)
		}
	})
}

// What names a denied object is not shown, and stays as it is when what was read is written back. A list with such a name is not replaced.
func TestDeniedNamesStay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		template, other := c.Create("/endpoints/sip/templates", object{"label": "T"}).Text("uuid"), c.Create("/endpoints/sip/templates", object{"label": "O"}).Text("uuid")
		of := func(uuids ...string) object {
			list := []any{}
			for _, one := range uuids {
				list = append(list, object{"uuid": one})
			}
			return object{"templates": list}
		}
		sip := "/endpoints/sip/" + c.Create("/endpoints/sip", of(template, other)).Text("uuid")
		before := c.Get(sip).Body
		caller := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.endpoints.sip.templates."+template+".read")
		read := caller.Get(sip).Want(http.StatusOK)
		if l := at(read.Object(), "templates").([]any); len(l) != 1 {
			t.Errorf("the templates are %v", l)
		}
		caller.Do(http.MethodPut, sip, read.Body, resttest.IfMatch(read.Header.Get("ETag"))).Want(http.StatusNoContent)
		caller.Do(http.MethodPut, sip, of()).Want(http.StatusForbidden).Says(template + ".read")
		caller.Do(http.MethodPut, sip, of(template)).Want(http.StatusForbidden)
		if after := c.Get(sip).Body; after != before {
			t.Errorf("the endpoint is %s, before %s", after, before)
		}
		caller.Do(http.MethodPut, sip, object{"label": "L"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, sip, of()).Want(http.StatusNoContent)
		caller.Do(http.MethodPut, sip, of(other)).Want(http.StatusNoContent)
	})
}

// What a list does not show to a caller is not taken away when they write the list back.
func TestDeniedLinksStayInLists(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		al := c.Create("/users", c.user("1001"))
		user := "/users/" + al.Text("uuid")
		for _, test := range []struct {
			denied, path string
			body         object
		}{
			{"confd.users.me.read", "/groups/" + c.group + "/members/users", object{"users": []any{}}},
			{"confd.groups." + c.group + ".read", user + "/groups", object{"groups": []any{}}},
			{"confd.groups." + c.group + ".read", user + "?recursive=true", object{"groups": []any{}}},
			{"confd.lines.*.read", user + "/lines", object{"lines": []any{}}},
			{"confd.lines.*.read", user + "?recursive=true", object{"lines": []any{}}},
			{"confd.voicemails.*.read", user + "?recursive=true", object{"voicemail": nil}},
			{"confd.incalls.*.read", user + "?recursive=true", object{"incalls": []any{}}},
		} {
			before := counts(t, db)
			d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.#", "!"+test.denied).Do(http.MethodPut, test.path, test.body).Want(http.StatusForbidden).Says("read")
			if after := counts(t, db); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s by %s left something: %v, before %v", test.denied, test.path, after, before)
			}
		}
	})
}

// Replies that are read together each show what their own caller may read.
func TestDeniedObjectsInRepliesAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, c, d := guardedCompany(t, db)
		denied := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#", "!confd.groups."+c.group+".read", "!confd.users.*.forwards.read")
		all := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.#")
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() {
				caller, groups, busy := all, 1, true
				if n%2 == 0 {
					caller, groups, busy = denied, 0, false
				}
				made := caller.Do(http.MethodPost, "/users", c.user(fmt.Sprint(1001+n))).Want(http.StatusCreated).Object()
				if got := at(made, "groups").([]any); len(got) != groups || at(made, "forwards.busy.enabled") != busy {
					t.Errorf("%d: groups %v, forwards %v", n, got, made["forwards"])
				}
			})
		}
		wg.Wait()
	})
}
