package authsvc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestCreateUser(t *testing.T) {
	const id = "0B9E1C1A-5C0F-4D6E-9C1B-3F1F5E2D4A6B"
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		master := s.do("GET", "/users?username=admin", admin, "").List().Items[0]["tenant_uuid"]

		everything := s.do("POST", "/users", admin, `{
			"uuid": "`+id+`", "username": "Zoé", "firstname": "Zoé", "lastname": "Lang", "purpose": "user", "enabled": true,
			"password": "pass phrase", "email_address": "Zoe@Example.org", "authentication_method": "native",
			"tenant_uuid": "00000000-0000-4000-8000-000000000000", "emails": [{"address": "other@example.org"}], "unknown": 1
		}`).Want(200)
		emails := everything.JSON("emails").([]any)
		if len(emails) != 1 {
			t.Fatalf("emails: %s", everything.Body)
		}
		email := emails[0].(map[string]any)
		if email["address"] != "Zoe@Example.org" || email["main"] != true || email["confirmed"] != true || len(email["uuid"].(string)) != 36 || len(email) != 4 {
			t.Errorf("email: %v", email)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(everything.Body), &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "emails")
		want := map[string]any{
			"uuid": strings.ToLower(id), "username": "Zoé", "firstname": "Zoé", "lastname": "Lang", "purpose": "user",
			"enabled": true, "tenant_uuid": master, "authentication_method": "native",
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		read := s.do("GET", "/users/"+strings.ToLower(id), admin, "").Want(200)
		if read.Body != everything.Body || read.Header.Get("ETag") == "" || read.Header.Get("ETag") != everything.Header.Get("ETag") {
			t.Errorf("created %s\nread    %s", everything.Body, read.Body)
		}

		// The audit has the addresses, which are logins, and of the password nothing.
		entries := s.do("GET", "/audit?object="+strings.ToLower(id), admin, "").Want(200)
		after, _ := entries.List().Items[0]["after"].(map[string]any)
		if !reflect.DeepEqual(after["emails"], emails) || strings.Contains(entries.Body, "pass phrase") || strings.Contains(entries.Body, "argon2") {
			t.Errorf("in the audit: %s", entries.Body)
		}

		nothing := s.do("POST", "/users", admin, `{}`).Want(200)
		for name, want := range map[string]any{
			"username": nil, "firstname": nil, "lastname": nil, "purpose": "user", "enabled": true, "authentication_method": "default",
		} {
			if got := nothing.JSON(name); got != want {
				t.Errorf("%s of an empty user is %v, want %v", name, got, want)
			}
		}
		for _, purpose := range []string{"internal", "external_api"} {
			u := s.do("POST", "/users", admin, `{"purpose":"`+purpose+`"}`).Want(200)
			if u.Text("authentication_method") != "native" {
				t.Errorf("%s: %s", purpose, u.Body)
			}
		}
		s.do("POST", "/users", admin, `{"uuid":"`+strings.ToLower(id)+`"}`).Refused(409, "conflict").JSON("details.uuid")

		s.do("DELETE", "/users/"+strings.ToLower(id), admin, "").Want(204)
		gone := s.do("GET", "/audit?action=delete_user&object="+strings.ToLower(id), admin, "").List().Items
		if before, _ := gone[0]["before"].(map[string]any); !reflect.DeepEqual(before["emails"], emails) {
			t.Errorf("the audit of the deletion: %v", gone)
		}
	})
}

