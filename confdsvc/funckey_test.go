package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["funckeys/templates"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
		Values:  func(int) object { return object{"keys": object{}} },
		Except:  []string{"keys"},
	}
}

// keyTo is a function key.
func keyTo(destination string, more ...any) object {
	d := object{"type": destination}
	for i := 0; i < len(more); i += 2 {
		d[more[i].(string)] = more[i+1]
	}
	return object{"destination": d}
}

// keysAt are the positions and destinations of the keys that a path shows: "1 custom 2 user".
func keysAt(c *resttest.Client, path string) string {
	c.T.Helper()
	keys, _ := c.Get(path).Want(http.StatusOK).Object()["keys"].(map[string]any)
	var out []string
	for position, key := range keys {
		key := key.(map[string]any)
		text := position + " " + fmt.Sprint(key["destination"].(map[string]any)["type"])
		if key["inherited"] == true {
			text += " inherited"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// A template's keys are stored and read back, each with what it leads to.
func TestFuncKeyTemplates(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := c.Create("/users", object{"firstname": "Al", "lastname": "B"})
		group := c.Create("/groups", object{"label": "Sales"})
		made := c.Create("/funckeys/templates", object{"name": "T", "keys": object{
			"1": keyTo("user", "user_id", user["id"]), "2": keyTo("group", "group_id", group["id"]),
			"3": keyTo("groupmember", "group_id", group["id"], "action", "join"), "4": keyTo("service", "service", "enablednd"),
			"5": keyTo("service", "service", "pickup"), "6": keyTo("custom", "exten", " 12*AB+ "), "7": keyTo("forward", "forward", "busy"),
			"8": keyTo("forward", "forward", "noanswer", "exten", " 12 "), "9": keyTo("transfer", "transfer", "blind"), "1000": keyTo("onlinerec"),
		}})
		path := "/funckeys/templates/" + made.Text("id")
		keys := made["keys"].(map[string]any)
		destination := func(position string) map[string]any {
			return keys[position].(map[string]any)["destination"].(map[string]any)
		}
		want := map[string]any{
			"type": "user", "user_id": user["id"], "user_firstname": "Al", "user_lastname": "B", "href": prefix + "/users/" + user.Text("id"),
		}
		if got := destination("1"); !reflect.DeepEqual(got, want) {
			t.Errorf("a key to a user reads %v, want %v", got, want)
		}
		if got := destination("2"); got["group_label"] != "Sales" || got["group_name"] != group["name"] || got["href"] != nil {
			t.Errorf("a key to a group reads %v", got)
		}
		if destination("6")["exten"] != "12*AB+" || destination("8")["exten"] != "12" || destination("7")["exten"] != nil {
			t.Errorf("numbers read %v, %v and %v", destination("6"), destination("7"), destination("8"))
		}
		for position, lamp := range map[string]bool{
			"1": true, "2": false, "3": true, "4": true, "5": false, "6": true, "7": true, "8": true, "9": false, "1000": false,
		} {
			if key := keys[position].(map[string]any); key["blf"] != lamp || key["inherited"] != true || key["id"] == nil {
				t.Errorf("%s: %v", position, key)
			}
		}
		if got := c.Get(path).Object(); !reflect.DeepEqual(got, made) {
			t.Errorf("created %v\nread    %v", made, got)
		}
		c.Do(http.MethodPut, path, made).Want(http.StatusNoContent) // what was read can be written back
		if got := c.Get(path).Object(); !reflect.DeepEqual(got, made) {
			t.Errorf("what was read was written back\nit was %v\nit is  %v", made, got)
		}
		c.Do(http.MethodPut, path, object{"name": nil}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); !reflect.DeepEqual(got["keys"], made["keys"]) {
			t.Errorf("another name changed the keys: %v", got)
		}

		// One position.
		if got := c.Get(path + "/1").Want(http.StatusOK).Body; !strings.Contains(got, `"user_firstname":"Al"`) {
			t.Errorf("a key by itself: %s", got)
		}
		tag := c.Get(path + "/1").Header.Get("ETag")
		c.Do(http.MethodPut, path+"/1", keyTo("custom", "exten", "1"), resttest.Header("If-Match", tag)).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/1", keyTo("custom", "exten", "2"), resttest.Header("If-Match", tag)).Want(http.StatusPreconditionFailed)
		c.Do(http.MethodDelete, path+"/1", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, path+"/1", nil).Want(http.StatusNotFound).Says("FuncKey was not found").Says("'position': 1)")
		c.Get(path + "/1").Want(http.StatusNotFound)
		for position, status := range map[string]int{"0": 400, "-1": 404, "01": 404, "x": 404, "99999999999999999999": 404, "1.0": 404} {
			c.Do(http.MethodPut, path+"/"+position, keyTo("custom", "exten", "3")).Want(status)
		}

		// What a key leads to takes the key with it.
		c.Do(http.MethodPut, path, object{"keys": object{"1": keyTo("user", "user_id", user["id"]), "2": keyTo("custom", "exten", "1")}}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/users/"+user.Text("id"), nil).Want(http.StatusNoContent)
		if got := keysAt(c, path); got != "2 custom inherited" {
			t.Errorf("after the user was deleted: %s", got)
		}
	})
}

func TestBadFuncKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		foreign, below := w.as(t, "b").Create("/users", object{"firstname": "B"}), w.as(t, "a1").Create("/users", object{"firstname": "A1"})
		path := "/funckeys/templates/" + c.Create("/funckeys/templates", object{}).Text("id")
		for _, key := range []object{
			keyTo("user"), keyTo("user", "user_id", nil), keyTo("user", "user_id", "1"), keyTo("group", "group_id", true), keyTo("nothing"),
			{},
			keyTo("custom", "exten", "a"), keyTo("custom", "exten", ""), keyTo("custom", "exten", "1\n"), keyTo("custom", "exten", nil), keyTo("forward", "forward", "x"),
			keyTo("forward", "exten", "1"), keyTo("service", "service", "x"), keyTo("transfer", "transfer", "x"), keyTo("groupmember", "group_id", 1),
			{"destination": nil},
			{"destination": object{"type": "onlinerec"}, "blf": "x"},
			{"destination": object{"type": "onlinerec"}, "blf": nil},
			{"destination": object{"type": "onlinerec"}, "label": "a\nb"},
		} {
			c.Do(http.MethodPut, path, object{"keys": object{"1": key}}).Want(http.StatusBadRequest).Says("Input Error - keys: {'1': ")
			c.Do(http.MethodPut, path+"/1", key).Want(http.StatusBadRequest).Says("Input Error - ")
		}
		for _, position := range []string{"0", "-1", "01", "x", "", "1.5", "99999999999999999999", " 1"} {
			c.Do(http.MethodPut, path, object{"keys": object{position: keyTo("onlinerec")}}).Want(http.StatusBadRequest).Says("keys")
		}
		for said, key := range map[string]object{
			"field 'user_id': User was not found ('user_id': 99999)":                 keyTo("user", "user_id", 99999),
			"field 'user_id': User was not found ('user_id': " + foreign.Text("id"):  keyTo("user", "user_id", foreign["id"]),
			"field 'user_id': User was not found ('user_id': " + below.Text("id"):    keyTo("user", "user_id", below["id"]),
			"field 'group_id': Group was not found":                                  keyTo("groupmember", "group_id", 9, "action", "leave"),
			"field 'queue_id': Queue was not found":                                  keyTo("queue", "queue_id", 9),
			"field 'conference_id': Conference was not found":                        keyTo("conference", "conference_id", 9),
			"field 'paging_id': Paging was not found":                                keyTo("paging", "paging_id", 9),
			"field 'parking_lot_id': ParkingLot was not found":                       keyTo("parking", "parking_lot_id", 9),
			"field 'parking_lot_id': ParkingLot was not found ('parking_lot_id': 8)": keyTo("park_position", "parking_lot_id", 8, "position", 701),
			"field 'filter_member_id': FilterMember was not found":                   keyTo("bsfilter", "filter_member_id", 9),
			"field 'agent_id': Agent was not found ('agent_id': 9)":                  keyTo("agent", "agent_id", 9, "action", "login"),
		} {
			c.Do(http.MethodPut, path, object{"keys": object{"1": key}}).Want(http.StatusBadRequest).Says("Input Error - " + said)
		}
		c.Do(http.MethodPut, path, object{"keys": object{"1": keyTo("custom", "exten", "1"), "2": keyTo("custom", "exten", " 1")}}).Want(http.StatusBadRequest).
			Says("Resource Error - destination already exists ('exten': '1')")
		if got := keysAt(c, path); got != "" {
			t.Errorf("what was refused left %s", got)
		}
	})
}

