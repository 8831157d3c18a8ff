package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// accesses returns a policy's accesses, which come in no particular order.
func accesses(a resttest.Answer) []string {
	a.T.Helper()
	out := []string{}
	for _, x := range a.Want(200).JSON("acl").([]any) {
		out = append(out, x.(string))
	}
	slices.Sort(out)
	return out
}

func TestPolicies(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := s.do("POST", "/policies", admin, `{
			"name": " Voice mail, readers ", "description": "Two\nlines", "acl": ["confd.voicemails.#", "auth.users.me.read", "confd.voicemails.#", "!confd.voicemails.delete"],
			"uuid": "00000000-0000-4000-8000-000000000000", "tenant_uuid": "00000000-0000-4000-8000-000000000000", "read_only": true, "config_managed": true
		}`)
		if got, want := accesses(made), []string{"!confd.voicemails.delete", "auth.users.me.read", "confd.voicemails.#"}; !slices.Equal(got, want) {
			t.Errorf("acl %q, want %q", got, want)
		}
		id, master := made.Text("uuid"), s.do("GET", "/policies/"+authsvc.AdministratorPolicy, admin, "").Text("tenant_uuid")
		var all map[string]any
		if err := json.Unmarshal([]byte(made.Body), &all); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"name": "Voice mail, readers", "slug": "Voicemailreaders", "description": "Two\nlines", "read_only": false, "shared": false, "tenant_uuid": master,
		} {
			if all[name] != want {
				t.Errorf("%s is %v, want %v", name, all[name], want)
			}
		}
		if len(all) != 8 || id == "00000000-0000-4000-8000-000000000000" {
			t.Errorf("policy: %s", made.Body)
		}
		for _, by := range []string{id, "Voicemailreaders"} {
			if read := s.do("GET", "/policies/"+by, admin, "").Want(200); read.Body != made.Body {
				t.Errorf("read by %s: %s", by, read.Body)
			}
		}

		// PUT changes the fields that were sent, but never slug and shared.
		put := s.do("PUT", "/policies/"+id, admin, `{"description":null,"slug":"other","shared":true,"read_only":true}`).Want(200)
		if put.JSON("description") != nil || put.Text("slug") != "Voicemailreaders" || put.JSON("shared") != false || put.JSON("read_only") != false {
			t.Errorf("after PUT: %s", put.Body)
		}
		if got := accesses(put); len(got) != 3 {
			t.Errorf("acl %q after a PUT without it", got)
		}
		if got := accesses(s.do("PUT", "/policies/Voicemailreaders", admin, `{"name":"New","acl":[]}`)); len(got) != 0 {
			t.Errorf("acl %q", got)
		}
		s.do("PUT", "/policies/"+id, admin, `{"acl":null}`).Refused(400, "invalid-data").JSON("details.acl")
		s.do("PUT", "/policies/"+id, admin, `{"name":"Newer"}`, resttest.IfMatch(made.Header.Get("ETag"))).Refused(412, "precondition-failed")
		s.do("DELETE", "/policies/"+id, admin, "").Want(204)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			for _, by := range []string{id, "Voicemailreaders", "00000000-0000-4000-8000-000000000000"} {
				body := ""
				if method == "PUT" {
					body = "{}"
				}
				s.do(method, "/policies/"+by, admin, body).Refused(404, "unknown-policy")
			}
		}
	})
}