func TestCreateUserRefusals(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for _, c := range []struct{ name, body, field string }{
			{"blank username", `{"username":"  "}`, "username"},
			{"empty username", `{"username":""}`, "username"},
			{"number as username", `{"username":7}`, "username"},
			{"long username", `{"username":"` + strings.Repeat("a", 257) + `"}`, "username"},
			{"invisible username", `{"username":"admi\u200bn"}`, "username"},
			{"username of two alphabets", `{"username":"аdmin"}`, "username"},
			{"purpose", `{"purpose":"god"}`, "purpose"},
			{"purpose null", `{"purpose":null}`, "purpose"},
			{"method", `{"authentication_method":"zzz"}`, "authentication_method"},
			{"enabled", `{"enabled":"yes"}`, "enabled"},
			{"uuid", `{"uuid":"17"}`, "uuid"},
			{"empty password", `{"password":""}`, "password"},
			{"long password", `{"password":"` + strings.Repeat("a", 1025) + `"}`, "password"},
			{"long password in bytes", `{"password":"` + strings.Repeat("é", 600) + `"}`, "password"},
			{"NUL in the password", `{"password":"a\u0000b"}`, "password"},
			{"address", `{"email_address":"nobody"}`, "email_address"},
			{"address with a name", `{"email_address":"Bob <bob@example.org>"}`, "email_address"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				a := s.do("POST", "/users", admin, c.body).Refused(400, "invalid-data")
				if a.Text("details."+c.field+".message") == "" || a.Text("details."+c.field+".constraint_id") == "" {
					t.Errorf("the refusal does not explain %s: %s", c.field, a.Body)
				}
			})
		}
		for name, body := range map[string]string{
			"list": `[]`, "null": `null`, "text": `"x"`, "empty": ` `, "two keys": `{"username":"a","username":"b"}`, "case": `{"username":"a","Username":"b"}`,
			"surrogate": `{"username":"\ud800"}`, "trailing": `{} {}`,
		} {
			t.Run(name, func(t *testing.T) { s.do("POST", "/users", admin, body).For(t).Refused(400, "invalid-data") })
		}
		if n := s.do("GET", "/users", admin, "").List().Total; n != 1 {
			t.Errorf("refused users were made: there are %d", n)
		}
	})
}

// A username and an address are logins: each belongs to one user, whatever its case, in the whole installation.
func TestLoginsAreUnique(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		s.do("POST", "/users", admin, `{"username":"Renée","email_address":"renee@example.org"}`).Want(200)
		for _, c := range []struct{ name, body, field string }{
			{"same", `{"username":"Renée"}`, "username"},
			{"case", `{"username":"RENÉE"}`, "username"},
			{"decomposed", `{"username":"Rene\u0301e"}`, "username"},
			{"spaces", `{"username":" Renée  "}`, "username"},
			{"wide", `{"username":"Ｒｅｎée"}`, "username"},
			{"username like an address", `{"username":"RENEE@example.org"}`, "username"},
			{"address", `{"email_address":"Renee@Example.org"}`, "email_address"},
			{"bootstrap", `{"username":"ADMIN"}`, "username"},
		} {
			t.Run(c.name, func(t *testing.T) {
				for _, tenant := range []string{"", below} {
					edit := func(*testing.T) resttest.Answer { return s.do("POST", "/users", admin, c.body) }
					if tenant != "" {
						edit = func(*testing.T) resttest.Answer { return s.do("POST", "/users", admin, c.body, resttest.In(tenant)) }
					}
					a := edit(t).Refused(409, "conflict")
					if a.Text("details."+c.field+".constraint_id") != "unique" {
						t.Errorf("details: %s", a.Body)
					}
				}
			})
		}
		// A user's own address may be the username too.
		both := s.do("POST", "/users", admin, `{"username":"bob@example.org","email_address":"Bob@example.org","password":"x"}`).Want(200).Text("uuid")
		s.login("BOB@EXAMPLE.ORG", "x")
		s.do("PUT", "/users/"+both, admin, `{"username":"bob"}`).Want(200)
		s.login("bob", "x")
		s.login("bob@example.org", "x")
		s.do("POST", "/users", admin, `{"username":"bob@example.org"}`).Want(409)
		// A login that was given up is free.
		s.do("PUT", "/users/"+both, admin, `{"username":null}`).Want(200)
		s.do("POST", "/users", admin, `{"username":"bob"}`).Want(200)
		s.do("DELETE", "/users/"+both, admin, "").Want(204)
		s.do("POST", "/users", admin, `{"username":"bob@example.org"}`).Want(200)
	})
}