// A user has their own keys and, at the other positions, those of the template that they were given.
func TestUserFuncKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user, other := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Other"})
		path := "/users/" + user.Text("uuid") + "/funckeys"
		template := c.Create("/funckeys/templates", object{"name": "T", "keys": object{"1": keyTo("custom", "exten", "1"), "2": keyTo("custom", "exten", "2")}})
		if got := keysAt(c, path); got != "" {
			t.Errorf("a new user has %s", got)
		}
		give := path + "/templates/" + template.Text("id")
		stale := c.Get("/users/" + user.Text("id")).Header.Get("ETag")
		for range 2 {
			c.Do(http.MethodPut, give, nil).Want(http.StatusNoContent).Empty()
		}
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			c.Do(method, give, nil, resttest.IfMatch(stale)).Want(http.StatusPreconditionFailed)
		}
		if got := keysAt(c, path); got != "1 custom inherited, 2 custom inherited" {
			t.Errorf("with a template: %s", got)
		}
		if got := c.Get("/users/" + user.Text("id")).Object(); got.Text("func_key_template_id") != template.Text("id") {
			t.Errorf("func_key_template_id is %v", got["func_key_template_id"])
		}
		for _, list := range []string{path + "/templates", "/funckeys/templates/" + template.Text("id") + "/users"} {
			l := c.Get(list).Want(http.StatusOK).List()
			if l.Total != 1 || l.Items[0].Text("user_id") != user.Text("id") || l.Items[0].Text("template_id") != template.Text("id") || l.Items[0]["links"] == nil {
				t.Errorf("%s: %v", list, l)
			}
		}
		c.Do(http.MethodPut, path+"/2", keyTo("user", "user_id", other["id"])).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/3", keyTo("onlinerec")).Want(http.StatusNoContent)
		if got := keysAt(c, path); got != "1 custom inherited, 2 user, 3 onlinerec" {
			t.Errorf("with keys of their own: %s", got)
		}
		read := c.Get(path).Object()
		c.Do(http.MethodPut, path, read).Want(http.StatusNoContent) // inherited keys are left out
		if got := c.Get(path).Object(); !reflect.DeepEqual(got, read) {
			t.Errorf("what was read was written back\nit was %v\nit is  %v", read, got)
		}
		c.Do(http.MethodPut, path, object{"name": "Mine"}).Want(http.StatusNoContent)
		if got := keysAt(c, path); got != "1 custom inherited, 2 user, 3 onlinerec" {
			t.Errorf("a name changed the keys: %s", got)
		}
		c.Do(http.MethodPut, path+"/1", c.Get(path+"/1").Body).Want(http.StatusNoContent)                                        // still inherited
		c.Do(http.MethodDelete, path+"/1", nil, resttest.IfMatch(c.Get(path+"/1").Header.Get("ETag"))).Want(http.StatusNotFound) // as read, but not the user's own
		c.Do(http.MethodDelete, path+"/1", nil).Want(http.StatusNotFound)                                                        // it is not theirs
		c.Do(http.MethodDelete, path+"/3", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/users/"+other.Text("id"), nil).Want(http.StatusNoContent)
		if got := keysAt(c, path); got != "1 custom inherited, 2 custom inherited" {
			t.Errorf("after the other user was deleted: %s", got)
		}

		// Their own keys are no template for others, and no list has them.
		private := c.Get(path).Object().Text("id")
		if l := c.Get("/funckeys/templates").List(); l.Total != 1 {
			t.Errorf("templates: %v", l)
		}
		c.Do(http.MethodPut, path+"/templates/"+private, nil).Want(http.StatusBadRequest).
			Says("Resource Error - Operation not permitted. Cannot associate a private template with a user")
		c.Do(http.MethodPut, "/users/"+user.Text("id"), object{"func_key_template_id": 99999}).Want(http.StatusBadRequest).Says("FuncKeyTemplate was not found")
		c.Do(http.MethodDelete, "/funckeys/templates/"+private, nil).Want(http.StatusBadRequest).Says("Deleting private templates is not allowed")

		second := c.Create("/funckeys/templates", object{})
		c.Do(http.MethodPut, path+"/templates/"+second.Text("id"), nil).Want(http.StatusNoContent) // it takes the first one's place
		c.Do(http.MethodDelete, give, nil).Want(http.StatusNoContent)                              // which is theirs no more
		if l := c.Get(path + "/templates").List(); l.Total != 1 || l.Items[0].Text("template_id") != second.Text("id") {
			t.Errorf("%v", l)
		}
		c.Do(http.MethodDelete, "/funckeys/templates/"+second.Text("id"), nil).Want(http.StatusNoContent)
		if got := c.Get("/users/" + user.Text("id")).Object(); got["func_key_template_id"] != nil {
			t.Errorf("a deleted template is still theirs: %v", got["func_key_template_id"])
		}
		c.Do(http.MethodDelete, "/users/"+user.Text("id"), nil).Want(http.StatusNoContent)
		c.Get("/funckeys/templates/" + private).Want(http.StatusNotFound)
	})
}

func TestFuncKeysStayInATenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master, a, b := w.as(t, "master"), w.as(t, "a"), w.as(t, "b")
		user, foreign := a.Create("/users", object{"firstname": "Al"}), b.Create("/funckeys/templates", object{"keys": object{"1": keyTo("onlinerec")}})
		path, template := "/users/"+user.Text("id")+"/funckeys", "/funckeys/templates/"+foreign.Text("id")
		for _, c := range []struct {
			client       *resttest.Client
			method, path string
			body         any
			status       int
		}{
			{b, http.MethodGet, path, nil, 404},
			{b, http.MethodPut, path, object{"keys": object{}}, 404},
			{b, http.MethodGet, path + "/1", nil, 404},
			{b, http.MethodPut, path + "/1", keyTo("onlinerec"), 404},
			{b, http.MethodDelete, path + "/1", nil, 404},
			{b, http.MethodGet, path + "/templates", nil, 404},
			{a, http.MethodGet, template + "/1", nil, 404},
			{a, http.MethodPut, template + "/1", keyTo("onlinerec"), 404},
			{a, http.MethodDelete, template + "/1", nil, 404},
			{a, http.MethodGet, template + "/users", nil, 404},
			{a, http.MethodPut, path + "/templates/" + foreign.Text("id"), nil, 404},
			{b, http.MethodPut, path + "/templates/" + foreign.Text("id"), nil, 404},
			{a, http.MethodPut, "/users/" + user.Text("id"), object{"func_key_template_id": foreign["id"]}, 400},
			{master, http.MethodPut, "/users/" + user.Text("id"), object{"func_key_template_id": foreign["id"]}, 400},
			{master, http.MethodPut, path + "/templates/" + foreign.Text("id"), nil, 400},
		} {
			c.client.Do(c.method, c.path, c.body).Want(c.status).Says("")
		}
		master.Do(http.MethodPut, path+"/1", keyTo("onlinerec")).Want(http.StatusNoContent)
		if got := keysAt(a, path); got != "1 onlinerec" {
			t.Errorf("%s", got)
		}
	})
}

