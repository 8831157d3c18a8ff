package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// operationCalls has at least one call of every operation but those of SAML. Each request is prepared as the administrator.
var operationCalls = []struct {
	of, name string
	request  func(t *testing.T, s *operationsSite) request
}{
	{"POST /token", "", func(t *testing.T, s *operationsSite) request {
		_, name := s.person(t)
		return request{body: `{"expiration":60}`, edit: resttest.Basic(name, password), says: `"session_uuid"`}
	}},
	{"GET /token/{token}", "", func(_ *testing.T, s *operationsSite) request {
		return request{params: values("token", s.admin), query: "?scope=auth.users.read", says: `"acl":["#"]`}
	}},
	{"GET /token/{token}", "scope", func(t *testing.T, s *operationsSite) request {
		s.hold(t, "auth.users.read")
		return request{params: values("token", s.token), query: "?scope=auth.users.create", status: 403, says: "auth.users.create"}
	}},
	{"HEAD /token/{token}", "", func(_ *testing.T, s *operationsSite) request {
		return request{params: values("token", s.admin)}
	}},
	{"DELETE /token/{token}", "", func(t *testing.T, s *operationsSite) request {
		_, name := s.person(t)
		return request{params: values("token", s.login(t, name, password, "{}").Text("data.token")), says: "success"}
	}},
	{"POST /token/{token}/scopes/check", "", func(t *testing.T, s *operationsSite) request {
		s.hold(t, "auth.users.read")
		return request{params: values("token", s.token), body: `{"scopes":["auth.users.read","auth.x.y"]}`, says: `"auth.x.y":false`}
	}},

	{"GET /users", "", func(*testing.T, *operationsSite) request {
		return request{query: "?order=lastname&direction=desc&limit=1&search=call&username=caller", says: `"filtered":1`}
	}},
	{"POST /users", "", func(_ *testing.T, s *operationsSite) request {
		return request{body: fmt.Sprintf(`{"username":%q,"password":%q,"purpose":"internal"}`, s.name(), password), says: `"authentication_method":"native"`}
	}},
	{"GET /users/{user_uuid}", "", ofUser("")},
	{"PUT /users/{user_uuid}", "", ofUser(`{"firstname":"Ada"}`)},
	{"DELETE /users/{user_uuid}", "", ofUser("")},
	{"PUT /users/{user_uuid}/password", "", func(t *testing.T, s *operationsSite) request {
		user, _ := s.person(t)
		return request{params: values("user_uuid", user), body: fmt.Sprintf(`{"old_password":%q,"new_password":"another one"}`, password)}
	}},
	{"GET /users/{user_uuid}/second_factor", "", ofUser("")},
	{"POST /users/{user_uuid}/second_factor", "", func(_ *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.caller), body: `{"password":"secret of caller"}`, says: `"uri":"otpauth://totp/`}
	}},
	{"PUT /users/{user_uuid}/second_factor", "", func(t *testing.T, s *operationsSite) request {
		s.hold(t, "auth.users.me.second_factor.create")
		made := s.Do(t, "POST", authBase+"/users/"+s.caller+"/second_factor", s.token, `{"password":"secret of caller"}`).Want(200)
		code, err := hotp.GenerateCode(made.Text("secret"), uint64(time.Now().Unix()/30))
		if err != nil {
			t.Fatal(err)
		}
		return request{params: values("user_uuid", s.caller), body: `{"enabled":false,"otp":"` + code + `"}`, says: `"enabled":false`}
	}},
	{"DELETE /users/{user_uuid}/second_factor", "", func(t *testing.T, s *operationsSite) request {
		user, name := s.person(t)
		s.put(t, "/users/"+user+"/policies/"+s.create(t, "policies", `{"name":%q,"acl":["auth.users.me.second_factor.create"]}`, s.name()), "")
		token := s.login(t, name, password, "{}").Text("data.token")
		s.Do(t, "POST", authBase+"/users/"+user+"/second_factor", token, fmt.Sprintf(`{"password":%q}`, password)).Want(200)
		return request{params: values("user_uuid", user), also: []string{"auth.users." + user + ".second_factor.create"}}
	}},
	{"GET /users/{user_uuid}/groups", "", func(t *testing.T, s *operationsSite) request {
		user, group := s.user(t), s.group(t)
		s.put(t, "/groups/"+group+"/users/"+user, "")
		return request{params: values("user_uuid", user), query: "?order=name", says: group}
	}},
	{"GET /users/{user_uuid}/policies", "", func(t *testing.T, s *operationsSite) request {
		user, policy := s.user(t), s.aPolicy(t)
		s.put(t, "/users/"+user+"/policies/"+policy, "")
		return request{params: values("user_uuid", user), query: "?order=description", says: policy}
	}},
	{"PUT /users/{user_uuid}/policies/{policy_uuid}", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.user(t), "policy_uuid", s.aPolicy(t))}
	}},
	{"PUT /users/{user_uuid}/policies/{policy_uuid}", "by slug", func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.user(t), "policy_uuid", s.slug(t))}
	}},
	{"DELETE /users/{user_uuid}/policies/{policy_uuid}", "", func(t *testing.T, s *operationsSite) request {
		user, policy := s.user(t), s.aPolicy(t)
		s.put(t, "/users/"+user+"/policies/"+policy, "")
		return request{params: values("user_uuid", user, "policy_uuid", policy)}
	}},
	{"DELETE /users/{user_uuid}/policies/{policy_uuid}", "by slug", func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.user(t), "policy_uuid", s.slug(t))}
	}},
	{"GET /users/{user_uuid}/sessions", "", func(t *testing.T, s *operationsSite) request {
		user, name := s.person(t)
		return request{params: values("user_uuid", user), query: "?limit=5", says: s.login(t, name, password, "{}").Text("data.session_uuid")}
	}},
	{"DELETE /users/{user_uuid}/sessions/{session_uuid}", "", func(t *testing.T, s *operationsSite) request {
		user, name := s.person(t)
		return request{params: values("user_uuid", user, "session_uuid", s.login(t, name, password, "{}").Text("data.session_uuid"))}
	}},
	{"GET /sessions", "", func(_ *testing.T, s *operationsSite) request {
		return request{query: "?recurse=true&order=mobile", says: `"user_uuid":"` + s.caller}
	}},
	{"DELETE /sessions/{session_uuid}", "", func(t *testing.T, s *operationsSite) request {
		_, name := s.person(t)
		return request{params: values("session_uuid", s.login(t, name, password, "{}").Text("data.session_uuid"))}
	}},
	{"GET /tokens", "", func(t *testing.T, s *operationsSite) request {
		_, client := s.refresh(t)
		return request{query: "?order=client_id&search=" + client, says: `"filtered":1`}
	}},
	{"GET /users/{user_uuid}/tokens", "", func(t *testing.T, s *operationsSite) request {
		user, client := s.refresh(t)
		return request{params: values("user_uuid", user), query: "?order=created_at", says: client}
	}},
	{"DELETE /users/{user_uuid}/tokens/{client_id}", "", func(t *testing.T, s *operationsSite) request {
		user, client := s.refresh(t)
		return request{params: values("user_uuid", user, "client_id", client)}
	}},
	{"GET /users/me/tokens", "", func(t *testing.T, s *operationsSite) request {
		return request{query: "?order=mobile", says: s.ownRefresh(t)}
	}},
	{"DELETE /users/me/tokens/{client_id}", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("client_id", s.ownRefresh(t))}
	}},

	{"PUT /users/{user_uuid}/emails", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.user(t)), body: fmt.Sprintf(addresses, s.name()), says: `"confirmed":false`}
	}},
	{"PUT /admin/users/{user_uuid}/emails", "", func(t *testing.T, s *operationsSite) request {
		body := strings.Replace(fmt.Sprintf(addresses, s.name()), `"main"`, `"confirmed":true,"main"`, 1)
		return request{params: values("user_uuid", s.user(t)), body: body, says: `"confirmed":true`}
	}},
	{"GET /users/{user_uuid}/emails/{email_uuid}/confirm", "", func(t *testing.T, s *operationsSite) request {
		user, email := s.address(t)
		t.Cleanup(func() { s.mailed(t) })
		return request{params: values("user_uuid", user, "email_uuid", email)}
	}},
	{"GET /emails/{email_uuid}/confirm", "with the access", confirmation(false)},
	{"GET /emails/{email_uuid}/confirm", "with the mail's token", confirmation(true)},
	{"PUT /emails/{email_uuid}/confirm", "with the access", confirmation(false)},
	{"PUT /emails/{email_uuid}/confirm", "with the mail's token", confirmation(true)},
	{"GET /users/password/reset", "", func(t *testing.T, s *operationsSite) request {
		_, name := s.person(t)
		t.Cleanup(func() { s.mailed(t) })
		return request{query: "?username=" + name}
	}},
	{"POST /users/password/reset", "", func(t *testing.T, s *operationsSite) request {
		user, name := s.person(t)
		s.Do(t, "GET", authBase+"/users/password/reset?login="+name, "", "").Want(204)
		return request{token: s.mailed(t), query: "?user_uuid=" + user, body: `{"password":"chosen anew"}`}
	}},
	{"POST /mail/test", "", func(t *testing.T, s *operationsSite) request {
		t.Cleanup(func() { s.mails.Next(t) })
		return request{body: fmt.Sprintf(`{"address":"%s@example.com"}`, s.name()), says: `"accepted":true`}
	}},
	{"POST /users/register", "", func(t *testing.T, s *operationsSite) request {
		t.Cleanup(func() { s.mailed(t) })
		name := s.name()
		return request{body: fmt.Sprintf(`{"username":%q,"password":%q,"email_address":"%s@example.com"}`, name, password, name), says: `"purpose":"user"`}
	}},

	{"GET /groups", "", func(*testing.T, *operationsSite) request {
		return request{query: "?read_only=true&order=slug&limit=1&search=ALL%20users", says: `"filtered":1`}
	}},
	{"POST /groups", "", func(_ *testing.T, s *operationsSite) request {
		return request{body: fmt.Sprintf(`{"name":%q}`, s.name()), says: `"system_managed":false`}
	}},
	{"GET /groups/{group_uuid}", "", ofGroup("")},
	{"PUT /groups/{group_uuid}", "", ofGroup(`{"name":"renamed"}`)},
	{"DELETE /groups/{group_uuid}", "", ofGroup("")},
	{"GET /groups/{group_uuid}/users", "", func(t *testing.T, s *operationsSite) request {
		user, group := s.user(t), s.group(t)
		s.put(t, "/groups/"+group+"/users/"+user, "")
		return request{params: values("group_uuid", group), query: "?order=username", says: user}
	}},
	{"PUT /groups/{group_uuid}/users/{user_uuid}", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("group_uuid", s.group(t), "user_uuid", s.user(t))}
	}},
	{"DELETE /groups/{group_uuid}/users/{user_uuid}", "", func(t *testing.T, s *operationsSite) request {
		user, group := s.user(t), s.group(t)
		s.put(t, "/groups/"+group+"/users/"+user, "")
		return request{params: values("group_uuid", group, "user_uuid", user)}
	}},
	{"GET /groups/{group_uuid}/policies", "", func(t *testing.T, s *operationsSite) request {
		group, policy := s.group(t), s.aPolicy(t)
		s.put(t, "/groups/"+group+"/policies/"+policy, "")
		return request{params: values("group_uuid", group), query: "?order=uuid", says: policy}
	}},
	{"PUT /groups/{group_uuid}/policies/{policy_uuid}", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("group_uuid", s.group(t), "policy_uuid", s.aPolicy(t))}
	}},
	{"PUT /groups/{group_uuid}/policies/{policy_uuid}", "by slug", func(t *testing.T, s *operationsSite) request {
		return request{params: values("group_uuid", s.group(t), "policy_uuid", s.slug(t))}
	}},
	{"DELETE /groups/{group_uuid}/policies/{policy_uuid}", "", func(t *testing.T, s *operationsSite) request {
		group, policy := s.group(t), s.aPolicy(t)
		s.put(t, "/groups/"+group+"/policies/"+policy, "")
		return request{params: values("group_uuid", group, "policy_uuid", policy)}
	}},
	{"DELETE /groups/{group_uuid}/policies/{policy_uuid}", "by slug", func(t *testing.T, s *operationsSite) request {
		return request{params: values("group_uuid", s.group(t), "policy_uuid", s.slug(t))}
	}},

	{"GET /policies", "", func(*testing.T, *operationsSite) request {
		return request{query: "?read_only=true&order=description&recurse=true&slug=ringfence_administrator", says: `"filtered":1`}
	}},
	{"POST /policies", "", func(_ *testing.T, s *operationsSite) request {
		return request{body: fmt.Sprintf(`{"name":%q,"acl":["auth.policies.create"],"shared":true}`, s.name()), says: `"shared":true`}
	}},
	{"GET /policies/{policy_uuid}", "", ofPolicy("", (*operationsSite).aPolicy)},
	{"GET /policies/{policy_uuid}", "by slug", ofPolicy("", (*operationsSite).slug)},
	{"PUT /policies/{policy_uuid}", "", ofPolicy(`{"description":"d"}`, (*operationsSite).aPolicy)},
	{"PUT /policies/{policy_uuid}", "by slug", ofPolicy(`{"description":"d"}`, (*operationsSite).slug)},
	{"DELETE /policies/{policy_uuid}", "", ofPolicy("", (*operationsSite).aPolicy)},
	{"DELETE /policies/{policy_uuid}", "by slug", ofPolicy("", (*operationsSite).slug)},
	{"PUT /policies/{policy_uuid}/acl/{access}", "", func(t *testing.T, s *operationsSite) request {
		policy := s.aPolicy(t)
		return request{params: values("policy_uuid", policy, "access", "auth.policies."+policy+".update")}
	}},
	{"PUT /policies/{policy_uuid}/acl/{access}", "by slug", func(t *testing.T, s *operationsSite) request {
		policy := s.slug(t)
		return request{params: values("policy_uuid", policy, "access", "auth.policies."+policy+".update")}
	}},
	{"PUT /policies/{policy_uuid}/acl/{access}", "not held", func(t *testing.T, s *operationsSite) request {
		return request{params: values("policy_uuid", s.aPolicy(t), "access", "confd.*.#"), status: 403, says: "You do not hold confd.*.# in full"}
	}},
	{"DELETE /policies/{policy_uuid}/acl/{access}", "", func(t *testing.T, s *operationsSite) request {
		policy := s.aPolicy(t)
		access := "auth.policies." + policy + ".update"
		s.put(t, "/policies/"+policy+"/acl/"+access, "")
		return request{params: values("policy_uuid", policy, "access", access)}
	}},
	{"DELETE /policies/{policy_uuid}/acl/{access}", "that it has not", func(t *testing.T, s *operationsSite) request {
		return request{params: values("policy_uuid", s.slug(t), "access", "confd.#")}
	}},

	{"GET /tenants", "", func(t *testing.T, s *operationsSite) request {
		uuid := s.tenant(t)
		return request{query: "?order=slug&uuids=" + url.QueryEscape(uuid), says: `"filtered":1`}
	}},
	{"POST /tenants", "", func(_ *testing.T, s *operationsSite) request {
		name := s.name()
		return request{body: fmt.Sprintf(`{"name":%q,"domain_names":["%s.example.com"],"address":{"city":"Paris"}}`, name, name), says: `"line_1":null`}
	}},
	{"GET /tenants/{tenant_uuid}", "", ofTenant("")},
	{"PUT /tenants/{tenant_uuid}", "", ofTenant(`{"phone":"+33"}`)},
	{"DELETE /tenants/{tenant_uuid}", "", ofTenant("")},
	{"GET /tenants/{tenant_uuid}/domains", "", func(t *testing.T, s *operationsSite) request {
		name := s.name() + ".example.com"
		return request{params: values("tenant_uuid", s.create(t, "tenants", `{"domain_names":[%q]}`, name)), says: name}
	}},
	{"PUT /tenants/{tenant_uuid}/parent/{parent_tenant_uuid}", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("tenant_uuid", s.tenant(t), "parent_tenant_uuid", s.tenant(t))}
	}},

	{"HEAD /status", "", plain("", "")},
	{"GET /backends", "", plain("", `"data":["database","ldap"]`)},
	{"GET /api/api.yml", "", plain("", "openapi:")},
	{"GET /api/openapi.json", "", plain("", `"openapi"`)},
	{"GET /config", "", plain("", `"default_token_lifetime":7200`)},
	{"PATCH /config", "", plain(`[{"op":"replace","path":"/debug","value":false}]`, `"debug":false`)},
	{"GET /backends/ldap", "", func(t *testing.T, s *operationsSite) request {
		s.put(t, "/backends/ldap", directory)
		return request{says: `"tenant_uuid"`}
	}},
	{"PUT /backends/ldap", "", plain(directory, `"protocol_version":3`)},
	{"DELETE /backends/ldap", "", func(t *testing.T, s *operationsSite) request {
		s.put(t, "/backends/ldap", directory)
		return request{}
	}},
	{"GET /idp", "", plain("", `"ldap","native"`)},
	{"PUT /idp/{idp_type}/users", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("idp_type", "ldap"), body: fmt.Sprintf(`{"users":[{"uuid":%q},{"uuid":%q}]}`, s.user(t), s.user(t))}
	}},
	{"PUT /idp/{idp_type}/users/{user_uuid}", "", ofMethod},
	{"DELETE /idp/{idp_type}/users/{user_uuid}", "", ofMethod},

	{"GET /external/{auth_type}/config", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("auth_type", s.configured(t, "weather")), says: `"client_id":"i"`}
	}},
	// The master tenant has the administrator, who holds more than the caller.
	{"POST /external/{auth_type}/config", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("auth_type", s.name()), body: `{"client_id":"i"}`, says: `""`, edit: in(s.tenant(t))}
	}},
	{"PUT /external/{auth_type}/config", "", func(t *testing.T, s *operationsSite) request {
		tenant := in(s.tenant(t))
		return request{params: values("auth_type", s.configured(t, "weather", tenant)), body: `{"client_id":"i"}`, edit: tenant}
	}},
	{"DELETE /external/{auth_type}/config", "", func(t *testing.T, s *operationsSite) request {
		tenant := in(s.tenant(t))
		return request{params: values("auth_type", s.configured(t, s.name(), tenant)), edit: tenant}
	}},
	{"GET /external/{auth_type}/users", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("auth_type", "mobile"), query: "?recurse=true", says: s.linked(t)}
	}},
	{"GET /external/{auth_type}/authorize", "", func(*testing.T, *operationsSite) request {
		return request{params: values("auth_type", "google"), query: "?state=unknown&code=x", status: 400, says: "<!doctype html>"}
	}},
	{"GET /external/{auth_type}/connect", "", func(*testing.T, *operationsSite) request {
		return request{params: values("auth_type", "google"), query: "?state=unknown", status: 400, says: "<!doctype html>"}
	}},
	{"POST /external/{auth_type}/connect", "", func(*testing.T, *operationsSite) request {
		return request{params: values("auth_type", "google"), query: "?state=unknown", status: 400, says: "<!doctype html>"}
	}},
	{"GET /users/{user_uuid}/external", "", func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.linked(t)), query: "?order=type&search=mob&limit=1", says: `"filtered":1`}
	}},
	{"GET /users/{user_uuid}/external/google", "", notLinked},
	{"POST /users/{user_uuid}/external/google", "", linking("google")},
	{"DELETE /users/{user_uuid}/external/google", "", notLinked},
	{"GET /users/{user_uuid}/external/microsoft", "", notLinked},
	{"POST /users/{user_uuid}/external/microsoft", "", linking("microsoft")},
	{"DELETE /users/{user_uuid}/external/microsoft", "", notLinked},
	{"GET /users/{user_uuid}/external/mobile", "", ofLinked(`"apns_voip_token":null`)},
	{"POST /users/{user_uuid}/external/mobile", "", ofUser(`{"token":"t"}`)},
	{"PUT /users/{user_uuid}/external/mobile", "", ofUser(`{"token":"t"}`)},
	{"DELETE /users/{user_uuid}/external/mobile", "", ofLinked("")},
	{"GET /users/{user_uuid}/external/mobile/sender_id", "", func(t *testing.T, s *operationsSite) request {
		s.configured(t, "mobile")
		return request{params: values("user_uuid", s.user(t)), says: `"sender_id":"42"`}
	}},

	{"GET /explain", "", func(*testing.T, *operationsSite) request {
		return request{query: "?method=GET&path=" + authBase + "/users", says: `"required_access":"auth.users.read"`}
	}},
	{"GET /overview", "", func(*testing.T, *operationsSite) request { return request{says: `"sessions":`} }},
	{"GET /access/holders", "", func(_ *testing.T, s *operationsSite) request {
		return request{query: "?access=auth.access.holders.read", says: s.caller}
	}},
	{"GET /audit", "", func(t *testing.T, s *operationsSite) request {
		user := s.user(t)
		return request{query: "?object=" + user, says: `"action":"create_user"`, also: []string{"auth.users." + user + ".read"}}
	}},
	{"GET /audit/{audit_entry_id}", "", func(*testing.T, *operationsSite) request {
		return request{params: values("audit_entry_id", "1"), says: `"id":1,`, also: []string{"auth.*.*.read", "auth.*.*.*.read", "auth.*.*.*.*.read"}}
	}},
}