func TestUpdateUser(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		id := s.do("POST", "/users", admin, `{"username":"ann","firstname":"Ann","lastname":"Bee","password":"old","email_address":"ann@example.org","purpose":"external_api"}`).Text("uuid")
		before := s.do("GET", "/users/"+id, admin, "").Want(200)

		// Fields that are not sent stay, and neither addresses nor UUID change.
		after := s.do("PUT", "/users/"+id, admin, `{"lastname":null,"uuid":"00000000-0000-4000-8000-000000000000","tenant_uuid":"x","emails":[]}`).Want(200)
		want := strings.Replace(before.Body, `"Bee"`, `null`, 1)
		if after.Body != want {
			t.Errorf("got  %s\nwant %s", after.Body, want)
		}
		if read := s.do("GET", "/users/"+id, admin, "").Want(200); read.Body != want || read.Header.Get("ETag") != after.Header.Get("ETag") {
			t.Errorf("read %s", read.Body)
		}
		s.login("ann", "old")

		// If-Match.
		s.do("PUT", "/users/"+id, admin, `{"lastname":"Cee"}`, resttest.IfMatch(before.Header.Get("ETag"))).Refused(412, "precondition-failed")
		s.do("DELETE", "/users/"+id, admin, "", resttest.IfMatch(before.Header.Get("ETag"))).Refused(412, "precondition-failed")
		s.do("PUT", "/users/"+id, admin, `{"lastname":"Cee"}`, resttest.IfMatch(after.Header.Get("ETag"))).Want(200)

		for field, value := range map[string]string{"enabled": "null", "purpose": `"x"`, "username": `""`, "firstname": "1"} {
			s.do("PUT", "/users/"+id, admin, `{"`+field+`":`+value+`}`).Refused(400, "invalid-data").JSON("details." + field)
		}
		s.do("PUT", "/users/"+id, admin, `{"username":"admin"}`).Refused(409, "conflict").JSON("details.username")
		if s.do("GET", "/users/"+id, admin, "").Text("username") != "ann" {
			t.Error("a refused change was made")
		}
		s.login("ann", "old")

		for _, unknown := range []string{"00000000-0000-4000-8000-000000000000", "17", "ann", id + "0"} {
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				body := ""
				if method == "PUT" {
					body = "{}"
				}
				s.do(method, "/users/"+unknown, admin, body).Refused(404, "unknown-user")
			}
		}
	})
}

// A UUID in upper case names the same user (the gate checks the access with the lower-case UUID).
func TestUserInUpperCase(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		id, _, _ := s.account(admin, "ann", "confd.#")
		upper := strings.ToUpper(id)
		if got := s.do("GET", "/users/"+upper, admin, "").Want(200).Text("uuid"); got != id {
			t.Errorf("%s is %s", upper, got)
		}
		s.do("PUT", "/users/"+upper, admin, `{"firstname":"Ann"}`).Want(200)
		if got := s.do("GET", "/users/"+id, admin, "").Want(200).Text("firstname"); got != "Ann" {
			t.Errorf("a change by %s was not made: %q", upper, got)
		}
		s.do("DELETE", "/users/"+upper, admin, "").Want(204)
		s.do("GET", "/users/"+id, admin, "").Refused(404, "unknown-user")
	})
}