// Of the first keys of a user that are set at once all are kept.
func TestFirstFuncKeysAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id") + "/funckeys"
		var all sync.WaitGroup
		for n := range 6 {
			all.Go(func() {
				c.Do(http.MethodPut, fmt.Sprintf("%s/%d", path, n+1), keyTo("custom", "exten", fmt.Sprint(n))).Want(http.StatusNoContent)
			})
		}
		all.Wait()
		if got := keysAt(c, path); strings.Count(got, "custom") != 6 {
			t.Errorf("kept: %s", got)
		}
	})
}

func TestFuncKeyTypes(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	got := c.Get("/funckeys/destinations").Want(http.StatusOK)
	var types []object
	resttest.Decode(t, got.Body, &types)
	if len(types) != 15 {
		t.Errorf("%d types: %s", len(types), got.Body)
	}
	if want := `{"type":"user","parameters":[{"name":"user_id","collection":"` + prefix + `/users","values":[]}]}`; !strings.Contains(got.Body, want) {
		t.Errorf("no %s in %s", want, got.Body)
	}
}

// Who is denied to set or to delete one key does not do it by replacing all keys, whichever path they have, and may leave it as it is.
func TestDeniedFuncKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := c.Create("/users", object{"firstname": "Al"})
		id, uuid := user.Text("id"), user.Text("uuid")
		of := func(patterns ...string) *resttest.Client {
			t.Helper()
			set, err := acl.Compile(patterns)
			if err != nil {
				t.Fatal(err)
			}
			return resttest.To(t, w.svc, prefix, &principal.Principal{
				UserUUID: uuid, ACL: set, Affiliation: &principal.Affiliation{TenantUUID: w.tenants["a"], Purpose: "user"},
			})
		}
		first := object{"1": keyTo("custom", "exten", "1"), "2": keyTo("custom", "exten", "2"), "3": keyTo("onlinerec")}
		own := "/users/" + id + "/funckeys"
		c.Do(http.MethodPut, own, object{"keys": first}).Want(http.StatusNoContent)
		private := "/funckeys/templates/" + c.Get(own).Object().Text("id")
		public := "/funckeys/templates/" + c.Create("/funckeys/templates", object{"keys": first}).Text("id")
		others := object{"1": keyTo("custom", "exten", "9"), "2": keyTo("custom", "exten", "2"), "4": keyTo("transfer", "transfer", "blind")}
		for _, test := range []struct {
			path    string
			denials []string // for each position
		}{
			{own, []string{"confd.users." + id + ".funckeys", "confd.users." + uuid + ".funckeys", "confd.users.me.funckeys", "confd.users.*.funckeys"}},
			{"/users/" + uuid + "/funckeys", []string{"confd.users." + id + ".funckeys", "confd.users.*.funckeys"}},
			{private, []string{"confd.users.me.funckeys", "confd.users." + id + ".funckeys", "confd.funckeys.templates.*"}},
			{public, []string{"confd.funckeys.templates.*"}},
		} {
			for _, denied := range test.denials {
				for what, status := range map[string]int{
					".1.update": 403, ".1.delete": 204, ".2.update": 204, ".2.delete": 204, ".3.update": 204, ".3.delete": 403, ".4.update": 403, ".4.delete": 204, ".*.update": 403,
				} {
					c.Do(http.MethodPut, test.path, object{"keys": first}).Want(http.StatusNoContent)
					caller := of("confd.#", "!"+denied+what)
					got := caller.Do(http.MethodPut, test.path, object{"keys": others})
					if got.Status != status {
						t.Errorf("%s without %s: %d %s", test.path, denied+what, got.Status, got.Body)
					}
					c.Do(http.MethodPut, test.path, object{"keys": first}).Want(http.StatusNoContent)
					got = caller.Do(http.MethodPost, "/bulk", object{"operations": []any{object{"method": "PUT", "path": test.path, "body": object{"keys": others}}}})
					if (got.Status == http.StatusOK) != (status == http.StatusNoContent) {
						t.Errorf("%s without %s, in several operations: %d %s", test.path, denied+what, got.Status, got.Body)
					}
				}
			}
		}
		c.Do(http.MethodPut, own, object{"keys": first}).Want(http.StatusNoContent)
		for denied, one := range map[string]struct{ method, path string }{
			"confd.users.me.funckeys.update":             {http.MethodPut, private},
			"confd.users.me.funckeys.2.update":           {http.MethodPut, private + "/2"},
			"confd.users." + id + ".funckeys.2.delete":   {http.MethodDelete, private + "/2"},
			"confd.users." + id + ".funckeys.2.update":   {http.MethodPut, "/users/" + uuid + "/funckeys/2"},
			"confd.funckeys.templates.*.2.update":        {http.MethodPost, "/funckeys/templates"},
			"confd.users." + uuid + ".funckeys.2.delete": {http.MethodDelete, own + "/2"},
			"confd.users.*.funckeys.*.delete":            {http.MethodPut, own},
		} {
			var body any
			switch {
			case one.method == http.MethodPut && strings.HasSuffix(one.path, "/2"):
				body = keyTo("custom", "exten", "7")
			case one.method != http.MethodDelete:
				body = object{"keys": object{"2": keyTo("custom", "exten", "7")}}
			}
			of("confd.#", "!"+denied).Do(one.method, one.path, body).Want(http.StatusForbidden)
		}
		if got := keysAt(c, own); got != "1 custom, 2 custom, 3 onlinerec" {
			t.Errorf("%s", got)
		}
		of("confd.#", "!confd.funckeys.templates.#").Do(http.MethodPut, own, object{"keys": others}).Want(http.StatusNoContent)
	})
}

