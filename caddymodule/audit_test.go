package caddymodule_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

type auditList struct {
	Total    int
	Filtered int
	Items    []struct {
		ID                        int64
		Service, Resource, Object string
	}
}

// auditOf returns the entries of the audit that a token may read.
func (g *gateway) auditOf(t *testing.T, token, query string) (l auditList) {
	t.Helper()
	if err := json.Unmarshal([]byte(g.Do(t, http.MethodGet, "/api/auth/0.1/audit"+query, token, "").Want(200).Body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// An entry of the audit is visible to a caller who may GET the object that it is about, in both services, and to nobody else.
func TestAuditIsForWhoMayReadTheObject(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	prefixes := map[string]string{"auth": "/api/auth/0.1", "confd": "/api/confd/1.1"}
	object := func(path, body, field string) string {
		var o map[string]any
		if err := json.Unmarshal([]byte(g.Do(t, http.MethodPost, path, admin, body).Body), &o); err != nil || o[field] == nil {
			t.Fatalf("%s: %v %v", path, o, err)
		}
		return fmt.Sprint(o[field])
	}
	ann := object("/api/confd/1.1/users", `{"firstname":"Ann"}`, "uuid")
	bob := object("/api/confd/1.1/users", `{"firstname":"Bob"}`, "id")
	gone := object("/api/confd/1.1/users", `{"firstname":"Gone"}`, "id")
	in := object("/api/confd/1.1/contexts", `{"label":"inside"}`, "name")
	box := object("/api/confd/1.1/voicemails", `{"name":"a","number":"100","context":"`+in+`"}`, "id")
	g.Do(t, http.MethodPut, "/api/confd/1.1/users/"+bob+"/voicemails/"+box, admin, "").Want(204)
	g.Do(t, http.MethodDelete, "/api/confd/1.1/users/"+gone, admin, "").Want(204)
	user, policy, _ := g.Account(t, admin, "somebody", "calld.#")
	g.Do(t, http.MethodPut, "/api/auth/0.1/users/"+user+"/emails", admin, `{"emails":[{"address":"a@example.com","main":true}]}`).Want(200)
	g.Do(t, http.MethodPut, "/api/auth/0.1/users/"+user+"/policies/somebody", admin, "").Want(204)

	everything := g.auditOf(t, admin, "") // the readers are made alike, and their entries would be most
	readers := map[string]string{"administrator": admin}
	for i, accesses := range [][]string{
		{},
		{"confd.users.read"},
		{"confd.users.*.read"},
		{"confd.users." + bob + ".read"},
		{"confd.users." + ann + ".read"},
		{"confd.users." + gone + ".read"},
		{"confd.users.*.read", "!confd.users." + ann + ".read"},
		{"confd.users.*.read", "!confd.users." + bob + ".read"},
		{"confd.users.*.read", "confd.voicemails.*.read"},
		{"confd.users.*.read", "confd.voicemails." + box + ".read"},
		{"confd.#", "!confd.voicemails." + box + ".#"},
		{"confd.#"},
		{"confd.#", "!confd.users.*.read"},
		{"confd.users." + bob + ".read", "!confd.#.read"},
		{"auth.users.*.read"},
		{"auth.users.me.read"},
		{"auth.users." + user + ".read"},
		{"auth.users." + user + ".read", "auth.policies." + policy + ".read"},
		{"auth.policies.somebody.read"},
		{"auth.policies.*.read", "!auth.policies.somebody.read"},
		{"auth.users.#.read", "auth.policies.#"},
		{"auth.#"},
		{"auth.#", "!auth.users." + user + ".read"},
		{"#.read"},
		{"#"},
		{"#", "!confd.users." + gone + ".#"},
		{"*.*.*.read"},
	} {
		name := fmt.Sprintf("reader%d", i)
		_, _, readers[name+" "+strings.Join(accesses, " ")] = g.Account(t, admin, name, append(accesses, "auth.audit.read", "auth.audit.*.read")...)
	}
	for name, token := range readers {
		readable := func(service, collection, key string) bool {
			return g.Do(t, http.MethodGet, prefixes[service]+"/"+collection+"/"+key, token, "").Status != 403
		}
		cache := map[string]bool{}
		shown := map[int64]bool{}
		l := g.auditOf(t, token, "")
		if l.Total != len(l.Items) || l.Filtered != len(l.Items) {
			t.Errorf("%s: total %d, filtered %d, and %d are shown", name, l.Total, l.Filtered, len(l.Items))
		}
		for _, e := range l.Items {
			shown[e.ID] = true
		}
		for _, e := range everything.Items {
			key := fmt.Sprint(e.Service, e.Resource, e.Object)
			want, known := cache[key]
			if !known {
				collections, keys := strings.Split(e.Resource, "/"), strings.Split(e.Object, "/")
				want = true
				for i, k := range keys {
					want = want && readable(e.Service, collections[i], k)
					if by := map[string]string{policy: "somebody"}[k]; by != "" {
						want = want || readable(e.Service, collections[i], by) && len(keys) == 1
					}
				}
				if uuid := confdUUID(t, g, admin, e.Service, e.Resource, e.Object); uuid != "" && e.Object != gone {
					want = want || readable("confd", "users", uuid)
				}
				cache[key] = want
			}
			if shown[e.ID] != want {
				t.Errorf("%s: %s %s %s is shown: %t, want %t", name, e.Service, e.Resource, e.Object, shown[e.ID], want)
			}
			if one := g.Do(t, http.MethodGet, fmt.Sprintf("/api/auth/0.1/audit/%d", e.ID), token, ""); (one.Status == 200) != shown[e.ID] {
				t.Errorf("%s: entry %d is answered with %d", name, e.ID, one.Status)
			}
		}
		for _, query := range []string{"?service=confd&object=" + bob, "?search=users", "?limit=1", "?resource=users/voicemails", "?recurse=true&object=" + user} {
			all, mine := g.auditOf(t, admin, strings.Replace(query, "?limit=1", "?", 1)), g.auditOf(t, token, query)
			want := 0
			for _, e := range all.Items {
				if shown[e.ID] {
					want++
				}
			}
			if mine.Filtered != want || mine.Total != len(shown) {
				t.Errorf("%s: %s counts %d of %d, want %d of %d", name, query, mine.Filtered, mine.Total, want, len(shown))
			}
		}
	}
}

// confdUUID returns the UUID of a telephone user whom the audit names by id.
func confdUUID(t *testing.T, g *gateway, admin, service, resource, object string) string {
	t.Helper()
	if service != "confd" || resource != "users" {
		return ""
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(g.Do(t, http.MethodGet, "/api/confd/1.1/users/"+object, admin, "").Body), &o); err != nil {
		return ""
	}
	uuid, _ := o["uuid"].(string)
	return uuid
}

// What a user's own keys were is in the audit for those who may read them by the user's path.
func TestAuditOfFuncKeys(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	var user struct{ ID, UUID any }
	if err := json.Unmarshal([]byte(g.Do(t, http.MethodPost, "/api/confd/1.1/users", admin, `{"firstname":"Ann"}`).Want(201).Body), &user); err != nil {
		t.Fatal(err)
	}
	keys := `{"keys":{"1":{"destination":{"type":"custom","exten":"1"}}}}`
	g.Do(t, http.MethodPut, fmt.Sprintf("/api/confd/1.1/users/%v/funckeys", user.ID), admin, keys).Want(204)
	for i, test := range []struct {
		denied string
		shown  int
	}{
		{"confd.users.1000.funckeys.read", 1},
		{fmt.Sprintf("confd.users.%v.funckeys.read", user.ID), 0},
		{fmt.Sprintf("confd.users.%v.funckeys.read", user.UUID), 0},
		{"confd.users.*.funckeys.#", 0},
		{fmt.Sprintf("confd.users.%v.read", user.UUID), 0},
		{"confd.funckeys.templates.#", 1},
	} {
		_, _, token := g.Account(t, admin, fmt.Sprint("auditor", i), "confd.#", "auth.audit.read", "!"+test.denied)
		if l := g.auditOf(t, token, "?action=update_user_func_keys"); len(l.Items) != test.shown {
			t.Errorf("without %s: %v", test.denied, l.Items)
		}
	}
}

// A picture in the audit shows of an object what the object itself shows to the reader: no part, and nothing of another object, that they are
// denied to read.
func TestPicturesInTheAuditHideWhatIsDenied(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	const confd = "/api/confd/1.1"
	music := g.Do(t, http.MethodPost, confd+"/moh", admin, `{"label":"m","mode":"files"}`).Want(201)
	box := g.Do(t, http.MethodPost, confd+"/voicemails", admin, `{"name":"Hidden box","number":"100","context":"`+
		g.Do(t, http.MethodPost, confd+"/contexts", admin, `{"label":"inside"}`).Want(201).Text("name")+`"}`).Want(201).JSON("id")
	user := g.Do(t, http.MethodPost, confd+"/users", admin, fmt.Sprintf(`{"firstname":"Ann","music_on_hold":%q,
		"forwards":{"busy":{"enabled":true,"destination":"5550100"}}}`, music.Text("name"))).Want(201)
	id, uuid := user.JSON("id"), user.Text("uuid")
	g.Do(t, http.MethodPost, confd+"/incalls", admin, `{"destination":{"type":"none"}}`).Want(201) // which cannot be without a destination
	for _, to := range []string{fmt.Sprintf(`{"type":"voicemail","voicemail_id":%v}`, box), `{"type":"none"}`} {
		g.Do(t, http.MethodPut, confd+"/users/"+uuid+"/fallbacks", admin, `{"busy_destination":`+to+`}`).Want(204)
	}
	other := g.Do(t, http.MethodPost, confd+"/users", admin, `{"firstname":"Bob"}`).Want(201).JSON("id")
	bob := g.Do(t, http.MethodGet, fmt.Sprintf("%s/users/%v", confd, other), admin, "").Want(200).Text("uuid")
	pickup := g.Do(t, http.MethodPost, confd+"/callpickups", admin, `{"name":"p"}`).Want(201).JSON("id")
	g.Do(t, http.MethodPut, fmt.Sprintf("%s/callpickups/%v/targets/users", confd, pickup), admin, `{"users":[{"uuid":"`+uuid+`"},{"uuid":"`+bob+`"}]}`).Want(204)
	for i, test := range []struct{ denied, about, marker string }{
		{fmt.Sprintf("confd.users.%v.forwards.read", id), "users/" + uuid, "5550100"},
		{"confd.users.*.forwards.busy.read", "users/" + uuid, "5550100"},
		{"confd.users." + uuid + ".fallbacks.read", "users/" + uuid, "Hidden box"},
		{fmt.Sprintf("confd.voicemails.%v.read", box), "users/" + uuid, "Hidden box"},
		{"confd.moh." + music.Text("uuid") + ".read", "users/" + uuid, music.Text("name")},
		{"confd.users." + uuid + ".read", fmt.Sprintf("callpickups/%v", pickup), fmt.Sprintf(`["%v"`, id)},
	} {
		path := "/api/auth/0.1/audit?about=confd/" + test.about
		if all := g.Do(t, http.MethodGet, path, admin, "").Want(200); !strings.Contains(all.Body, test.marker) {
			t.Errorf("%s shows everybody no %s: %s", test.about, test.marker, all.Body)
		}
		_, _, reader := g.Account(t, admin, fmt.Sprint("reader", i), "#", "!"+test.denied)
		g.Do(t, http.MethodGet, "/api/auth/0.1/audit", reader, "").Want(200)
		if got := g.Do(t, http.MethodGet, path, reader, "").Want(200); strings.Contains(got.Body, test.marker) || !strings.Contains(got.Body, `"after":{`) {
			t.Errorf("%s without %s: %s", test.about, test.denied, got.Body)
		}
	}
}

// Who may not know of one of the users of a call learns nothing from the audit of what was recorded of it. What is of no user is told all the same.
func TestAuditOfRecordings(t *testing.T) {
	pbx := amitest.New(t)
	for name, value := range map[string]string{
		"MANAGER": pbx.Address, "USERNAME": amitest.Username, "SECRET": amitest.Secret, "FOLDER": filepath.Join(t.TempDir(), "generated"), "NAME": "",
		"RECORDINGS": t.TempDir(),
	} {
		t.Setenv("RINGFENCE_ASTERISK_"+name, value)
	}
	g := loadDefault(t, "")
	admin := g.Admin(t)
	ann := g.Do(t, http.MethodPost, "/api/confd/1.1/users", admin, `{"firstname":"Ann"}`).Want(201)
	at := strconv.FormatInt(time.Now().Add(-time.Minute).Unix(), 10)
	gatewaytest.Eventually(t, time.Minute, func() error { // once the gateway listens
		for n, user := range []string{ann.Text("uuid"), ""} {
			n := strconv.Itoa(n + 1)
			pbx.Event(cdr.Event, "Ringfence-uniqueid", "17."+n, "Ringfence-sequence", n, "Ringfence-tenant", ann.Text("tenant_uuid"), "Ringfence-user", user,
				"Ringfence-start", at, "Ringfence-answer", at, "Ringfence-end", at, "Ringfence-billsec", "0", "Ringfence-disposition", "ANSWERED",
				"Ringfence-direction", "internal", "Ringfence-src", "1001", "Ringfence-dialled", "1002", "Ringfence-recording", "call-20261128-101500-17."+n+".wav")
		}
		if n := g.Do(t, http.MethodGet, "/api/call-logd/1.0/cdr", admin, "").List().Total; n != 2 {
			return fmt.Errorf("there are %d calls", n)
		}
		return nil
	})
	var call any
	for _, one := range g.Do(t, http.MethodGet, "/api/call-logd/1.0/cdr", admin, "").List().Items {
		recording := one["recordings"].([]any)[0].(map[string]any)["uuid"]
		g.Do(t, http.MethodDelete, fmt.Sprintf("/api/call-logd/1.0/cdr/%v/recordings/%v/media", one["id"], recording), admin, "").Want(204)
		if one["source_user_uuid"] != nil {
			call = one["id"]
		}
	}
	for i, test := range []struct {
		denied string
		sees   int
	}{
		{"confd.groups.read", 1},
		{fmt.Sprintf("call-logd.cdr.%v.read", call), 0},
		{"call-logd.users." + ann.Text("uuid") + ".cdr.read", 0},
		{"auth.users." + ann.Text("uuid") + ".read", 0},
		{"confd.users." + ann.Text("uuid") + ".#", 0},
		{fmt.Sprintf("confd.users.%v.read", ann.JSON("id")), 0},
		{"confd.users.*.read", 0},
	} {
		_, _, reader := g.Account(t, admin, fmt.Sprint("reader", i), "#", "!"+test.denied)
		if l := g.auditOf(t, reader, "?resource=cdr/recordings"); l.Filtered != test.sees+1 {
			t.Errorf("without %s: %v", test.denied, l.Items)
		}
		if l := g.auditOf(t, reader, fmt.Sprintf("?about=call-logd/cdr/%v", call)); l.Filtered != test.sees {
			t.Errorf("about the call, without %s: %v", test.denied, l.Items)
		}
	}
}