func TestDisabledAndDeletedUsers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		id, _, token := s.account(admin, "ann", "confd.#")
		other, _, kept := s.account(admin, "bob", "confd.#")
		s.do("HEAD", "/token/"+token, "", "").Want(204)

		s.do("PUT", "/users/"+id, admin, `{"enabled":false}`).Want(200)
		s.do("HEAD", "/token/"+token, "", "").Want(404)
		s.do("POST", "/token", "", "{}", resttest.Basic("ann", "secret of ann")).Refused(401, "unauthorized")
		s.do("PUT", "/users/"+id, admin, `{"enabled":true}`).Want(200)
		s.do("HEAD", "/token/"+token, "", "").Want(404) // it has ended for good
		token = s.login("ann", "secret of ann")
		s.do("HEAD", "/token/"+token, "", "").Want(204)

		s.do("DELETE", "/users/"+id, admin, "").Want(204)
		s.do("HEAD", "/token/"+token, "", "").Want(404)
		s.do("GET", "/users/"+id, admin, "").Refused(404, "unknown-user")
		s.do("DELETE", "/users/"+id, admin, "").Refused(404, "unknown-user")
		s.do("POST", "/token", "", "{}", resttest.Basic("ann", "secret of ann")).Refused(401, "unauthorized")
		s.do("HEAD", "/token/"+kept, "", "").Want(204)
		s.do("GET", "/users/"+other, admin, "").Want(200)
	})
}