// Who is denied to read a user's keys, or one of them, does not read them by another path.
func TestDeniedFuncKeysAreNotRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		d := newDoorkeeper(t, w.svc)
		user := c.Create("/users", object{"firstname": "Al"})
		id, uuid := user.Text("id"), user.Text("uuid")
		own := "/users/" + id + "/funckeys"
		keys := object{"1": keyTo("custom", "exten", "1"), "2": keyTo("custom", "exten", "2")}
		c.Do(http.MethodPut, own, object{"keys": keys}).Want(http.StatusNoContent)
		private := "/funckeys/templates/" + c.Get(own).Object().Text("id")
		public := "/funckeys/templates/" + c.Create("/funckeys/templates", object{"keys": keys}).Text("id")
		access := "confd" + strings.ReplaceAll(public, "/", ".")
		entries, err := store.Select[string](t.Context(), db, `SELECT resource || ' ' || object FROM audit WHERE after LIKE '%custom%' ORDER BY id`)
		if err != nil || strings.Join(entries, ", ") != "users/funckeys "+id+", funckeys/templates "+public[len("/funckeys/templates/"):] {
			t.Errorf("in the audit: %v %v", entries, err)
		}
		for denied, refused := range map[string][]string{
			"confd.users." + uuid + ".funckeys.read":   {private, own, "/users/" + uuid + "/funckeys"},
			"confd.users." + id + ".funckeys.read":     {private, own, "/users/" + uuid + "/funckeys"},
			"confd.users.me.funckeys.read":             {private, own, "/users/" + uuid + "/funckeys"},
			"confd.users.*.funckeys.#":                 {private, private + "/1", private + "/2", own, own + "/1", own + "/2"},
			"confd.users." + uuid + ".funckeys.1.read": {private, own, private + "/1", own + "/1"},
			"confd.users.*.funckeys.*.read":            {private, private + "/1", private + "/2", own, own + "/1", own + "/2"},
			access + ".read":                           {public},
			access + ".1.read":                         {public, public + "/1"},
			access + ".3.read":                         {},
			"confd.users." + id + ".funckeys.3.read":   {},
			"confd.users.1000.funckeys.#":              {},
		} {
			caller := d.holding(t, w.tenants["a"], uuid, "confd.#", "!"+denied)
			for _, path := range []string{private, private + "/1", private + "/2", own, own + "/1", own + "/2", public, public + "/1", public + "/2"} {
				want := http.StatusOK
				if slices.Contains(refused, path) {
					want = http.StatusForbidden
				}
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					if got := caller.Do(method, path, nil); got.Status != want {
						t.Errorf("%s %s without %s: %d, want %d", method, path, denied, got.Status, want)
					}
				}
			}
			got := caller.Get("/funckeys/templates").List()
			if got.Total != len(got.Items) || (len(got.Items) == 0) != (denied == access+".read") {
				t.Errorf("without %s the list shows %v", denied, got.Items)
			}
			if len(got.Items) > 0 && (len(got.Items[0]["keys"].(map[string]any)) == 0) != slices.Contains(refused, public) {
				t.Errorf("without %s the list shows %v", denied, got.Items)
			}
		}
		heir := "/users/" + c.Create("/users", object{"firstname": "Bo"}).Text("id")
		c.Do(http.MethodPut, heir+public, nil).Want(http.StatusNoContent)
		c.Get(heir + "/funckeys/1").Want(http.StatusOK)
		for _, denied := range []string{access + ".read", access + ".1.read", "confd.users.*.funckeys.templates.read"} {
			caller := d.holding(t, w.tenants["a"], uuid, "confd.#", "!"+denied)
			if got := caller.Get(heir + "/funckeys").Want(http.StatusOK); strings.Contains(got.Body, "custom") {
				t.Errorf("without %s the user inherits %s", denied, got.Body)
			}
			caller.Get(heir + "/funckeys/1").Want(http.StatusNotFound)
		}
		c.Do(http.MethodDelete, heir+public, nil).Want(http.StatusNoContent)
		d.holding(t, w.tenants["a"], uuid, "confd.#", "!"+access+".1.delete").Do(http.MethodDelete, public, nil).Want(http.StatusForbidden)
		d.holding(t, w.tenants["a"], uuid, "confd.#", "!"+access+".3.delete").Do(http.MethodDelete, public, nil).Want(http.StatusNoContent)
	})
}