// plain is a request that needs no preparation.
func plain(body, says string) func(*testing.T, *operationsSite) request {
	return func(*testing.T, *operationsSite) request { return request{body: body, says: says} }
}

// ofMethod prepares a call about a user's authentication method.
func ofMethod(t *testing.T, s *operationsSite) request {
	t.Helper()
	return request{params: values("idp_type", "ldap", "user_uuid", s.user(t))}
}

// linking begins to link a user to a service.
func linking(authType string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		s.configured(t, authType)
		return request{params: values("user_uuid", s.user(t)), body: `{"scope":["s1","s2"]}`, says: `"authorization_url":"https://`}
	}
}

// notLinked prepares a call about a user who is not linked, since tests reach no service.
func notLinked(t *testing.T, s *operationsSite) request {
	t.Helper()
	return request{params: values("user_uuid", s.user(t)), status: 404, says: `"unknown-external-auth"`}
}

// ofLinked prepares a call about a user with mobile data.
func ofLinked(says string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.linked(t)), says: says}
	}
}

func ofUser(body string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		return request{params: values("user_uuid", s.user(t)), body: body}
	}
}

func ofGroup(body string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		return request{params: values("group_uuid", s.group(t)), body: body}
	}
}

func ofPolicy(body string, kind func(*operationsSite, *testing.T) string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		return request{params: values("policy_uuid", kind(s, t)), body: body}
	}
}

func ofTenant(body string) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		return request{params: values("tenant_uuid", s.tenant(t)), body: body}
	}
}

// confirmation confirms an address, with the mail's token or with one that has the access.
func confirmation(mailed bool) func(*testing.T, *operationsSite) request {
	return func(t *testing.T, s *operationsSite) request {
		user, email := s.address(t)
		r := request{params: values("email_uuid", email)}
		if mailed {
			s.Do(t, "GET", authBase+"/users/"+user+"/emails/"+email+"/confirm", s.admin, "").Want(http.StatusNoContent)
			r.token = s.mailed(t)
		}
		return r
	}
}
