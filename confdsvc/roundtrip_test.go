package confdsvc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// What was read can be written back, and then nothing is changed, and nothing audited: whatever objects have, of what is shown in part as of
// what is shown whole.
func TestWhatWasReadIsWrittenBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		replies := fill(c, rand.New(rand.NewPCG(1, 2)))
		contents := storetest.Contents(t, db)
		writeEverythingBack(t, c.Client, contents)
		before := contents() // and so can the reply to a POST, if it still says what there is
		for _, reply := range replies {
			if c.Do(http.MethodPut, "/users/"+reply.Text("id")+"?recursive=true", reply).Want(http.StatusNoContent); contents() != before {
				t.Fatalf("%v has changed something", reply)
			}
		}
	})
}

// writeEverythingBack sends to each path of the tenant what it shows, and fails if that changes the database.
func writeEverythingBack(t *testing.T, c *resttest.Client, contents func() string) {
	t.Helper()
	before := contents()
	write := func(path string, body any) {
		t.Helper()
		if got := c.Do(http.MethodPut, path, body); got.Status != http.StatusNoContent {
			t.Errorf("%s of %v: %d %s", path, body, got.Status, got.Body)
		}
		after := contents()
		was, is := strings.Split(before, "\n"), strings.Split(after, "\n") // both are sorted
		for len(was)+len(is) > 0 {
			switch {
			case len(was) > 0 && len(is) > 0 && was[0] == is[0]:
				was, is = was[1:], is[1:]
			case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
				t.Errorf("%s: it was %s", path, was[0])
				was = was[1:]
			default:
				t.Errorf("%s: it is %s", path, is[0])
				is = is[1:]
			}
		}
		before = after
	}
	for _, of := range []struct {
		list, key string
		nests     bool
		parts     []string
		lists     map[string]string // by the path of each, where the object shows it
	}{
		{"/users", "uuid", true, []string{"/forwards", "/services", "/fallbacks", "/funckeys"}, map[string]string{"/lines": "lines", "/groups": "groups"}},
		{"/lines", "id", true, nil, nil},
		{"/endpoints/sip", "uuid", false, nil, nil},
		{"/endpoints/sip/templates", "uuid", false, nil, nil},
		{"/endpoints/custom", "id", false, nil, nil},
		{"/extensions", "id", false, nil, nil},
		{"/contexts", "id", false, nil, map[string]string{"/contexts": "contexts"}},
		{"/groups", "uuid", false, []string{"/fallbacks"}, map[string]string{"/members/users": "members.users", "/members/extensions": "members.extensions"}},
		{"/voicemails", "id", false, nil, nil},
		{"/incalls", "id", false, nil, nil},
		{"/funckeys/templates", "id", false, nil, nil},
		{"/moh", "uuid", false, nil, nil},
		{"/phone-numbers", "uuid", false, nil, nil},
	} {
		for _, o := range c.Get(of.list).List().Items {
			path := of.list + "/" + o.Text(of.key)
			write(path, o)
			for _, part := range of.parts {
				write(path+part, c.Get(path+part).Object())
			}
			for list, shown := range of.lists {
				write(path+list, object{list[strings.LastIndex(list, "/")+1:]: at(o, shown)})
			}
			if of.nests {
				write(path+"?recursive=true", o)
			}
		}
	}
}

