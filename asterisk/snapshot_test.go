package asterisk_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

type object = resttest.Object

// installation is a master tenant with one below it, and a client of that one.
func installation(tb testing.TB, db store.DB) *resttest.Client {
	tb.Helper()
	svc, err := confdsvc.New(confdsvc.Options{DB: db})
	if err != nil {
		tb.Fatal(err)
	}
	master, tenant := uuid.NewString(), uuid.NewString()
	for _, one := range [][3]string{{master, master, "master"}, {tenant, master, "acme"}} {
		if _, err := db.Exec(tb.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`, one[0], one[1], one[2]); err != nil {
			tb.Fatal(err)
		}
	}
	set, err := acl.Compile([]string{"confd.#"})
	if err != nil {
		tb.Fatal(err)
	}
	return resttest.To(tb, svc, "/api/confd/1.1", &principal.Principal{
		UserUUID: uuid.NewString(), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: tenant, Purpose: "external_api"},
	})
}

func ranges(from, to string) []object { return []object{{"start": from, "end": to}} }

// What the API stores is in the files, on both databases; the number of statements does not depend on how much it is.
func TestWhatTheAPIStoresIsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var statements atomic.Int64
		c := installation(t, db)
		in := c.Create("/contexts", object{"label": "In", "user_ranges": ranges("100", "199"), "group_ranges": ranges("200", "299")})
		out := c.Create("/contexts", object{"label": "Out", "type": "incall", "incall_ranges": ranges("5550100", "5550199")})
		inside, outside := in.Text("name"), out.Text("name")
		music := c.Create("/moh", object{"label": "Jazz", "mode": "files"})
		global := c.Get("/tenants").List().Items[0].Text("global_sip_template_uuid")
		user := func(n int) object {
			number := fmt.Sprint(100 + n)
			return c.Create("/users", object{
				"firstname": "User", "lastname": number, "music_on_hold": music["name"],
				"voicemail": object{"name": "Box, " + number, "number": number, "context": inside, "password": "12" + number},
				"lines": []object{{
					"context": inside, "endpoint_sip": object{
						"name": "sip" + number, "auth_section_options": [][]string{{"username", "sip" + number}, {"password", "secret"}}, "templates": []object{{"uuid": global}},
					},
					"extensions": []object{{"exten": number}},
				}},
			})
		}
		first, second := user(1), user(2)
		group := c.Create("/groups", object{"label": "Sales", "ring_strategy": "least_recent", "music_on_hold": music["name"]})
		number := c.Create("/extensions", object{"exten": "200", "context": inside})
		c.Do("PUT", fmt.Sprintf("/groups/%v/extensions/%v", group["uuid"], number["id"]), nil).Want(204)
		c.Do("PUT", fmt.Sprintf("/groups/%v/members/users", group["uuid"]), object{"users": []object{{"uuid": second["uuid"]}, {"uuid": first["uuid"]}}}).Want(204)
		c.Do("PUT", fmt.Sprintf("/users/%v/fallbacks", first["uuid"]), object{"busy_destination": object{"type": "user", "user_id": second["id"]}}).Want(204)
		incall := c.Create("/incalls", object{"destination": object{"type": "group", "group_id": group["id"]}})
		did := c.Create("/extensions", object{"exten": "5550100", "context": outside})
		c.Do("PUT", fmt.Sprintf("/incalls/%v/extensions/%v", incall["id"], did["id"]), nil).Want(204)
		c.Do("PUT", fmt.Sprintf("/users/%v/services/dnd", first["uuid"]), object{"enabled": true}).Want(204)
		c.Do("PUT", fmt.Sprintf("/users/%v/forwards/busy", first["uuid"]), object{"enabled": true, "destination": "102"}).Want(204)
		to := c.Create("/contexts", object{"label": "To", "type": "outcall"})
		c.Do("PUT", fmt.Sprintf("/contexts/%v/contexts", in["id"]), object{"contexts": []object{{"id": to["id"]}}}).Want(204)
		carrier := c.Create("/endpoints/sip", object{"name": "carrier", "aor_section_options": [][]string{{"contact", "sip:carrier.example"}}})
		trunk := c.Create("/trunks", object{"context": outside})
		c.Do("PUT", fmt.Sprintf("/trunks/%v/endpoints/sip/%v", trunk["id"], carrier["uuid"]), nil).Want(204)
		outcall := c.Create("/outcalls", object{"name": "Outside"})
		pattern := c.Create("/extensions", object{"exten": "_0X.", "context": to["name"]})
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/extensions/%v", outcall["id"], pattern["id"]), object{"strip_digits": 1}).Want(204)
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/trunks", outcall["id"]), object{"trunks": []object{{"id": trunk["id"]}}}).Want(204)
		menu := c.Create("/ivr", object{"name": "Welcome", "menu_sound": "vm-options", "choices": []object{
			{"exten": "1", "destination": object{"type": "group", "group_id": group["id"]}},
		}})
		hours := c.Create("/schedules", object{
			"open_periods":       []object{{"hours_start": "09:00", "hours_end": "18:00", "week_days": []int{1, 2, 3, 4, 5}}},
			"closed_destination": object{"type": "ivr", "ivr_id": menu["id"]},
		})
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/schedules/%v", outcall["id"], hours["id"]), nil).Want(204)
		denied := c.Create("/callpermissions", object{"name": "Abroad", "mode": "deny", "extensions": []string{"_000X."}})
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/callpermissions/%v", outcall["id"], denied["id"]), nil).Want(204)

		snapshots := confdsvc.NewSnapshots(storetest.Watch(db, func(string, []any) { statements.Add(1) }))
		snapshot, err := snapshots.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		few := statements.Load()
		files := generate(t, snapshot)
		parsed := checkFiles(t, files)
		one, two, ring := first.Text("uuid"), second.Text("uuid"), group.Text("uuid")
		for file, lines := range map[string][]string{
			"pjsip.conf": {
				"[sip101]", "type = aor", "callerid = \"\" <101>", "max_contacts = 1", "dtmf_mode = rfc4733", "context = " + inside, "username = sip101", "mailboxes = 101@" + inside,
				"[carrier]", "contact = sip:carrier.example", "moh_suggest = " + music.Text("name"), "transport = transport-udp",
			},
			"extensions.conf": {
				"[" + inside + "]", "exten => _10[12],hint,${IF($[${EXTEN:2:1} = 1]?\"PJSIP/sip101\")}", "exten => 101,1,Goto(ringfence-users," + one + ",1)", "exten => 200,1,Goto(ringfence-groups," + ring + ",1)",
				"exten => 5550100,1,Goto(ringfence-incalls," + incall.Text("id") + ",1)", "exten => " + one + "-busy,1,Goto(ringfence-users," + two + ",1)", "same => n,Goto(ringfence-groups," + ring + ",1)",
				"exten => *25,1,Gosub(ringfence-service,dialled,1)", "[ringfence-names]", ",1,Return(${URIDECODE(User%20101)})",
				"Goto(ringfence-outcalls,1,1)", "Gosub(ringfence-schedules,1,1)", "Dial(PJSIP/${RINGFENCE_NUMBER}@carrier,", "DIALPLAN_EXISTS(ringfence-permission-1,",
			},
			"voicemail.conf":   {"101 => 12101,Box  101,,,"},
			"queues.conf":      {"[" + group.Text("name") + "]", "strategy = leastrecent", "musicclass = " + music.Text("name")},
			"musiconhold.conf": {"[" + music.Text("name") + "]"},
		} {
			for _, line := range lines {
				if !strings.Contains(string(files[file]), line+"\n") && !strings.Contains(string(files[file]), line) {
					t.Errorf("%s has no %s", file, line)
				}
			}
		}
		if got := parsed["queues.conf"].Section(group.Text("name")).All("member"); len(got) != 2 || !strings.Contains(got[0], two) || !strings.Contains(got[1], one) {
			t.Errorf("members %v", got)
		}
		state := map[string]string{}
		for _, u := range snapshot.Users {
			for _, s := range asterisk.StateOf(u) {
				state[s.Key()] = s.Value
			}
		}
		if state[one+"/dnd"] != "1" || state[one+"/busy"] != "102" || state[one+"/unconditional"] != "" || state[two+"/dnd"] != "0" {
			t.Errorf("state %v", state)
		}
		for n := range 20 {
			user(10 + n)
		}
		statements.Store(0)
		if snapshot, err = snapshots.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if many := statements.Load(); many != few || few > 80 {
			t.Errorf("%d statements for 2 users, %d for 22", few, many)
		}
		again, err := snapshots.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(generate(t, snapshot), generate(t, again), bytes.Equal) {
			t.Error("the same data gives other bytes")
		}
	})
}
