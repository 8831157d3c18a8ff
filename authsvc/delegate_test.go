package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// manage holds what an operator needs to call the operations at all; the tests add to it.
var manage = []string{"auth.users.#", "auth.policies.#", "auth.groups.#"}

func jsonList(t *testing.T, accesses ...string) string {
	t.Helper()
	text, err := json.Marshal(accesses)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// By each way of giving, an access is given exactly if the caller covers it.
func TestNobodyGivesWhatTheyDoNotHold(t *testing.T) {
	const other = "6f9b2a51-98c5-4d9c-a6c0-8b3e6e1c7d11"
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		target := s.do("POST", "/users", admin, `{"username":"target"}`).Text("uuid")
		for i, c := range []struct {
			holds []string
			gives []string
			lacks string // "": it is given; ME: over its receiver
		}{
			{holds: []string{"confd.#"}, gives: []string{"confd.#"}},
			{holds: []string{"confd.#"}, gives: []string{"confd.users.read", "confd.*.read", "confd.#.read"}},
			{holds: []string{"confd.#"}, gives: []string{"#"}, lacks: "#"},
			{holds: []string{"confd.#"}, gives: []string{"confd.users.read", "*.#"}, lacks: "*.#"},
			{holds: []string{"confd.#"}, gives: []string{"auth.tenants.read"}, lacks: "auth.tenants.read"},
			{holds: []string{"confd.*.read"}, gives: []string{"confd.#.read"}, lacks: "confd.#.read"},
			{holds: []string{"confd.*.read"}, gives: []string{"confd.users.read", "confd.*.read"}},
			{holds: []string{"#", "!confd.users.delete"}, gives: []string{"confd.users.*"}, lacks: "confd.users.*"},
			{holds: []string{"#", "!confd.users.delete"}, gives: []string{"confd.#"}, lacks: "confd.#"},
			{holds: []string{"#", "!confd.users.delete"}, gives: []string{"#"}, lacks: "#"},
			{holds: []string{"#", "!confd.users.delete"}, gives: []string{"#", "!confd.users.delete"}}, // with what they are denied
			{holds: []string{"#", "!confd.users.delete"}, gives: []string{"confd.users.read"}},
			{holds: []string{"confd.users.me.#"}, gives: []string{"confd.users.me.#"}, lacks: "confd.users.ME.#"},
			{holds: []string{"confd.users.me.#"}, gives: []string{"confd.users.me.lines.read"}, lacks: "confd.users.ME.lines.read"},
			{holds: []string{"confd.users.*.#"}, gives: []string{"confd.users.me.#"}},
			{holds: []string{"auth.sessions.my_session.delete"}, gives: []string{"auth.sessions.my_session.delete"}, lacks: "auth.sessions.*.delete"},
			{holds: []string{"confd.users.me.#"}, gives: []string{"confd.users." + other + ".read"}, lacks: "confd.users." + other + ".read"},
			{holds: []string{"confd.users.me.#"}, gives: []string{"confd.users.*.read"}, lacks: "confd.users.*.read"},
			{holds: []string{"confd.users.me.read", "!confd.users." + other + ".read"}, gives: []string{"confd.users.me.read"}, lacks: "confd.users.ME.read"},
			{holds: []string{"confd.users.read", "confd.users.create"}, gives: []string{"confd.users.*"}, lacks: "confd.users.*"},
			{holds: []string{"confd.#", "auth.tenants.read"}, gives: []string{"!auth.tenants.read"}},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := s.in(t)
				name := fmt.Sprintf("operator%d", i)
				_, _, token := s.account(admin, name, append(c.holds, manage...)...)
				list := jsonList(t, c.gives...)
				given := s.do("POST", "/policies", admin, `{"name":"`+name+` gives","acl":`+list+`}`).Text("uuid")
				empty := s.do("POST", "/policies", admin, `{"name":"`+name+` empty"}`).Text("uuid")
				group := s.do("POST", "/groups", admin, `{"name":"`+name+`"}`).Text("uuid")
				full := s.do("POST", "/groups", admin, `{"name":"`+name+` full"}`).Text("uuid")
				personal := c.lacks != "" && c.lacks != c.gives[len(c.gives)-1] && len(c.gives) == 1 // nobody holds it until somebody receives it
				if personal {
					s.do("PUT", "/groups/"+group+"/users/"+target, admin, "").Want(204)
				}
				c.lacks = strings.ReplaceAll(c.lacks, "ME", target)
				s.do("PUT", "/groups/"+full+"/policies/"+given, admin, "").Want(204)
				for _, way := range [][3]string{
					{"POST", "/policies", `{"name":"` + name + ` new","acl":` + list + `}`},
					{"PUT", "/policies/" + empty, `{"acl":` + list + `}`},
					{"PUT", "/policies/" + empty + "/acl/" + url.PathEscape(c.gives[len(c.gives)-1]), ""},
					{"PUT", "/users/" + target + "/policies/" + given, ""},
					{"PUT", "/groups/" + group + "/policies/" + given, ""},
					{"PUT", "/groups/" + full + "/users/" + target, ""},
				} {
					a := s.do(way[0], way[1], token, way[2])
					switch {
					case personal && strings.HasPrefix(way[1], "/policies"):
					case strings.Contains(way[1], "/acl/") && (c.lacks != "" && c.gives[len(c.gives)-1] != c.lacks):
						// the last one alone may be given
					case strings.Contains(way[1], "/acl/") && c.lacks == "":
						a.Want(409) // PUT has given it already
					case c.lacks != "":
						a.Lacks(c.lacks)
					case a.Status != 200 && a.Status != 204:
						t.Errorf("%s %s: %d %s", way[0], way[1], a.Status, a.Body)
					}
				}
				s.do("DELETE", "/groups/"+full+"/users/"+target, admin, "").Want(204)
				if c.lacks == "" {
					s.do("DELETE", "/users/"+target+"/policies/"+given, token, "").Want(204)
				}
			})
		}
	})
}