func TestListUsers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		ids := map[string]string{}
		for _, u := range []struct{ name, first, last, purpose, tenant string }{
			{"anna", "Zoé", "Müller", "user", ""},
			{"Bert", "Yann", "Stone", "external_api", ""},
			{"carl", "Xenia", "50%_\\", "user", ""},
			{"dora", "Will", "Ace", "user", below},
		} {
			edit := resttest.In(below)
			if u.tenant == "" {
				edit = resttest.In(s.do("GET", "/users?username=admin", admin, "").List().Column("tenant_uuid")[0])
			}
			last, err := json.Marshal(u.last)
			if err != nil {
				t.Fatal(err)
			}
			ids[u.name] = s.do("POST", "/users", admin, fmt.Sprintf(`{"username":%q,"firstname":%q,"lastname":%s,"purpose":%q,"email_address":"%s@%s.example"}`,
				u.name, u.first, last, u.purpose, u.name, strings.ToLower(u.first[:1])), edit).Want(200).Text("uuid")
		}
		s.do("POST", "/users", admin, `{"firstname":"No Name"}`).Want(200)
		policy := s.do("POST", "/policies", admin, `{"name":"Reader","acl":["confd.users.read"]}`).Text("uuid")
		s.do("PUT", "/users/"+ids["anna"]+"/policies/"+policy, admin, "").Want(204)
		group := s.do("POST", "/groups", admin, `{"name":"Readers"}`).Text("uuid")
		s.do("PUT", "/groups/"+group+"/users/"+ids["Bert"], admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)

		for _, c := range []struct {
			query           string
			total, filtered int
			names           []string
		}{
			{"", 5, 5, []string{"admin", "anna", "Bert", "carl", "<null>"}},
			{"direction=desc", 5, 5, []string{"carl", "Bert", "anna", "admin", "<null>"}},
			{"order=firstname", 5, 5, []string{"<null>", "carl", "Bert", "anna", "admin"}},
			{"order=lastname&limit=1", 5, 5, []string{"carl"}},
			{"limit=2&offset=1", 5, 5, []string{"anna", "Bert"}},
			{"offset=4", 5, 5, []string{"<null>"}},
			{"limit=2&offset=99", 5, 5, []string{}},
			{"offset=9223372036854775807", 5, 5, []string{}},
			{"limit=1000000", 5, 5, []string{"admin", "anna", "Bert", "carl", "<null>"}},
			{"recurse=true", 6, 6, []string{"admin", "anna", "Bert", "carl", "dora", "<null>"}},
			{"recurse=True&search=ace", 6, 1, []string{"dora"}},
			{"search=ace", 5, 0, []string{}},
			{"search=ZOE", 5, 1, []string{"anna"}},
			{"search=muller", 5, 1, []string{"anna"}},
			{"search=bert@y", 5, 1, []string{"Bert"}},
			{"search=%25", 5, 1, []string{"carl"}},
			{"search=_", 5, 1, []string{"carl"}},
			{"search=%5C", 5, 1, []string{"carl"}},
			{"search='%20or%201=1--", 5, 0, []string{}},
			{"search=be%20example", 5, 1, []string{"Bert"}},
			{"search=n&limit=1", 5, 5, []string{"admin"}},
			{"username=Bert", 5, 1, []string{"Bert"}},
			{"username=bert", 5, 0, []string{}},
			{"purpose=user&order=username", 5, 3, []string{"anna", "carl", "<null>"}},
			{"uuid=" + ids["anna"], 5, 1, []string{"anna"}},
			{"uuid=" + ids["dora"], 5, 0, []string{}},
			{"uuid=junk", 5, 0, []string{}},
			{"firstname=Yann&lastname=Stone", 5, 1, []string{"Bert"}},
			{"email_address=anna@z.example", 5, 1, []string{"anna"}},
			{"group_uuid=" + group, 5, 1, []string{"Bert"}},
			{"policy_uuid=" + policy, 5, 1, []string{"anna"}},
			{"policy_slug=Reader", 5, 1, []string{"anna"}},
			{"has_policy_uuid=" + policy, 5, 2, []string{"anna", "Bert"}},
			{"has_policy_uuid=" + strings.ToUpper(policy), 5, 2, []string{"anna", "Bert"}},
			{"has_policy_uuid=urn:uuid:" + policy, 5, 0, []string{}},
			{"has_policy_slug=Reader", 5, 2, []string{"anna", "Bert"}},
			{"password_hash=x&unknown=1", 5, 5, []string{"admin", "anna", "Bert", "carl", "<null>"}},
		} {
			t.Run(c.query, func(t *testing.T) {
				s := s.in(t)
				l := s.do("GET", "/users?"+c.query, admin, "").List()
				if l.Total != c.total || l.Filtered != c.filtered || !slices.Equal(l.Column("username"), c.names) {
					t.Errorf("total %d, filtered %d, %q; want %d, %d, %q", l.Total, l.Filtered, l.Column("username"), c.total, c.filtered, c.names)
				}
			})
		}
		for query, field := range map[string]string{
			"limit=0": "limit", "limit=-1": "limit", "limit=1.5": "limit", "limit=": "limit", "limit=%2B5": "limit", "limit=1&limit=2": "limit",
			"offset=-1": "offset", "offset=9223372036854775808": "offset", "order=password_hash": "order", "order=name;drop": "order",
			"direction=up": "direction", "search=" + strings.Repeat("a", 201): "search", "recurse=maybe": "recurse",
		} {
			a := s.do("GET", "/users?"+strings.ReplaceAll(query, ";", "%3B"), admin, "").Want(400)
			if a.Text("error_id") == "invalid-data" && !strings.Contains(query, "&") || a.JSON("details."+field) == nil {
				t.Errorf("%s: %s", query, a.Body)
			}
		}
	})
}

// Of two administrators who disable each other at once, on two nodes, one stays.
func TestAdministratorsDisableEachOther(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		other := newNode(t, db, s.box)
		ada := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		eve := s.do("POST", "/users", admin, `{"username":"eve","password":"secret of eve"}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+eve+"/policies/"+authsvc.AdministratorPolicy, admin, "").Want(204)
		for range 5 {
			admin, second := s.login("admin", adminPassword), s.login("eve", "secret of eve")
			var statuses [2]int
			var both sync.WaitGroup
			both.Go(func() { statuses[0] = s.do("PUT", "/users/"+eve, admin, `{"enabled":false}`).Status })
			both.Go(func() { statuses[1] = other.do("PUT", "/users/"+ada, second, `{"enabled":false}`).Status })
			both.Wait()
			switch {
			case statuses[0] == 200 && statuses[1] != 200:
				s.do("PUT", "/users/"+eve, admin, `{"enabled":true}`).Want(200)
			case statuses[1] == 200 && statuses[0] != 200:
				s.do("PUT", "/users/"+ada, second, `{"enabled":true}`).Want(200)
			default:
				t.Fatalf("they are answered %v", statuses)
			}
		}
	})
}