func TestPolicyRefusals(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		many := func(n int) string {
			list := make([]string, n)
			for i := range list {
				list[i] = fmt.Sprintf(`"confd.x%d.read"`, i)
			}
			return strings.Join(list, ",")
		}
		for _, c := range []struct{ name, body, field string }{
			{"no name", `{}`, "name"},
			{"null name", `{"name":null}`, "name"},
			{"blank name", `{"name":" \u00a0 "}`, "name"},
			{"long name", `{"name":"` + strings.Repeat("a", 81) + `"}`, "name"},
			{"invisible name", `{"name":"ro\u200dot"}`, "name"},
			{"bidi name", `{"name":"ro\u202eot"}`, "name"},
			{"control name", `{"name":"ro\not"}`, "name"},
			{"mixed name", `{"name":"rооt"}`, "name"},
			{"slug", `{"name":"a","slug":"a b"}`, "slug"},
			{"slug me", `{"name":"a","slug":"me"}`, "slug"},
			{"slug my_session", `{"name":"a","slug":"my_session"}`, "slug"},
			{"acl is text", `{"name":"a","acl":"x"}`, "acl"},
			{"acl of numbers", `{"name":"a","acl":[1]}`, "acl[0]"},
			{"empty access", `{"name":"a","acl":["confd.#",""]}`, "acl"},
			{"mixed wildcard", `{"name":"a","acl":["confd.us*"]}`, "acl"},
			{"empty word", `{"name":"a","acl":["confd..read"]}`, "acl"},
			{"space", `{"name":"a","acl":["confd.a b.read"]}`, "acl"},
			{"long access", `{"name":"a","acl":["` + strings.Repeat("a", 257) + `"]}`, "acl"},
			{"many words", `{"name":"a","acl":["` + strings.Repeat("a.", 32) + `a"]}`, "acl"},
			{"bare denial", `{"name":"a","acl":["!"]}`, "acl"},
			{"many accesses", `{"name":"a","acl":[` + many(1001) + `]}`, "acl"},
			{"shared", `{"name":"a","shared":1}`, "shared"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				a := s.do("POST", "/policies", admin, c.body).Refused(400, "invalid-data")
				if !strings.Contains(a.Body, `"`+c.field) {
					t.Errorf("the refusal does not name %s: %s", c.field, a.Body)
				}
			})
		}
		s.do("POST", "/policies", admin, `{"name":"a","description":"`+strings.Repeat("a", 1<<20)+`"}`).Want(413)

		// The thousandth access is the last, by whichever operation it is added.
		id := s.do("POST", "/policies", admin, `{"name":"many","acl":[`+many(1000)+`]}`).Want(200).Text("uuid")
		s.do("PUT", "/policies/"+id+"/acl/confd.one.more", admin, "").Refused(400, "invalid-data")
		s.do("DELETE", "/policies/"+id+"/acl/confd.x7.read", admin, "").Want(204)
		s.do("PUT", "/policies/"+id+"/acl/confd.one.more", admin, "").Want(204)
	})
}

// Case, width, encoding of accents and spaces make no difference in a name; case makes none in a slug.
func TestPolicyNamesAreUnique(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		s.do("POST", "/policies", admin, `{"name":"Café Crew","slug":"crew"}`).Want(200)
		for _, name := range []string{"Café Crew", "CAFÉ crew", "Cafe\\u0301 Crew", "  Café \\u3000 Crew ", "Ｃａｆé Crew"} {
			a := s.do("POST", "/policies", admin, `{"name":"`+name+`"}`).Refused(409, "conflict")
			if a.Text("details.name.constraint_id") != "unique" || strings.Contains(a.Body, "SQL") {
				t.Errorf("%s: %s", name, a.Body)
			}
		}
		s.do("POST", "/policies", admin, `{"name":"x","slug":"CREW"}`).Refused(409, "conflict").JSON("details.slug")
		s.do("POST", "/policies", admin, `{"name":"`+strings.ToUpper(authsvc.AdministratorPolicy)+`"}`).Refused(409, "conflict")
		other := s.do("POST", "/policies", admin, `{"name":"Other"}`).Want(200).Text("uuid")
		s.do("PUT", "/policies/"+other, admin, `{"name":"café crew"}`).Refused(409, "conflict")
		s.do("PUT", "/policies/"+other, admin, `{"name":"OTHER"}`).Want(200)

		// Each tenant has its own names, apart from those that it sees from above.
		s.do("POST", "/policies", admin, `{"name":"Café Crew","slug":"crew"}`, resttest.In(below)).Want(200)
		s.do("POST", "/policies", admin, `{"name":"`+authsvc.AdministratorPolicy+`"}`, resttest.In(below)).Refused(409, "conflict")
		s.do("POST", "/policies", admin, `{"name":"Night","shared":true}`).Want(200)
		s.do("POST", "/policies", admin, `{"name":"NIGHT"}`, resttest.In(below)).Refused(409, "conflict")
		s.do("POST", "/policies", admin, `{"name":"Day"}`, resttest.In(below)).Want(200)
		s.do("POST", "/policies", admin, `{"name":"day","shared":true}`).Refused(409, "conflict")
		s.do("POST", "/policies", admin, `{"name":"day"}`).Want(200)

		// A generated slug is free.
		for name, made := range map[string]bool{"Oth er": false, "!!!": false, "me": false, strings.Repeat("é", 80): false, "Third": true} {
			slug := s.do("POST", "/policies", admin, `{"name":"`+name+`"}`).Want(200).Text("slug")
			if (slug == name) != made || slug == "" || len(slug) > 80 {
				t.Errorf("the slug of %s is %s", name, slug)
			}
		}
	})
}