// What somebody gives is given with what they are denied: by the policy, or by what the receiver is denied already.
func TestDenialsGoWithWhatIsGiven(t *testing.T) {
	const other = "6f9b2a51-98c5-4d9c-a6c0-8b3e6e1c7d11"
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for i, c := range []struct {
			denied string
			has    []string // what the receiver has from elsewhere
			gives  []string
			add    string // what a refusal says to add; "": it is given
		}{
			{denied: "!confd.users.17.#", gives: []string{"confd.users.read"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.#", gives: []string{"confd.lines.read"}, add: "!confd.users.17.#"}, // lines show users
			{denied: "!confd.users.17.#", gives: []string{"confd.users.read", "!confd.users.17.read"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.#", gives: []string{"confd.users.read", "!confd.users.17.#"}},
			{denied: "!confd.users.17.#", gives: []string{"confd.users.read", "!confd.users.*.#"}},
			{denied: "!confd.users.17.#", gives: []string{"confd.users.read", "!confd.users.17.*", "!confd.users.17.*.#"}}, // together
			{denied: "!confd.users.17.#", gives: []string{"confd.#", "!confd.users.17.#"}},
			{denied: "!confd.users.17.#", gives: []string{"#"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.#", gives: []string{"calld.#", "auth.users.read"}}, // other services
			{denied: "!confd.users.17.#", gives: []string{"auth.audit.read"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.#", gives: []string{"auth.*.read"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.#", gives: []string{"call-logd.cdr.read"}, add: "!confd.users.17.#"}, // calls are shown without those of 17
			{denied: "!confd.users.17.#", gives: []string{"call-logd.users.me.cdr.read"}},
			{denied: "!confd.users.17.update", gives: []string{"call-logd.#.read"}},
			{denied: "!confd.lines.5.read", gives: []string{"sysconfd.asterisk.read"}, add: "!confd.lines.5.read"},
			{denied: "!confd.lines.5.read", gives: []string{"sysconfd.#"}, add: "!confd.lines.5.read"},
			{denied: "!confd.lines.5.delete", gives: []string{"auth.tenants.*.delete"}, add: "!confd.lines.5.delete"}, // with all that they have
			{denied: "!confd.lines.5.delete", gives: []string{"auth.tenants.create", "auth.tenants.*.update"}},
			{denied: "!confd.users.17.#", has: []string{"!confd.users.17.#"}, gives: []string{"confd.users.read"}},
			{denied: "!confd.users.17.#", has: []string{"confd.users.read"}, gives: []string{"confd.users.read"}},
			{denied: "!confd.users.17.#", has: []string{"confd.users.*.read"}, gives: []string{"confd.users.read"}, add: "!confd.users.17.#"},
			{denied: "!confd.users.17.update", gives: []string{"confd.#.read"}},
			{denied: "!confd.users.17.update", gives: []string{"confd.users.update"}, add: "!confd.users.17.update"},
			{denied: "!confd.users.17.#", gives: []string{"confd.users.me.#"}, add: "!confd.users.17.#"},
			{denied: "!confd.lines.5.#", gives: []string{"confd.users.me.#"}, add: "!confd.lines.5.#"},
			{denied: "!confd.lines.5.#", gives: []string{"confd.users.me.lines.*.update"}, add: "!confd.lines.5.#"},
			{denied: "!confd.*.5.#", gives: []string{"confd.users.me.lines.*.update"}, add: "!confd.*.5.#"},
			{denied: "!confd.lines.5.#", gives: []string{"confd.users.me.read", "confd.users.me.#.read", "confd.users.me.forwards.*.update"}},
			{denied: "!confd.users.me.#", gives: []string{"confd.users.read"}, add: "!confd.users.ME.#"},
			{denied: "!confd.users.me.#", gives: []string{"confd.users.read", "!confd.users.me.#"}, add: "!confd.users.ME.#"},
			{denied: "!confd.users.me.#", gives: []string{"confd.users.read", "!confd.users.ME.#"}},
			{denied: "!confd.users." + other + ".#", gives: []string{"confd.users.me.read"}},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := s.in(t)
				name := fmt.Sprintf("giver%d", i)
				giver, _, token := s.account(admin, name, "#", c.denied)
				for i := range c.gives {
					c.gives[i] = strings.ReplaceAll(c.gives[i], "ME", giver)
				}
				c.add = strings.ReplaceAll(c.add, "ME", giver)
				target, _, _ := s.account(admin, "target"+name, append(c.has, "dird.read")...)
				given := s.do("POST", "/policies", admin, `{"name":"of `+name+`","acl":`+jsonList(t, c.gives...)+`}`).Want(200).Text("uuid")
				group := func(what string, puts ...string) string {
					group := s.do("POST", "/groups", admin, `{"name":"`+name+what+`"}`).Want(200).Text("uuid")
					for _, put := range puts {
						s.do("PUT", "/groups/"+group+"/"+put, admin, "").Want(204)
					}
					return group
				}
				with, full, edited := group("with", "users/"+target), group("full", "policies/"+given), s.do("POST", "/policies", admin, `{"name":"edited `+name+`"}`).Want(200).Text("uuid")
				group("edits", "users/"+target, "policies/"+edited)
				for _, way := range [][3]string{
					{"PUT", "/users/" + target + "/policies/" + given, "/users/" + target + "/policies/" + given},
					{"PUT", "/groups/" + with + "/policies/" + given, "/groups/" + with + "/policies/" + given},
					{"PUT", "/groups/" + full + "/users/" + target, "/groups/" + full + "/users/" + target},
					{"PUT", "/policies/" + edited, ""},
				} {
					body := ""
					if way[2] == "" {
						body = `{"acl":` + jsonList(t, c.gives...) + `}`
					}
					a := s.do(way[0], way[1], token, body)
					if c.add == "" && a.Status != 200 && a.Status != 204 {
						t.Errorf("%s %s: %d %s", way[0], way[1], a.Status, a.Body)
					}
					if c.add != "" && !strings.Contains(a.Refused(403, "forbidden").Text("message"), "add "+c.add+" to the policy") {
						t.Errorf("%s %s: %s", way[0], way[1], a.Body)
					}
					if c.add == "" && way[2] != "" {
						s.do("DELETE", way[2], admin, "").Want(204)
					}
				}
			})
		}
	})
}

// Nobody gets at what they are denied by acting on somebody who is denied less: a new password, or an address, is all that the user holds.
func TestNobodyActsOnThoseWhoAreDeniedLess(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, _, token := s.account(admin, "operator", "#", "!confd.users.17.#")
		for i, c := range []struct {
			holds []string
			may   bool
		}{
			{[]string{"confd.users.read"}, false},
			{[]string{"confd.#"}, false},
			{[]string{"confd.users.read", "!confd.users.17.#"}, true},
			{[]string{"#", "!confd.#"}, true},
			{[]string{"confd.users.me.read", "confd.users.me.forwards.*.update", "auth.users.me.#", "calld.#"}, true},
		} {
			user, policy, _ := s.account(admin, fmt.Sprint("user", i), c.holds...)
			for _, way := range [][3]string{
				{"POST", "/users/password/reset?user_uuid=" + user, `{"password":"x"}`},
				{"PUT", "/admin/users/" + user + "/emails", `{"emails":[]}`},
				{"PUT", "/users/" + user, `{"firstname":"x"}`},
				{"PUT", "/idp/native/users/" + user, ""},
			} {
				a := s.do(way[0], way[1], token, way[2], resttest.Header("X-Auth-Token", token))
				if ok := a.Status < 300; ok != c.may {
					t.Errorf("%s: %s %s: %d %s", c.holds, way[0], way[1], a.Status, a.Body)
				}
			}
			// They lose by it at most.
			if a := s.do("DELETE", "/users/"+user+"/policies/"+policy, token, ""); a.Status != 204 && !slices.Contains(c.holds, "confd.#") {
				t.Errorf("%s: %d %s", c.holds, a.Status, a.Body)
			}
		}
	})
}

// Taking a denial away gives what it denied, and a caller who does not hold a grant cannot take it from others.
func TestNobodyTakesWhatTheyDoNotHold(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for i, c := range []struct {
			holds []string
			acl   []string
			lacks string
		}{
			{[]string{"confd.#"}, []string{"!confd.users.delete"}, ""},
			{[]string{"confd.#", "!confd.users.delete"}, []string{"!confd.users.delete"}, "confd.users.delete"},
			{[]string{"confd.#"}, []string{"!auth.tenants.#"}, "auth.tenants.#"},
			{[]string{"confd.#"}, []string{"!#"}, "#"},
			{[]string{"confd.#"}, []string{"confd.users.read"}, ""},
			{[]string{"confd.#"}, []string{"confd.users.read", "chatd.#"}, "chatd.#"},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := s.in(t)
				name := fmt.Sprintf("operator%d", i)
				_, _, token := s.account(admin, name, append(c.holds, manage...)...)
				list := jsonList(t, c.acl...)
				policy := func(suffix string) string {
					return s.do("POST", "/policies", admin, `{"name":"`+name+suffix+`","acl":`+list+`}`).Want(200).Text("uuid")
				}
				edited, picked, deleted, attached, joined, grouped := policy("a"), policy("b"), policy("c"), policy("d"), policy("e"), policy("f")
				user := s.do("POST", "/users", admin, `{"username":"target`+name+`"}`).Text("uuid")
				s.do("PUT", "/users/"+user+"/policies/"+attached, admin, "").Want(204)
				group := func(suffix, policy string) string {
					id := s.do("POST", "/groups", admin, `{"name":"`+name+suffix+`"}`).Text("uuid")
					s.do("PUT", "/groups/"+id+"/policies/"+policy, admin, "").Want(204)
					s.do("PUT", "/groups/"+id+"/users/"+user, admin, "").Want(204)
					return id
				}
				left, stripped, removed := group("l", joined), group("s", grouped), group("r", grouped)
				for _, way := range [][3]string{
					{"PUT", "/policies/" + edited, `{"acl":[]}`},
					{"DELETE", "/policies/" + picked + "/acl/" + url.PathEscape(c.acl[len(c.acl)-1]), ""},
					{"DELETE", "/policies/" + deleted, ""},
					{"DELETE", "/groups/" + left + "/users/" + user, ""},
					{"DELETE", "/groups/" + stripped + "/policies/" + grouped, ""},
					{"DELETE", "/groups/" + removed, ""},
				} {
					a := s.do(way[0], way[1], token, way[2])
					// Acting on the user also needs all that the user holds, whatever is taken.
					switch {
					case c.lacks != "":
						a.Lacks(c.lacks)
					case a.Status != 200 && a.Status != 204:
						t.Errorf("%s %s: %d %s", way[0], way[1], a.Status, a.Body)
					}
				}
				if a := s.do("DELETE", "/users/"+user+"/policies/"+attached, token, ""); c.lacks != "" {
					a.Lacks(c.lacks)
				} else {
					a.Want(204)
				}
			})
		}
	})
}