// fill gives a company objects of every kind, with everything that they can have in some of them.
func fill(c company, random *rand.Rand) (users []object) {
	c.T.Helper()
	one := func(of ...object) object { return of[random.IntN(len(of))] }
	base := c.Create("/endpoints/sip/templates", object{"label": "base", "auth_section_options": pairs("realm=r"), "endpoint_section_options": pairs("language=fr")})
	template := c.Create("/endpoints/sip/templates", object{"label": "on it", "templates": uses(base), "aor_section_options": pairs("max_contacts=1")})
	c.Create("/moh", object{"label": "Music", "mode": "files"})
	c.Create("/phone-numbers", object{"number": "+15551234"})
	keys := c.Create("/funckeys/templates", object{"name": "T", "keys": object{"1": keyTo("custom", "exten", "1"), "2": keyTo("group", "group_id", c.Get("/groups/" + c.group).Object()["id"])}})
	support := c.Create("/groups", object{"label": "Support", "music_on_hold": "default"}).Text("uuid")
	c.Create("/voicemails", object{"name": "all", "number": "1", "context": c.in, "accesstype": "global"})
	for i := range 12 {
		number := fmt.Sprint(1100 + i)
		user := c.user(number)
		user["email"], user["username"], user["password"] = fmt.Sprintf("al%d@example.org", i), fmt.Sprint("al", i), "secret"
		user["func_key_template_id"] = keys["id"]
		user["voicemail"] = one(nil, user["voicemail"].(object), object{
			"name": "=>, |", "number": number, "context": c.in, "password": "1234", "options": [][]string{{"a", "b\nc"}}, "timezone": "eu-fr", "attach_audio": nil,
		})
		user["lines"].([]any)[0].(object)["endpoint_sip"] = one(
			object{},
			object{"auth_section_options": pairs("username=al password=secret realm=r")},
			object{"auth_section_options": pairs("password=secret")},
			object{"auth_section_options": pairs("password=first username=a username=b md5_cred=x")},
			object{
				"templates": uses(template, base), "auth_section_options": pairs("username=al password=secret"), "asterisk_id": "one",
				"endpoint_section_options": [][]string{{"callerid", `"A \"b\" \\" <+1*>`}, {"set_var", "A=1"}, {"set_var", "A=1"}, {"context", c.in}},
				"identify_section_options": pairs("match=192.0.2.1"), "outbound_auth_section_options": pairs("username=x password=y"),
				"registration_section_options": pairs("client_uri=sip:a@example.org"), "registration_outbound_auth_section_options": pairs("username=x password=z"),
			},
		)
		if random.IntN(2) == 0 {
			user["lines"] = append(user["lines"].([]any), object{"context": c.in, "endpoint_custom": object{"interface": "Local/" + number + "@x", "interface_suffix": "/n", "enabled": false}})
		}
		if user["groups"] = []any{}; random.IntN(2) == 0 {
			user["groups"] = []any{object{"uuid": support}, object{"uuid": c.group}}
		}
		user["fallbacks"] = one(nil, object{"noanswer_destination": object{"type": "group", "group_id": keys["id"], "ring_time": 1.5}}, object{
			"busy_destination": object{"type": "custom", "command": "Playback(toto)"}, "fail_destination": object{"type": "hangup", "cause": "busy", "timeout": nil},
		})
		if d, ok := user["fallbacks"].(object); ok && d["noanswer_destination"] != nil {
			d["noanswer_destination"].(object)["group_id"] = c.Get("/groups/" + support).Object()["id"]
		}
		made := c.Create("/users", user)
		users = append(users, made)
		path := "/users/" + made.Text("uuid")
		c.Do(http.MethodPut, path+"/services", object{"dnd": object{"enabled": true}}).Want(http.StatusNoContent)
		if random.IntN(2) == 0 {
			c.Do(http.MethodPut, path+"/funckeys", object{"keys": object{"2": keyTo("user", "user_id", users[0]["id"]), "7": keyTo("forward", "forward", "noanswer", "exten", "12")}}).Want(http.StatusNoContent)
		}
	}
	c.Do(http.MethodPut, "/groups/"+support+"/members/extensions", object{"extensions": []any{
		object{"exten": "9", "context": c.in, "priority": 7}, object{"exten": "8", "context": c.in, "priority": 3},
	}}).Want(http.StatusNoContent)
	inside, from := c.Get("/contexts?name=" + c.in).List().Items[0], c.Get("/contexts?name=" + c.from).List().Items[0]
	c.Do(http.MethodPut, "/contexts/"+inside.Text("id")+"/contexts", object{"contexts": []any{object{"id": from["id"]}}}).Want(http.StatusNoContent)
	// What several users share, and what lost something since.
	first, second := "/users/"+users[0].Text("uuid"), "/users/"+users[1].Text("uuid")
	c.Do(http.MethodPut, second+"/lines/"+fmt.Sprint(at(users[0], "lines.0.id")), nil).Want(http.StatusNoContent)
	box := c.Create("/voicemails", object{"name": "shared", "number": "1500", "context": c.in}).Text("id")
	for _, path := range []string{first, second} {
		c.Do(http.MethodDelete, path+"/voicemails", nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/voicemails/"+box, nil).Want(http.StatusNoContent)
	}
	for _, incall := range c.Get("/incalls").List().Items[:4] {
		to := incall["destination"].(map[string]any)
		to["ring_time"] = 2.5
		c.Do(http.MethodPut, "/incalls/"+incall.Text("id"), object{"destination": to, "caller_id_mode": "prepend", "caller_id_name": "x"}).Want(http.StatusNoContent)
	}
	lost := c.Create("/users", c.user("1700"))
	c.Do(http.MethodDelete, "/endpoints/sip/"+at(lost, "lines.0.endpoint_sip.uuid").(string), nil).Want(http.StatusNoContent)
	lineless := c.Create("/users", c.user("1701"))
	c.Do(http.MethodDelete, "/lines/"+fmt.Sprint(at(lineless, "lines.0.id")), nil).Want(http.StatusNoContent)
	c.Do(http.MethodPut, "/contexts/"+inside.Text("id"), object{"user_ranges": []any{object{"start": "1000", "end": "1001"}}}).Want(http.StatusNoContent)
	return users[4:] // of whom nothing was changed since
}

// A line shows the usernames of its telephone, and no passwords. Who sends back what it shows, or another username, keeps the password; who
// sends anything else sends the whole section.
func TestHiddenPasswordIsKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		for _, test := range []struct{ stored, sent, want string }{
			{"username=al password=x", "username=al", "username=al password=x"},
			{"password=x username=al realm=r", "username=al", "password=x username=al realm=r"},
			{"password=x", "", "password=x"},
			{"username=al password=x", "username=bo", "username=bo password=x"},
			{"username=al password=x realm=r", "username=bo username=cy", "username=bo username=cy password=x realm=r"},
			{"username=al password=x", "", ""},
			{"username=al password=x", "username=al password=y", "username=al password=y"},
			{"username=al password=x", "realm=r", "realm=r"},
			{"", "username=al", "username=al"},
		} {
			user := c.Create("/users", object{"firstname": "Al", "lines": []any{object{"context": c.in, "endpoint_sip": object{"auth_section_options": pairs(test.stored)}}}})
			line, sip := at(user, "lines.0.id"), "/endpoints/sip/"+at(user, "lines.0.endpoint_sip.uuid").(string)
			for path, body := range map[string]object{
				"/lines/" + fmt.Sprint(line):  {"endpoint_sip": object{"auth_section_options": pairs(test.sent)}},
				"/users/" + user.Text("uuid"): {"lines": []any{object{"id": line, "endpoint_sip": object{"auth_section_options": pairs(test.sent)}}}},
			} {
				c.Do(http.MethodPut, sip, object{"auth_section_options": pairs(test.stored)}).Want(http.StatusNoContent)
				c.Do(http.MethodPut, path+"?recursive=true", body).Want(http.StatusNoContent)
				if got := c.Get(sip).Object()["auth_section_options"]; !reflect.DeepEqual(got, pairs(test.want)) {
					t.Errorf("%s, where %s sent %q: %v, want %s", test.stored, path, test.sent, got, test.want)
				}
			}
		}
	})
}

