package caddymodule_test

import (
	"strings"
	"testing"
)

// A new telephone user may manage their own account. A reload changes that for existing users.
func TestConfiguredPolicies(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	admin := g.Admin(t)
	user := g.Do(t, "POST", api+"/users", admin, `{"username":"ada","password":"secret of ada"}`).Want(200).Text("uuid")
	token := g.Login(t, "ada", "secret of ada")
	g.Do(t, "GET", api+"/users/"+user, token, "").Want(200)
	g.Do(t, "PUT", api+"/users/"+user+"/password", token, `{"old_password":"secret of ada","new_password":"another secret"}`).Want(204)
	for _, refused := range [][2]string{
		{"GET", api + "/users"},
		{"PUT", api + "/users/" + user},
		{"GET", api + "/policies"},
		{"PUT", api + "/users/" + user + "/emails"},
		{"GET", "/api/confd/1.1/users"},
		{"PUT", "/api/confd/1.1/users/" + user},
		{"POST", api + "/users/password/reset?user_uuid=" + user},
	} {
		g.Do(t, refused[0], refused[1], token, `{"password":"planted secret"}`).Want(403)
	}

	g.App = "default_policies {\nparker confd.parkinglots.read\nparker confd.parkinglots.*.read\n}\nall_users_policies parker\ndefault_user_policy none\ntenant_default_groups {\nparkers parker\n}"
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", api+"/users/"+user, token, "").Want(403)
	if a := g.Do(t, "GET", api+"/policies/parker", admin, "").Want(200); !strings.Contains(a.Body, `"acl":["confd.parkinglots.read","confd.parkinglots.*.read"]`) {
		t.Errorf("the policy is %s", a.Body)
	}
	g.App = ""
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", api+"/users/"+user, token, "").Want(200)
	g.Do(t, "GET", api+"/policies/parker", admin, "").Want(404)
}

func TestConfiguredPoliciesAreChecked(t *testing.T) {
	for app, want := range map[string]string{
		"default_policies {\na confd..x\n}":            "the policy a",
		"default_policies {\na.b confd.x\n}":           `"a.b" names no policy`,
		"all_users_policies nobody":                    "the policy nobody of the group all users is not in default_policies",
		"default_user_policy nobody":                   "the policy nobody of the group all users is not in default_policies",
		"tenant_default_groups {\nhelpers helpdesk\n}": "the policy helpdesk of the group helpers",
	} {
		g := newGateway(t)
		g.App = app
		if err := caddyLoad(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", app, err, want)
		}
	}
}