// A caller cannot act on a user who may do more.
func TestNobodyActsOnTheMorePrivileged(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		operator, own, token := s.account(admin, "operator", append([]string{"confd.users.#", "confd.users.me.#"}, manage...)...)
		peer, _, _ := s.account(admin, "peer", "confd.users.read", "auth.users.read")
		first := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		more, _, _ := s.account(admin, "more", "confd.users.read", "confd.voicemails.read")
		viaGroup := s.do("POST", "/users", admin, `{"username":"member"}`).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/more", admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/users/"+viaGroup, admin, "").Want(204)
		denied, _, _ := s.account(admin, "denied", "confd.voicemails.read", "!confd.voicemails.read")
		light := s.do("POST", "/policies", admin, `{"name":"light","acl":["confd.users.read"]}`).Text("uuid")
		nothing := s.do("POST", "/policies", admin, `{"name":"nothing","acl":["!#"]}`).Text("uuid")

		for _, c := range []struct{ name, user, lacks string }{
			{"administrator", first, "#"},
			{"one access more", more, "confd.voicemails.read"},
			{"one access more, by a group", viaGroup, "confd.voicemails.read"},
			{"one access more, denied to them", denied, "confd.voicemails.read"}, // refused though it is equal in the end
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				before := s.do("GET", "/users/"+c.user, admin, "").Want(200).Body
				for _, body := range []string{`{"username":"taken"}`, `{"enabled":false}`, `{"authentication_method":"ldap"}`, `{}`} {
					s.do("PUT", "/users/"+c.user, token, body).Lacks(c.lacks)
				}
				s.do("DELETE", "/users/"+c.user, token, "").Lacks(c.lacks)
				s.do("PUT", "/users/"+c.user+"/policies/"+light, token, "").Want(204) // takes nothing, and the operator holds it
				s.do("DELETE", "/users/"+c.user+"/policies/"+light, token, "").Lacks(c.lacks)
				s.do("DELETE", "/users/"+c.user+"/policies/"+light, admin, "").Want(204)
				s.do("PUT", "/users/"+c.user+"/policies/"+nothing, token, "").Lacks(c.lacks)
				if after := s.do("GET", "/users/"+c.user, admin, "").Body; after != before {
					t.Errorf("the user has changed: %s", after)
				}
			})
		}
		// Callers may act on equal and lesser users, and on themselves.
		s.do("PUT", "/users/"+peer, token, `{"firstname":"Peer"}`).Want(200)
		s.do("PUT", "/users/"+peer+"/policies/"+nothing, token, "").Want(204)
		s.do("PUT", "/users/"+operator, token, `{"firstname":"Me"}`).Want(200)
		s.do("DELETE", "/users/"+peer, token, "").Want(204)

		// Callers cannot raise themselves, or lower others.
		s.do("PUT", "/policies/"+own+"/acl/"+url.PathEscape("#"), token, "").Lacks("#")
		s.do("PUT", "/policies/more/acl/confd.users.create", token, "").Lacks("confd.voicemails.read") // of a mightier user
		s.do("PUT", "/policies/more/acl/"+url.PathEscape("!confd.voicemails.read"), token, "").Lacks("confd.voicemails.read")
		s.do("PUT", "/policies/more/acl/"+url.PathEscape("!confd.users.create"), token, "").Lacks("confd.voicemails.read")
		s.do("DELETE", "/policies/more/acl/confd.voicemails.read", token, "").Lacks("confd.voicemails.read")
		s.do("DELETE", "/policies/more", token, "").Lacks("confd.voicemails.read")
	})
}