// What is stored can be sent back, however much it is: no operation gives an object more than a client may send as its list.
func TestManyAreWrittenBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		user := c.user("1000")
		for i := range 20 {
			user["lines"] = append(user["lines"].([]any), object{"context": c.in, "endpoint_custom": object{"interface": fmt.Sprint("Local/", i, "@x")}})
			user["incalls"] = append(user["incalls"].([]any), object{})
		}
		made := c.Create("/users", user)
		path := "/users/" + made.Text("uuid")
		contents := storetest.Contents(t, db)
		before := contents()
		shown := c.Get(path).Object()
		if len(shown["lines"].([]any)) != 21 || len(shown["incalls"].([]any)) != 21 {
			t.Fatalf("%v", shown)
		}
		for _, body := range []object{shown, made} {
			if c.Do(http.MethodPut, path+"?recursive=true", body).Want(http.StatusNoContent); contents() != before {
				t.Error("what was read has changed something")
			}
		}
		alone := func(number string) object {
			user := c.user(number)
			delete(user, "groups")
			return c.Create("/users", user)
		}
		one, other, more := alone("1001"), alone("1002"), alone("1003")
		group := object{"uuid": c.group}
		id := one.Text("id")
		const n = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998) "
		err := db.InTx(t.Context(), func(ctx context.Context, conn store.Conn) error {
			for _, sql := range []string{
				"INSERT INTO confd_line (tenant_uuid, context, provisioning_code, position, registrar) " + n + "SELECT u.tenant_uuid, 'x', 'a' || CAST(i AS text), 1, 'default' FROM n JOIN confd_user u ON u.id = " + id,
				"INSERT INTO confd_user_line (user_id, line_id, position) SELECT " + id + ", id, row_number() OVER (ORDER BY id) FROM confd_line WHERE provisioning_code LIKE 'a%'",
				"INSERT INTO confd_incall (tenant_uuid, description) " + n + "SELECT u.tenant_uuid, 'many' FROM n JOIN confd_user u ON u.id = " + id,
				"INSERT INTO confd_destination (of_incall_id, slot, type, sub, keys, user_id) SELECT id, 'destination', 'user', '', '{\"user_id\":" + id + "}', " + id + " FROM confd_incall WHERE description = 'many'",
				"INSERT INTO confd_user (uuid, tenant_uuid, firstname, mobile_fallback_enabled, call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled, " +
					"call_record_incoming_internal_enabled, call_record_incoming_external_enabled, subscription_type, enabled) " + n + "SELECT " +
					"CAST('00000000-0000-4000-8000-' || substr(CAST(100000000000 + i AS text), 1) AS " + uuidType(db) + "), u.tenant_uuid, 'many', false, false, false, false, false, 0, true FROM n JOIN confd_user u ON u.id = " + id,
				"INSERT INTO confd_group_user (group_uuid, user_id, priority) SELECT CAST('" + c.group + "' AS " + uuidType(db) + "), id, id FROM confd_user WHERE firstname = 'many'",
			} {
				if _, err := conn.Exec(ctx, sql); err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, last := range []struct {
			path string
			body any
			full string
		}{
			{"/users/" + id + "/lines/" + fmt.Sprint(at(other, "lines.0.id")), nil, "A user has at most 1000 lines. ('user_id': " + id + ")"},
			{"/users/" + id + "/lines/" + fmt.Sprint(at(more, "lines.0.id")), nil, "A user has at most 1000 lines. ('user_id': " + id + ")"},
			{"/incalls/" + fmt.Sprint(at(other, "incalls.0.id")), object{"destination": object{"type": "user", "user_id": one["id"]}}, "A user has at most 1000 incalls. ('user_id': " + id + ")"},
			{"/incalls/" + fmt.Sprint(at(more, "incalls.0.id")), object{"destination": object{"type": "user", "user_id": one["id"]}}, "A user has at most 1000 incalls. ('user_id': " + id + ")"},
			{"/users/" + id + "/groups", object{"groups": []any{group}}, "A group has at most 1000 users. ('group_uuid': '" + c.group + "')"},
			{"/users/" + other.Text("id") + "/groups", object{"groups": []any{group}}, "A group has at most 1000 users. ('group_uuid': '" + c.group + "')"},
			{"/users/" + more.Text("id") + "?recursive=true", object{"groups": []any{group}}, "A group has at most 1000 users. ('group_uuid': '" + c.group + "')"},
		} {
			got := c.Do(http.MethodPut, last.path, last.body)
			if got.Status == http.StatusNoContent {
				continue // it was the thousandth
			}
			got.Want(http.StatusBadRequest).Says("Operation not permitted. " + last.full)
		}
		for list, want := range map[string]any{"/users/" + id: "lines", "/users/" + id + " ": "incalls", "/groups/" + c.group: "members.users"} {
			shown := c.Get(strings.TrimSpace(list)).Object()
			if got := len(at(shown, want.(string)).([]any)); got != 1000 {
				t.Errorf("%s has %d %s", list, got, want)
			}
		}
		before = contents()
		c.Do(http.MethodPut, "/users/"+id+"/lines", object{"lines": c.Get("/users/" + id).Object()["lines"]}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/groups/"+c.group+"/members/users", object{"users": at(c.Get("/groups/"+c.group).Object(), "members.users")}).Want(http.StatusNoContent)
		if contents() != before {
			t.Error("what was read has changed something")
		}
		c.Do(http.MethodPost, "/incalls", object{"destination": object{"type": "user", "user_id": one["id"]}}).Want(http.StatusBadRequest).Says("A user has at most 1000 incalls.")
	})
}

// uuidType is what a database takes for a UUID.
func uuidType(db store.DB) string {
	if db.Engine() == "postgres" {
		return "uuid"
	}
	return "text"
}