func TestListPolicies(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		reader := s.do("POST", "/policies", admin, `{"name":"Reader","description":"Señor","acl":["b.read","a.read"]}`).Text("uuid")
		writer := s.do("POST", "/policies", admin, `{"name":"writer","slug":"a-writer"}`).Text("uuid")
		sub := s.do("POST", "/policies", admin, `{"name":"Below"}`, resttest.In(below)).Text("uuid")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+reader, admin, "").Want(204)
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/"+writer, admin, "").Want(204)
		master := s.do("GET", "/policies/"+reader, admin, "").Text("tenant_uuid")
		const administrator = authsvc.AdministratorPolicy
		for _, c := range []struct {
			query           string
			total, filtered int
			names           []string
		}{
			{"", 3, 3, []string{"Reader", administrator, "writer"}},
			{"order=slug", 3, 3, []string{"writer", "Reader", administrator}},
			{"order=description&direction=desc", 3, 3, []string{"Reader", administrator, "writer"}},
			{"order=read_only&direction=desc&limit=1", 3, 3, []string{administrator}},
			{"limit=1&offset=2", 3, 3, []string{"writer"}},
			{"search=senor", 3, 1, []string{"Reader"}},
			{"search=%25", 3, 0, []string{}},
			{"name=Reader", 3, 1, []string{"Reader"}},
			{"slug=a-writer", 3, 1, []string{"writer"}},
			{"uuid=" + reader, 3, 1, []string{"Reader"}},
			{"user_uuid=" + user, 3, 1, []string{"Reader"}},
			{"group_uuid=" + group, 3, 1, []string{"writer"}},
			{"tenant_uuid=" + below, 3, 0, []string{}},
			{"tenant_uuid=" + master, 3, 3, []string{"Reader", administrator, "writer"}},
			{"read_only=True", 3, 1, []string{administrator}},
			{"read_only=false", 3, 2, []string{"Reader", "writer"}},
			{"recurse=true", 4, 4, []string{"Below", "Reader", administrator, "writer"}},
			{"recurse=true&uuid=" + sub, 4, 1, []string{"Below"}},
		} {
			t.Run(c.query, func(t *testing.T) {
				s := s.in(t)
				l := s.do("GET", "/policies?"+c.query, admin, "").List()
				if l.Total != c.total || l.Filtered != c.filtered || !slices.Equal(l.Column("name"), c.names) {
					t.Errorf("total %d, filtered %d, %q; want %d, %d, %q", l.Total, l.Filtered, l.Column("name"), c.total, c.filtered, c.names)
				}
			})
		}
		s.do("GET", "/policies?order=config_managed", admin, "").Refused(400, "invalid-list-param")

		mine := s.do("GET", "/users/"+user+"/policies?order=name", admin, "").List()
		if mine.Total != 1 || mine.Filtered != 1 || mine.Column("uuid")[0] != reader {
			t.Errorf("the user's policies: %+v", mine)
		}
		s.do("GET", "/users/00000000-0000-4000-8000-000000000000/policies", admin, "").Refused(404, "unknown-user")
	})
}

func TestReadOnlyPolicy(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		administrator := s.do("GET", "/policies/"+authsvc.AdministratorPolicy, admin, "").Want(200)
		if administrator.JSON("read_only") != true || !slices.Equal(accesses(administrator), []string{"#"}) {
			t.Errorf("the first policy: %s", administrator.Body)
		}
		path := "/policies/" + administrator.Text("uuid")
		s.do("PUT", path, admin, `{"name":"mine"}`).Refused(403, "forbidden-policy")
		s.do("PUT", path, admin, `{"acl":[]}`).Refused(403, "forbidden-policy")
		s.do("DELETE", path, admin, "").Refused(403, "forbidden-policy")
		s.do("PUT", path+"/acl/confd.x.read", admin, "").Refused(403, "forbidden-policy")
		s.do("DELETE", path+"/acl/%23", admin, "").Refused(403, "forbidden-policy")
		if after := s.do("GET", path, admin, ""); after.Body != administrator.Body {
			t.Errorf("the read-only policy has changed: %s", after.Body)
		}

		// Every tenant sees it as its own; the tenants below see a shared one, read-only.
		shared := s.do("POST", "/policies", admin, `{"name":"Shared","acl":["confd.users.read"],"shared":true}`).Text("uuid")
		private := s.do("POST", "/policies", admin, `{"name":"Private"}`).Text("uuid")
		l := s.do("GET", "/policies", admin, "", resttest.In(below)).List()
		if !slices.Equal(l.Column("name"), []string{"Shared"}) || l.Total != 1 {
			t.Errorf("policies below: %+v", l)
		}
		for _, p := range l.Items {
			if p["tenant_uuid"] != below || p["read_only"] != true || p["shared"] != false {
				t.Errorf("shown below: %v", p)
			}
		}
		for _, by := range []string{shared, "Shared"} {
			s.do("GET", "/policies/"+by, admin, "", resttest.In(below)).Want(200)
			s.do("PUT", "/policies/"+by, admin, `{"acl":[]}`, resttest.In(below)).Refused(403, "forbidden-policy")
			s.do("DELETE", "/policies/"+by, admin, "", resttest.In(below)).Refused(403, "forbidden-policy")
			s.do("PUT", "/policies/"+by+"/acl/x.y", admin, "", resttest.In(below)).Refused(403, "forbidden-policy")
		}
		for _, by := range []string{private, "Private"} {
			s.do("GET", "/policies/"+by, admin, "", resttest.In(below)).Refused(404, "unknown-policy")
		}
		if own := s.do("GET", "/policies/"+shared, admin, ""); own.JSON("shared") != true || own.JSON("read_only") != false {
			t.Errorf("shown in its own tenant: %s", own.Body)
		}
		// A shared policy of a tenant below is not read-only above, like any other policy there.
		lower := s.do("POST", "/policies", admin, `{"name":"Lower","shared":true}`, resttest.In(below)).Text("uuid")
		if a := s.do("PUT", "/policies/"+lower, admin, `{"description":"x"}`).Want(200); a.Text("tenant_uuid") != below || a.JSON("shared") != true {
			t.Errorf("edited from above: %s", a.Body)
		}
		// A slug does not name a policy of a tenant below; a UUID does.
		s.do("GET", "/policies/Lower", admin, "").Refused(404, "unknown-policy")
	})
}