// Holding rights over oneself does not cover the rights that others hold over themselves: taking over an account means taking
// over its data.
func TestOwnDataIsNotTheOperators(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		victim, _, _ := s.account(admin, "victim", "confd.users.me.#", "auth.sessions.my_session.delete")
		_, _, operator := s.account(admin, "operator", append([]string{"confd.users.me.#", "auth.sessions.my_session.delete"}, manage...)...)
		s.do("PUT", "/users/"+victim, operator, `{"username":"mine"}`).Lacks("auth.sessions.*.delete")
		_, _, operator = s.account(admin, "nearly", append([]string{"confd.users.me.#", "auth.sessions.*.delete"}, manage...)...)
		s.do("PUT", "/users/"+victim, operator, `{"username":"mine"}`).Lacks("confd.users." + victim + ".#")
		for i, enough := range []string{"confd.users.*.#", "confd.users." + victim + ".#", "confd.#"} {
			_, _, operator = s.account(admin, fmt.Sprintf("able%d", i), append([]string{enough, "auth.sessions.*.delete"}, manage...)...)
			s.do("PUT", "/users/"+victim, operator, `{"firstname":"x"}`).Want(200)
		}
	})
}

// A login never fails because its user was given too much: the giving fails.
func TestTooManyAccesses(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user := s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`).Text("uuid")
		policies := make([]string, 5)
		for i := range policies {
			n := acl.MaxPolicyPatterns
			if i == 4 {
				n = acl.MaxPatterns - 4*acl.MaxPolicyPatterns
			}
			accesses := make([]string, n)
			for j := range accesses {
				accesses[j] = fmt.Sprintf("confd.p%d.a%d", i, j)
			}
			policies[i] = s.do("POST", "/policies", admin, `{"name":"p`+fmt.Sprint(i)+`","acl":`+jsonList(t, accesses...)+`}`).Want(200).Text("uuid")
			s.do("PUT", "/users/"+user+"/policies/"+policies[i], admin, "").Want(204)
		}
		token := s.login("ann", "x")
		if n := len(s.do("GET", "/token/"+token, "", "").JSON("data.acl").([]any)); n != acl.MaxPatterns {
			t.Errorf("the token has %d accesses", n)
		}
		one := s.do("POST", "/policies", admin, `{"name":"one","acl":["confd.one.more"]}`).Text("uuid")
		same := s.do("POST", "/policies", admin, `{"name":"same","acl":["confd.p0.a0"]}`).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/"+one, admin, "").Want(204)
		s.do("PUT", "/users/"+user+"/policies/"+one, admin, "").Refused(409, "too-many-accesses")
		s.do("PUT", "/groups/"+group+"/users/"+user, admin, "").Refused(409, "too-many-accesses")
		s.do("PUT", "/policies/"+policies[4]+"/acl/confd.one.more", admin, "").Refused(409, "too-many-accesses")
		s.do("PUT", "/policies/"+policies[4], admin, `{"acl":["confd.one.more"]}`).Want(200)
		s.do("PUT", "/users/"+user+"/policies/"+same, admin, "").Want(204)
		second := s.do("POST", "/groups", admin, `{"name":"h"}`).Text("uuid")
		s.do("PUT", "/groups/"+second+"/users/"+user, admin, "").Want(204)
		big := make([]string, 200)
		for j := range big {
			big[j] = fmt.Sprintf("confd.big.a%d", j)
		}
		large := s.do("POST", "/policies", admin, `{"name":"big","acl":`+jsonList(t, big...)+`}`).Text("uuid")
		s.do("PUT", "/groups/"+second+"/policies/"+large, admin, "").Refused(409, "too-many-accesses")
		s.login("ann", "x")
	})
}

// The group of all users may hold too much while there are none.
func TestTooManyAccessesForANewUser(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		tenant := s.tenant(admin, "empty")
		there := resttest.In(tenant)
		for i := range 5 {
			accesses := make([]string, acl.MaxPolicyPatterns)
			for j := range accesses {
				accesses[j] = fmt.Sprintf("confd.p%d.a%d", i, j)
			}
			policy := s.do("POST", "/policies", admin, `{"name":"p`+fmt.Sprint(i)+`","acl":`+jsonList(t, accesses...)+`}`, there).Want(200).Text("uuid")
			s.do("PUT", "/groups/"+tenant+"/policies/"+policy, admin, "", there).Want(204)
		}
		s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`, there).Refused(409, "too-many-accesses")
		if left := s.do("GET", "/users", admin, "", there).List().Column("uuid"); len(left) != 0 {
			t.Errorf("there are users: %v", left)
		}
	})
}