func TestPolicyAccesses(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		id := s.do("POST", "/policies", admin, `{"name":"p","acl":["a.read"]}`).Text("uuid")
		path := func(access string) string { return "/policies/" + id + "/acl/" + url.PathEscape(access) }
		for _, access := range []string{"auth.#", "confd.*.read", "!confd.users.delete", "confd.users.me.read", "me"} {
			a := s.do("PUT", path(access), admin, "").Want(204)
			if a.Body != "" {
				t.Errorf("body %q", a.Body)
			}
			again := s.do("PUT", path(access), admin, "").Refused(409, "conflict")
			if !strings.Contains(again.Text("message"), access) {
				t.Errorf("%s: %s", access, again.Body)
			}
		}
		if got, want := accesses(s.do("GET", "/policies/p", admin, "")), []string{"!confd.users.delete", "a.read", "auth.#", "confd.*.read", "confd.users.me.read", "me"}; !slices.Equal(got, want) {
			t.Errorf("acl %q, want %q", got, want)
		}
		s.do("DELETE", path("auth.#"), admin, "").Want(204)
		s.do("DELETE", path("auth.#"), admin, "").Want(204)
		s.do("DELETE", path("nope.x"), admin, "").Want(204)
		s.do("DELETE", "/policies/p/acl/me", admin, "").Want(204)
		if got := accesses(s.do("GET", "/policies/p", admin, "")); len(got) != 4 {
			t.Errorf("acl %q", got)
		}
		for _, access := range []string{"a..b", "a*", "!", "!!a", "."} {
			for _, method := range []string{"PUT", "DELETE"} {
				if a := s.do(method, path(access), admin, ""); a.Status != 400 {
					t.Errorf("%s %s: %d", method, access, a.Status)
				}
			}
		}
		s.do("PUT", "/policies/00000000-0000-4000-8000-000000000000/acl/a.b", admin, "").Refused(404, "unknown-policy")
		s.do("DELETE", "/policies/00000000-0000-4000-8000-000000000000/acl/a.b", admin, "").Refused(404, "unknown-policy")
	})
}

func TestGivePolicies(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, policy, token := s.account(admin, "ann", "confd.users.read")
		const nobody = "00000000-0000-4000-8000-000000000000"
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
		if l := s.do("GET", "/users/"+user+"/policies", admin, "").List(); l.Total != 1 {
			t.Errorf("given twice: %+v", l)
		}
		for _, method := range []string{"PUT", "DELETE"} {
			s.do(method, "/users/"+user+"/policies/"+nobody, admin, "").Refused(404, "unknown-policy")
			s.do(method, "/users/"+nobody+"/policies/"+policy, admin, "").Refused(404, "unknown-user")
		}
		s.do("HEAD", "/token/"+token+"?scope=confd.users.read", "", "").Want(204)
		s.do("DELETE", "/users/"+user+"/policies/ann", admin, "").Want(204) // by the slug
		s.do("HEAD", "/token/"+token+"?scope=confd.users.read", "", "").Want(403)
		s.do("DELETE", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/users/"+user+"/policies/ann", admin, "").Want(204)
		s.do("HEAD", "/token/"+token+"?scope=confd.users.read", "", "").Want(204)
		// Deleting the policy takes away what it gave.
		s.do("DELETE", "/policies/"+policy, admin, "").Want(204)
		s.do("HEAD", "/token/"+token+"?scope=confd.users.read", "", "").Want(403)
		s.do("HEAD", "/token/"+token, "", "").Want(204)
	})
}
